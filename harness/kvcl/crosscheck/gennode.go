package crosscheck

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// Names that programs share, so that things meet.
const (
	labelDisk = "example.com/disk"
	labelRank = "example.com/rank"
	taintKey  = "example.com/dedicated"
	gpu       = "example.com/gpu"
	driver    = "disk.example.com"
)

var zones = []string{"a", "b", "c"}

func (g *gen) addNode() Change {
	name := g.name("n")
	cpu := pick(g, 2, 1, 4, 8)
	most := 3
	switch g.theme {
	case crowded, budgets:
		cpu, most = pick(g, 2, 4), 1
	case spread, storage:
		cpu, most = pick(g, 4, 8), 1
	case general, life, mistakes, fleet:
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Capacity:    g.room(cpu),
			Allocatable: g.room(cpu),
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	if g.theme == spread || !g.in(6) {
		n.Labels[corev1.LabelTopologyZone] = pick(g, zones...)
	}
	draw(g, "node", most, n, nodeFeatures)
	return g.added(n)
}

func (g *gen) room(cpu int) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(cpu), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse(pick(g, "4Gi", "2Gi", "8Gi", "3500Mi", "4000000000")),
		corev1.ResourcePods:   *resource.NewQuantity(int64(pick(g, 110, 110, 4, 2)), resource.DecimalSI),
	}
}

// offer adds a resource where the node has any.
func offer(n *corev1.Node, name corev1.ResourceName, q resource.Quantity) {
	for _, list := range []corev1.ResourceList{n.Status.Capacity, n.Status.Allocatable} {
		if list != nil {
			list[name] = q
		}
	}
}

// nodeFeatures are drawn into new nodes.
var nodeFeatures = []feature[*corev1.Node]{
	{"taint", func(g *gen, n *corev1.Node) { n.Spec.Taints = g.taintList() }},
	{"cordoned", func(_ *gen, n *corev1.Node) { n.Spec.Unschedulable = true }},
	{"disk label", func(g *gen, n *corev1.Node) { n.Labels[labelDisk] = pick(g, "ssd", "hdd") }},
	{"rank label", func(g *gen, n *corev1.Node) { n.Labels[labelRank] = fmt.Sprint(g.n(6)) }},
	{"extended resource", func(g *gen, n *corev1.Node) {
		offer(n, gpu, *resource.NewQuantity(int64(1+g.n(3)), resource.DecimalSI))
	}},
	{"ephemeral storage", func(_ *gen, n *corev1.Node) {
		offer(n, corev1.ResourceEphemeralStorage, resource.MustParse("10Gi"))
	}},
	{"huge pages", func(_ *gen, n *corev1.Node) {
		offer(n, "hugepages-2Mi", resource.MustParse("64Mi"))
	}},
	{"less allocatable than capacity", func(_ *gen, n *corev1.Node) {
		if n.Status.Allocatable != nil {
			n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("930m")
		}
	}},
	{"no allocatable", func(_ *gen, n *corev1.Node) { n.Status.Allocatable = nil }},
	{"no status", func(_ *gen, n *corev1.Node) { n.Status = corev1.NodeStatus{} }},
	{"not ready", func(g *gen, n *corev1.Node) { nodeConditions(g, n) }},
	{"images", func(g *gen, n *corev1.Node) {
		n.Status.Images = []corev1.ContainerImage{{Names: []string{"image:latest", "image"}, SizeBytes: int64(1+g.n(3)) * 300e6}}
	}},
	{"provider", func(_ *gen, n *corev1.Node) {
		n.Spec.ProviderID = "example:///" + n.Name
		n.Spec.PodCIDR = "10.0.0.0/24"
		n.Spec.PodCIDRs = []string{"10.0.0.0/24"}
	}},
	{"info", func(_ *gen, n *corev1.Node) {
		n.Status.NodeInfo = corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v1.36.3"}
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeHostName, Address: n.Name}}
	}},
	{"identity", func(g *gen, n *corev1.Node) { g.identity(n) }},
	{"annotations", func(_ *gen, n *corev1.Node) { n.Annotations = map[string]string{"example.com/note": "x y\nz"} }},
	{"finalizers", func(_ *gen, n *corev1.Node) { n.Finalizers = []string{"example.com/keep"} }},
	{"volumes attached", func(_ *gen, n *corev1.Node) {
		n.Status.VolumesAttached = []corev1.AttachedVolume{{Name: "kubernetes.io/csi/" + driver + "^v", DevicePath: "x"}}
		n.Status.VolumesInUse = []corev1.UniqueVolumeName{"kubernetes.io/csi/" + driver + "^v"}
	}},
}

// identity gives UID and times, as recorded objects have them.
func (g *gen) identity(obj scalehist.Object) {
	obj.SetUID(g.uid())
	obj.SetCreationTimestamp(g.past())
	if g.in(3) {
		obj.SetResourceVersion("12345")
		obj.SetGeneration(3)
		obj.SetSelfLink("/self")
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "x", Operation: metav1.ManagedFieldsOperationApply}})
	}
}

