package generate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// The nodes of a generated cluster: one group, whose nodes join when a pod finds no room, at once, and stay.
const (
	namespace, group, container = "generated", "generated", "app"
	nodeMilli, nodeMemory       = 16_000, 64 << 30
	nodePods                    = 110
)

// Lines is a cluster with the load as an object log, which can be imported and replayed. Replicas belong to a Deployment "load-N", pods
// that come and finish to a Job of that name.
func (l *Load) Lines(yield func(objectlog.Line) error) error {
	m := &maker{load: l, pods: l.Pods()}
	if l.Request[0] > nodeMilli || l.Request[1] > nodeMemory {
		return fmt.Errorf("requests of %dm and %d bytes: nodes of a generated history have 16 cores and 64Gi", l.Request[0], l.Request[1])
	}
	m.objects()
	m.usage()
	slices.SortStableFunc(m.lines, func(a, b objectlog.Line) int { return a.At.Compare(b.At) })
	for _, line := range m.lines {
		if err := yield(line); err != nil {
			return err
		}
	}
	return nil
}

type maker struct {
	load  *Load
	pods  []Pod
	nodes []*room
	lines []objectlog.Line
}

// room is what is left of a node.
type room struct {
	milli, memory int64
	pods          int
}

func (m *maker) add(at time.Time, op scalehist.Op, o scalehist.Object) {
	m.lines = append(m.lines, objectlog.Line{At: at, Op: op, Object: o})
}

// name of a workload: "load-1".
func name(workload int) string { return fmt.Sprintf("load-%d", workload+1) }

// PodName is "load-1-0".
func (p *Pod) PodName() string { return fmt.Sprintf("%s-%d", name(p.Workload), p.Number) }

func meta(kind, name string, at time.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(kind + "/" + name), CreationTimestamp: metav1.NewTime(at)}
}

func owned(by, name string) []metav1.OwnerReference {
	version := "apps/v1"
	if by == "Job" {
		version = "batch/v1"
	}
	return []metav1.OwnerReference{{APIVersion: version, Kind: by, Name: name, UID: types.UID(by + "/" + name), Controller: new(true)}}
}

// objects are the cluster: what watches it, the node group, workloads, pods and nodes.
func (m *maker) objects() {
	l := m.load
	end := l.From.Add(l.Length)
	m.add(l.From, scalehist.OpAdd, objectlog.NewRecording("generated", objectlog.RecordingSpec{To: end, Origin: scalehist.OriginScripted}))
	m.group(l.From, scalehist.OpAdd)
	for w := range l.Workloads {
		m.workload(w)
	}
	type change struct {
		at  time.Time
		end bool
		pod int
	}
	var changes []change
	for i, p := range m.pods {
		changes = append(changes, change{p.From, false, i})
		if p.To.Before(end) {
			changes = append(changes, change{p.To, true, i})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		if c := a.at.Compare(b.at); c != 0 || a.end == b.end {
			return c
		}
		if a.end {
			return -1 // makes room
		}
		return 1
	})
	on := make([]int, len(m.pods))
	for _, c := range changes {
		p := &m.pods[c.pod]
		if c.end {
			node := m.nodes[on[c.pod]]
			node.milli, node.memory, node.pods = node.milli+l.Request[0], node.memory+l.Request[1], node.pods+1
			o := m.pod(p, on[c.pod])
			o.Status.Phase = corev1.PodSucceeded
			m.add(c.at, scalehist.OpUpdate, o)
			m.add(c.at, scalehist.OpDelete, o)
			continue
		}
		on[c.pod] = m.place(c.at)
		m.add(c.at, scalehist.OpAdd, m.pod(p, on[c.pod]))
	}
}

// place finds the first node with room, or brings one.
func (m *maker) place(at time.Time) int {
	l := m.load
	i := slices.IndexFunc(m.nodes, func(n *room) bool { return n.milli >= l.Request[0] && n.memory >= l.Request[1] && n.pods > 0 })
	if i < 0 {
		i = len(m.nodes)
		m.nodes = append(m.nodes, &room{nodeMilli, nodeMemory, nodePods})
		m.group(at, scalehist.OpUpdate)
		t := template()
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), UID: types.UID("node/" + nodeName(i)), CreationTimestamp: metav1.NewTime(at),
			Labels: maps.Clone(t.Labels), Annotations: map[string]string{v1alpha1.NodeGroupAnnotation: group}}, Status: t.Status}
		n.Labels[corev1.LabelHostname] = n.Name
		n.Spec.ProviderID = "virtual://" + n.Name
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
		m.add(at, scalehist.OpAdd, n)
	}
	n := m.nodes[i]
	n.milli, n.memory, n.pods = n.milli-l.Request[0], n.memory-l.Request[1], n.pods-1
	return i
}

