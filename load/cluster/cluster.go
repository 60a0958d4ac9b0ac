package cluster

import (
	"fmt"
	"maps"
	"math/bits"
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

// A node that is made up: more than one only where a pod requests more than that.
const (
	NodeMilli, NodeMemory = 16_000, 64 << 30
	nodePods              = 110
)

// Container is a container of a pod. Request and Limit are in millicores and bytes; 0: none.
type Container struct {
	Name           string
	Request, Limit [2]int64
}

// Pod is a pod of a workload, from From to To; To is the cluster's or later of one that does not end.
type Pod struct {
	Namespace, Workload, Name string
	From, To                  time.Time
	Containers                []Container
}

// request is that of all containers.
func (p *Pod) request() (out [2]int64) {
	for _, c := range p.Containers {
		out[0], out[1] = out[0]+c.Request[0], out[1]+c.Request[1]
	}
	return out
}

// Cluster is what is known of one: its pods, in the order in which they come, and when it was watched.
type Cluster struct {
	// Name is that of the recording, of the node group and of its nodes.
	Name     string
	From, To time.Time
	Pods     []Pod
	// Finish says that pods belong to Jobs and finish, not to Deployments, whose replicas are counted as they come and go.
	Finish bool
	// Kinds are those that the recording says that it watched; none: all.
	Kinds []string
}

// Lines is the cluster as an object log, in order of time.
func (c *Cluster) Lines() []objectlog.Line {
	m := &maker{Cluster: c, milli: NodeMilli, memory: NodeMemory}
	for i := range c.Pods {
		asked := c.Pods[i].request()
		m.milli, m.memory = atLeast(m.milli, asked[0]), atLeast(m.memory, asked[1])
	}
	m.objects()
	slices.SortStableFunc(m.lines, func(a, b objectlog.Line) int { return a.At.Compare(b.At) })
	return m.lines
}

// atLeast doubles room until it is enough.
func atLeast(room, asked int64) int64 {
	if asked <= room {
		return room
	}
	return room << bits.Len64(uint64((asked-1)/room))
}

type maker struct {
	*Cluster
	milli, memory int64 // of a node
	nodes         []*room
	lines         []objectlog.Line
}

// room is what is left of a node.
type room struct {
	milli, memory int64
	pods          int
}

// set is a workload with as many replicas as it has at the time.
type set struct {
	pod      *Pod // one of it, for its containers
	replicas int
}

func (m *maker) add(at time.Time, op scalehist.Op, o scalehist.Object) {
	m.lines = append(m.lines, objectlog.Line{At: at, Op: op, Object: o})
}

// meta gives an object a UID of its names: the same in every run.
func (m *maker) meta(kind, namespace, name string, at time.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: m.uid(kind, namespace, name), CreationTimestamp: metav1.NewTime(at)}
}

func (m *maker) uid(kind, namespace, name string) types.UID {
	if namespace != m.Name { // the cluster's own namespace needs no mention
		name = namespace + "/" + name
	}
	return types.UID(kind + "/" + name)
}

func (m *maker) owned(by, namespace, name string) []metav1.OwnerReference {
	version := "apps/v1"
	if by == "Job" {
		version = "batch/v1"
	}
	return []metav1.OwnerReference{{APIVersion: version, Kind: by, Name: name, UID: m.uid(by, namespace, name), Controller: new(true)}}
}

// change is a pod that comes or ends.
type change struct {
	at  time.Time
	end bool
	pod int
}

// changes are in order of time; pods that end make room first.
func (m *maker) changes() []change {
	var out []change
	for i := range m.Pods {
		p := &m.Pods[i]
		out = append(out, change{p.From, false, i})
		if p.To.Before(m.To) {
			out = append(out, change{p.To, true, i})
		}
	}
	slices.SortStableFunc(out, func(a, b change) int {
		if c := a.at.Compare(b.at); c != 0 || a.end == b.end {
			return c
		}
		if a.end {
			return -1
		}
		return 1
	})
	return out
}

// objects are the cluster: what watches it, the node group, workloads, pods and nodes.
func (m *maker) objects() {
	m.add(m.From, scalehist.OpAdd, objectlog.NewRecording(m.Name, objectlog.RecordingSpec{To: m.To, Kinds: m.Kinds, Origin: scalehist.OriginScripted}))
	m.group(m.From, scalehist.OpAdd)
	changes := m.changes()
	m.workloads(changes)
	on := make([]int, len(m.Pods))
	for _, c := range changes {
		p := &m.Pods[c.pod]
		if !c.end {
			on[c.pod] = m.place(c.at, p.request())
			m.add(c.at, scalehist.OpAdd, m.pod(p, on[c.pod]))
			continue
		}
		node, asked := m.nodes[on[c.pod]], p.request()
		node.milli, node.memory, node.pods = node.milli+asked[0], node.memory+asked[1], node.pods+1
		o := m.pod(p, on[c.pod])
		if m.Finish {
			o.Status.Phase = corev1.PodSucceeded
			m.add(c.at, scalehist.OpUpdate, o)
		}
		m.add(c.at, scalehist.OpDelete, o)
	}
}