// uid is a recorded UID: each is drawn once in a program.
func (g *gen) uid() types.UID {
	g.made["uid"]++
	return types.UID(fmt.Sprintf("recorded-%d", g.made["uid"]))
}

// past is an instant in the day before Epoch.
func (g *gen) past() metav1.Time {
	return metav1.NewTime(Epoch.Add(-24*time.Hour + time.Duration(g.n(3600))*time.Second))
}

func (g *gen) taintList() []corev1.Taint {
	var out []corev1.Taint
	seen := map[string]bool{}
	for range g.n(3) {
		t := corev1.Taint{
			Key: pick(g, taintKey, "example.com/other", "node.kubernetes.io/unschedulable", "ToBeDeletedByClusterAutoscaler"), Value: pick(g, "", "x", "y"),
			Effect: pick(g, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
		}
		if g.in(4) {
			at := g.past()
			t.TimeAdded = &at
		}
		if k := t.Key + string(t.Effect); !seen[k] {
			seen[k] = true
			out = append(out, t)
		}
	}
	return out
}

func nodeConditions(g *gen, n *corev1.Node) {
	n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: pick(g, corev1.ConditionFalse, corev1.ConditionUnknown, corev1.ConditionTrue), Reason: "KubeletNotReady",
			Message: "not yet", LastHeartbeatTime: g.past(), LastTransitionTime: g.past()},
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
	}
}

// taints draws a SetTaints.
func (g *gen) taints() Step {
	t := &Taint{Node: "absent", Taints: g.taintList()}
	if n := g.some("Node"); n != nil && !g.in(12) {
		t.Node = n.GetName()
	} else {
		g.reach("taint what is not there")
	}
	switch {
	case g.in(10):
		g.reach("taints: refused")
		t.Taints = pick(g, []corev1.Taint{{Key: "bad key", Effect: corev1.TaintEffectNoSchedule}}, []corev1.Taint{{Key: "a", Effect: "Never"}},
			[]corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}, {Key: "a", Value: "b", Effect: corev1.TaintEffectNoSchedule}},
			[]corev1.Taint{{Key: "a"}})
	case g.in(6):
		t.Taints = nil
	case g.in(6):
		t.Taints = []corev1.Taint{}
	}
	return Step{Taint: t}
}

// changeNode adds, updates or deletes a node.
func (g *gen) changeNode() Change {
	n, ok := g.some("Node").(*corev1.Node)
	if !ok || g.in(3) {
		return g.addNode()
	}
	if g.in(4) {
		g.reach("delete Node")
		return g.deleted(n)
	}
	f := nodeUpdates[g.n(len(nodeUpdates))]
	g.reach("node update: " + f.name)
	if g.in(2) {
		return edited(n, f.name, freeze(g, f))
	}
	n = n.DeepCopy()
	f.draw(g, n)
	return g.updated(n)
}

// freeze draws an update now, for an object that is not known yet: the draws are those made for a scratch object.
func freeze(g *gen, f feature[*corev1.Node]) func(scalehist.Object) {
	scratch := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}, Status: corev1.NodeStatus{Capacity: g.room(4), Allocatable: g.room(4)}}
	f.draw(g, scratch)
	return func(obj scalehist.Object) {
		n := obj.(*corev1.Node)
		for k, v := range scratch.Labels {
			metav1.SetMetaDataLabel(&n.ObjectMeta, k, v)
		}
		for k, v := range scratch.Annotations {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, k, v)
		}
		n.Spec.Taints, n.Spec.Unschedulable = scratch.Spec.Taints, scratch.Spec.Unschedulable
		n.Status.Allocatable = scratch.Status.Allocatable
		if scratch.Status.Conditions != nil {
			n.Status.Conditions = scratch.Status.Conditions
		}
	}
}

var nodeUpdates = []feature[*corev1.Node]{
	{"taints", func(g *gen, n *corev1.Node) { n.Spec.Taints = g.taintList() }},
	{"cordon", func(_ *gen, n *corev1.Node) { n.Spec.Unschedulable = true }},
	{"uncordon", func(_ *gen, n *corev1.Node) { n.Spec.Unschedulable, n.Spec.Taints = false, nil }},
	{"move to another zone", func(g *gen, n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = pick(g, zones...) }},
	{"label", func(g *gen, n *corev1.Node) { n.Labels[labelDisk] = pick(g, "ssd", "hdd") }},
	{"unlabel", func(_ *gen, n *corev1.Node) { n.Labels = map[string]string{} }},
	{"allocatable", func(g *gen, n *corev1.Node) { n.Status.Allocatable = g.room(pick(g, 1, 2, 4, 8)) }},
	{"conditions", nodeConditions},
	{"annotations", func(_ *gen, n *corev1.Node) { n.Annotations = map[string]string{"example.com/updated": "true"} }},
	{"nothing", func(*gen, *corev1.Node) {}},
}
