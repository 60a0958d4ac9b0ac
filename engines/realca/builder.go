package realca

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// builder writes scenarios. Objects that nothing else says so of are there at the start.
type builder struct {
	s     *Scenario
	count map[string]int
}

func newBuilder(name, what string) *builder {
	return &builder{s: &Scenario{Name: name, What: what, Idle: firstLoopToWorkload}, count: map[string]int{}}
}

// machine is what a node of a type has; allocatable is what pods may use.
type machine struct{ cpu, allocatableCPU, memory, allocatableMemory string }

// machines are those of the recordings, and one with much memory.
var machines = map[string]machine{
	"std-2": {"2", "1930m", "8Gi", "7200Mi"},
	"std-4": {"4", "3920m", "16Gi", "14800Mi"},
	"std-8": {"8", "7910m", "32Gi", "30Gi"},
	"mem-4": {"4", "3920m", "32Gi", "30Gi"},
}

// group adds a node group and its initial nodes.
func (b *builder) group(name, machineType, zone string, low, high, size int, delay time.Duration) {
	m := machines[machineType]
	list := func(cpu, memory, disk string) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			corev1.ResourceEphemeralStorage: resource.MustParse(disk), corev1.ResourcePods: resource.MustParse("110"),
		}
	}
	t := &corev1.Node{Status: corev1.NodeStatus{Capacity: list(m.cpu, m.memory, "50Gi"), Allocatable: list(m.allocatableCPU, m.allocatableMemory, "45Gi")}}
	t.Labels = map[string]string{
		corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux", corev1.LabelInstanceTypeStable: machineType,
		corev1.LabelTopologyRegion: "r1", corev1.LabelTopologyZone: zone,
	}
	g := Group{Delay: delay, NodeGroup: scalehist.NodeGroup{
		Name: name, MachineType: machineType, Zone: zone, MinSize: low, MaxSize: high, TargetSize: size, Template: t,
	}}
	b.s.Groups = append(b.s.Groups, g)
	b.s.Flags = append(b.s.Flags, fmt.Sprintf("--nodes=%d:%d:%s", low, high, name))
	for i := range size {
		n := nodeOf(g, fmt.Sprintf("%s-%d", name, i+1))
		n.Annotations = map[string]string{v1alpha1.NodeGroupAnnotation: name}
		b.s.Initial = append(b.s.Initial, n)
	}
}

// podShape is what the pods of an owner are like.
type podShape struct {
	cpu, memory string
	// runFor: they succeed after it; terminates: how long they run on when deleted, at most grace seconds.
	runFor, terminates time.Duration
	grace              int64
	priorityClass      string
	// zoneSpread: at most this skew between zones, DoNotSchedule; zero is none.
	zoneSpread int32
	// hostSpread is the same between nodes.
	hostSpread                int32
	annotations, nodeSelector map[string]string
}

// owner is a controller, and what its pods are like.
type owner struct {
	kind, group, name string
	shape             podShape
	labels            map[string]string
}

func (b *builder) initial(o scalehist.Object) { b.s.Initial = append(b.s.Initial, o) }

func (b *builder) change(at time.Duration, op scalehist.Op, o scalehist.Object) {
	b.s.Changes = append(b.s.Changes, Change{After: at, Op: op, Object: o})
}

func (b *builder) daemonSet(name, cpu, memory string) {
	ds := &appsv1.DaemonSet{}
	ds.Namespace, ds.Name = metav1.NamespaceSystem, name
	label := map[string]string{"ds": name}
	ds.Spec.Selector = &metav1.LabelSelector{MatchLabels: label}
	ds.Spec.Template.Labels = label
	ds.Spec.Template.Spec = corev1.PodSpec{Containers: containers(cpu, memory), Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}
	b.initial(ds)
}

func containers(cpu, memory string) []corev1.Container {
	return []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}}}
}

func (b *builder) replicaSet(name string, shape podShape) owner {
	o := owner{kind: "ReplicaSet", group: "apps/v1", name: name, shape: shape, labels: map[string]string{"app": name}}
	rs := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: o.labels}}}
	rs.Namespace, rs.Name = metav1.NamespaceDefault, name
	rs.Spec.Template.Labels = o.labels
	rs.Spec.Template.Spec = corev1.PodSpec{Containers: containers(shape.cpu, shape.memory)}
	b.initial(rs)
	return o
}

func (b *builder) job(name string, shape podShape) owner {
	o := owner{kind: "Job", group: "batch/v1", name: name, shape: shape, labels: map[string]string{"app": name}}
	j := &batchv1.Job{}
	j.Namespace, j.Name = metav1.NamespaceDefault, name
	j.Spec.Template.Labels = o.labels
	j.Spec.Template.Spec = corev1.PodSpec{Containers: containers(shape.cpu, shape.memory), RestartPolicy: corev1.RestartPolicyNever}
	b.initial(j)
	return o
}

func (b *builder) budget(name string, of owner, minAvailable string) *policyv1.PodDisruptionBudget {
	v := intstr.Parse(minAvailable)
	d := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &v, Selector: &metav1.LabelSelector{MatchLabels: of.labels}}}
	d.Namespace, d.Name = metav1.NamespaceDefault, name
	return d
}

func (b *builder) priorityClass(name string, value int32) {
	c := &schedulingv1.PriorityClass{Value: value}
	c.Name = name
	b.initial(c)
}

// pod is the next pod of an owner.
func (b *builder) pod(o owner) *corev1.Pod {
	n := b.count[o.name]
	b.count[o.name]++
	p := &corev1.Pod{}
	p.Namespace, p.Name, p.Labels = metav1.NamespaceDefault, fmt.Sprintf("%s-%d", o.name, n), o.labels
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: o.group, Kind: o.kind, Name: o.name, UID: types.UID(o.name), Controller: ptr.To(true)}}
	p.Spec = corev1.PodSpec{Containers: containers(o.shape.cpu, o.shape.memory), PriorityClassName: o.shape.priorityClass, NodeSelector: o.shape.nodeSelector}
	if o.kind == "Job" {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	if o.shape.grace > 0 {
		p.Spec.TerminationGracePeriodSeconds = &o.shape.grace
	}
	p.Annotations = map[string]string{}
	for k, v := range o.shape.annotations {
		p.Annotations[k] = v
	}
	if o.shape.runFor > 0 {
		p.Annotations[podlife.RunForAnnotation] = o.shape.runFor.String()
	}
	if o.shape.terminates > 0 {
		p.Annotations[terminatesAnnotation] = o.shape.terminates.String()
	}
	for key, skew := range map[string]int32{corev1.LabelTopologyZone: o.shape.zoneSpread, corev1.LabelHostname: o.shape.hostSpread} {
		if skew > 0 {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: o.labels},
			})
		}
	}
	return p
}

// placed is a pod that runs on a node at the start.
func (b *builder) placed(o owner, node string) {
	p := b.pod(o)
	p.Spec.NodeName = node
	b.initial(p)
}

// at lets the next pod of an owner arrive.
func (b *builder) at(after time.Duration, o owner) *corev1.Pod {
	p := b.pod(o)
	b.change(after, scalehist.OpAdd, p)
	return p
}

// inOrder sorts changes by time; those of one instant keep their order.
func (b *builder) inOrder() {
	slices.SortStableFunc(b.s.Changes, func(x, y Change) int { return cmp.Compare(x.After, y.After) })
}