// workloads are there from the start; a Deployment's replicas are the pods that it has at the time.
func (m *maker) workloads(changes []change) {
	sets := map[types.NamespacedName]*set{}
	var changed []*set // first all there are, in the order in which their pods come
	for i := range m.Pods {
		p := &m.Pods[i]
		id := types.NamespacedName{Namespace: p.Namespace, Name: p.Workload}
		if sets[id] == nil {
			sets[id] = &set{pod: p}
			changed = append(changed, sets[id])
		}
	}
	at, op := m.From, scalehist.OpAdd
	write := func() {
		for _, s := range changed {
			m.workload(s, op, at)
		}
		changed = changed[:0]
	}
	for _, c := range changes {
		if !c.at.Equal(at) {
			write()
			if at, op = c.at, scalehist.OpUpdate; m.Finish {
				return // Jobs stay as they are
			}
		}
		s := sets[types.NamespacedName{Namespace: m.Pods[c.pod].Namespace, Name: m.Pods[c.pod].Workload}]
		s.replicas += map[bool]int{false: 1, true: -1}[c.end]
		if !slices.Contains(changed, s) {
			changed = append(changed, s)
		}
	}
	write()
}

// place finds the first node with room, or brings one.
func (m *maker) place(at time.Time, asked [2]int64) int {
	i := slices.IndexFunc(m.nodes, func(n *room) bool { return n.milli >= asked[0] && n.memory >= asked[1] && n.pods > 0 })
	if i < 0 {
		i = len(m.nodes)
		m.nodes = append(m.nodes, &room{m.milli, m.memory, nodePods})
		m.group(at, scalehist.OpUpdate)
		t := m.template()
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.nodeName(i), UID: types.UID("node/" + m.nodeName(i)), CreationTimestamp: metav1.NewTime(at),
			Labels: maps.Clone(t.Labels), Annotations: map[string]string{v1alpha1.NodeGroupAnnotation: m.Name}}, Status: t.Status}
		n.Labels[corev1.LabelHostname] = n.Name
		n.Spec.ProviderID = "virtual://" + n.Name
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
		m.add(at, scalehist.OpAdd, n)
	}
	n := m.nodes[i]
	n.milli, n.memory, n.pods = n.milli-asked[0], n.memory-asked[1], n.pods-1
	return i
}

func (m *maker) nodeName(i int) string { return fmt.Sprintf("%s-%d", m.Name, i) }

// machine names the machine of a node by its size: "generated-16x64".
func (m *maker) machine() string { return fmt.Sprintf("%s-%dx%d", m.Name, m.milli/1000, m.memory>>30) }

func (m *maker) template() v1alpha1.NodeTemplate {
	room := corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(m.milli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(m.memory, resource.BinarySI), corev1.ResourcePods: *resource.NewQuantity(nodePods, resource.DecimalSI)}
	return v1alpha1.NodeTemplate{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
			corev1.LabelInstanceTypeStable: m.machine(), corev1.LabelTopologyZone: m.Name + "-a"}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room.DeepCopy()},
	}
}

func (m *maker) group(at time.Time, op scalehist.Op) {
	t := m.template()
	m.add(at, op, &v1alpha1.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: m.Name, UID: "group", CreationTimestamp: metav1.NewTime(m.From)},
		Spec: v1alpha1.NodeGroupSpec{MinSize: 0, MaxSize: int32(max(1000, len(m.nodes))), TargetSize: int32(len(m.nodes)), Zone: m.Name + "-a", MachineType: m.machine(), Template: &t}})
}

func (m *maker) workload(s *set, op scalehist.Op, at time.Time) {
	p := s.pod
	labels := map[string]string{"app": p.Workload}
	pods := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: containers(p)}}
	if m.Finish {
		m.add(at, op, &batchv1.Job{ObjectMeta: m.meta("Job", p.Namespace, p.Workload, m.From), Spec: batchv1.JobSpec{Template: pods}})
		return
	}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	m.add(at, op, &appsv1.Deployment{ObjectMeta: m.meta("Deployment", p.Namespace, p.Workload, m.From),
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(s.replicas)), Selector: selector, Template: pods}})
	r := &appsv1.ReplicaSet{ObjectMeta: m.meta("ReplicaSet", p.Namespace, p.Workload, m.From),
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(s.replicas)), Selector: selector, Template: pods}}
	r.OwnerReferences = m.owned("Deployment", p.Namespace, p.Workload)
	m.add(at, op, r)
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

func containers(p *Pod) []corev1.Container {
	var out []corev1.Container
	for _, c := range p.Containers {
		out = append(out, corev1.Container{Name: c.Name, Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{Requests: list(c.Request), Limits: list(c.Limit)}})
	}
	return out
}

func (m *maker) pod(p *Pod, node int) *corev1.Pod {
	kind := "ReplicaSet"
	if m.Finish {
		kind = "Job"
	}
	o := &corev1.Pod{ObjectMeta: m.meta("pod", p.Namespace, p.Name, p.From), Spec: corev1.PodSpec{NodeName: m.nodeName(node), Containers: containers(p)},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(metav1.NewTime(p.From))}}
	o.Labels = map[string]string{"app": p.Workload}
	o.OwnerReferences = m.owned(kind, p.Namespace, p.Workload)
	for _, c := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodReady} {
		o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.From)})
	}
	return o
}