func nodeName(i int) string { return fmt.Sprintf("%s-%d", group, i) }

func template() v1alpha1.NodeTemplate {
	room := corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(nodeMilli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(nodeMemory, resource.BinarySI), corev1.ResourcePods: *resource.NewQuantity(nodePods, resource.DecimalSI)}
	return v1alpha1.NodeTemplate{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
			corev1.LabelInstanceTypeStable: "generated-16x64", corev1.LabelTopologyZone: "generated-a"}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room.DeepCopy()},
	}
}

func (m *maker) group(at time.Time, op scalehist.Op) {
	t := template()
	m.add(at, op, &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: group, UID: "group", CreationTimestamp: metav1.NewTime(m.load.From)},
		Spec: v1alpha1.NodeGroupSpec{MinSize: 0, MaxSize: 1000, TargetSize: int32(len(m.nodes)), Zone: "generated-a", MachineType: "generated-16x64", Template: &t}})
}

func (m *maker) workload(w int) {
	l := m.load
	labels := map[string]string{"app": name(w)}
	pods := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{m.container()}}}
	if l.Rate > 0 {
		m.add(l.From, scalehist.OpAdd, &batchv1.Job{ObjectMeta: meta("Job", name(w), l.From), Spec: batchv1.JobSpec{Template: pods}})
		return
	}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	m.add(l.From, scalehist.OpAdd, &appsv1.Deployment{ObjectMeta: meta("Deployment", name(w), l.From),
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(l.Replicas)), Selector: selector, Template: pods}})
	set := &appsv1.ReplicaSet{ObjectMeta: meta("ReplicaSet", name(w), l.From), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(l.Replicas)), Selector: selector, Template: pods}}
	set.OwnerReferences = owned("Deployment", name(w))
	m.add(l.From, scalehist.OpAdd, set)
}

// list is a list of amounts that are not 0.
func list(of [2]int64) corev1.ResourceList {
	out := corev1.ResourceList{}
	if of[0] > 0 {
		out[corev1.ResourceCPU] = *resource.NewMilliQuantity(of[0], resource.DecimalSI)
	}
	if of[1] > 0 {
		out[corev1.ResourceMemory] = *resource.NewQuantity(of[1], resource.BinarySI)
	}
	return out
}

func (m *maker) container() corev1.Container {
	return corev1.Container{Name: container, Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{Requests: list(m.load.Request), Limits: list(m.load.Limit)}}
}

func (m *maker) pod(p *Pod, node int) *corev1.Pod {
	kind := "ReplicaSet"
	if m.load.Rate > 0 {
		kind = "Job"
	}
	o := &corev1.Pod{ObjectMeta: meta("pod", p.PodName(), p.From), Spec: corev1.PodSpec{NodeName: nodeName(node), Containers: []corev1.Container{m.container()}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(metav1.NewTime(p.From))}}
	o.Labels = map[string]string{"app": name(p.Workload)}
	o.OwnerReferences = owned(kind, name(p.Workload))
	for _, c := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady} {
		o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.From)})
	}
	return o
}

// usage are the values of all pods.
func (m *maker) usage() {
	for i := range m.pods {
		p := &m.pods[i]
		at := m.load.First(*p)
		for n := range p.CPU {
			m.add(at.Add(time.Duration(n)*m.load.Step), scalehist.OpAdd,
				objectlog.NewUsage(namespace, p.PodName(), objectlog.UsageSpec{Container: container, CPUMilli: p.CPU[n], MemoryBytes: p.Memory[n]}))
		}
	}
}

// Row is a value as CSV has it.
type Row struct {
	At                        time.Time
	Namespace, Pod, Container string
	CPUMilli, MemoryBytes     int64
}

// Rows are all values, in the order of time and pods.
func (l *Load) Rows() []Row {
	var out []Row
	pods := l.Pods()
	for i := range pods {
		at := l.First(pods[i])
		for n := range pods[i].CPU {
			out = append(out, Row{at.Add(time.Duration(n) * l.Step), namespace, pods[i].PodName(), container, pods[i].CPU[n], pods[i].Memory[n]})
		}
	}
	slices.SortStableFunc(out, func(a, b Row) int { return a.At.Compare(b.At) })
	return out
}
