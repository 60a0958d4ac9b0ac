package fit

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// shape is what all pods that the filter plugins cannot tell apart have in common.
type shape struct {
	id int
	// pod is one of them; it stands for all.
	pod *corev1.Pod
	// cpu (milli), memory and disk (bytes) are the integers compared first.
	cpu, memory, disk int64
	// volatile shapes have volumes or claims whose state lies outside the nodes: nothing is remembered for them.
	volatile bool
	// states are PreFilter states, one per fork level at most, the newest last.
	states []state
	// answers are remembered by node position, and good while the generation is the node's.
	answers []answer
	calls   int
}

type answer struct {
	generation int64
	fits       bool
}

// state is a PreFilter state and the place in the log it is current for.
type state struct {
	level, forkID, base, at int
	cycle                   fwk.CycleState
	result                  *fwk.PreFilterResult
	status                  *fwk.Status
	// spread and affinity say that the plugin looks at pods on other nodes; local that none does.
	spread, affinity, local bool
}

// podEntry is what is computed once per pod object.
type podEntry struct {
	shape *shape
	info  *framework.PodInfo
}

// shapeKey is equal for two pods exactly when the filter plugins cannot tell them apart: the plugins read namespace,
// labels and spec. Pods with generated claims are told apart by name, which the claims' names contain.
func shapeKey(pod *corev1.Pod) (string, bool, error) {
	var b strings.Builder
	b.WriteString(pod.Namespace)
	b.WriteByte(0)
	for _, k := range slices.Sorted(maps.Keys(pod.Labels)) {
		b.WriteString(k)
		b.WriteByte(1)
		b.WriteString(pod.Labels[k])
		b.WriteByte(2)
	}
	b.WriteByte(0)
	spec, err := pod.Spec.Marshal()
	if err != nil {
		return "", false, err
	}
	b.Write(spec)
	volatile := len(pod.Spec.ResourceClaims) > 0
	named := volatile
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		volatile = volatile || v.PersistentVolumeClaim != nil || v.Ephemeral != nil
		named = named || v.Ephemeral != nil
	}
	if named {
		b.WriteByte(0)
		b.WriteString(pod.Name)
		b.WriteString(string(pod.UID))
	}
	return b.String(), volatile, nil
}

func (c *Checker) newShape(pod *corev1.Pod, volatile bool) *shape {
	c.shapeCount++
	r := resource.PodRequests(pod, resource.PodResourcesOptions{})
	return &shape{id: c.shapeCount, pod: pod, volatile: volatile, cpu: r.Cpu().MilliValue(), memory: r.Memory().Value(), disk: r.StorageEphemeral().Value()}
}

// tooBig says no by integers alone. It repeats the part of NodeResourcesFit that needs no plugin, so a true is exact.
func (s *shape) tooBig(n *framework.NodeInfo) bool {
	return len(n.Pods)+1 > n.Allocatable.AllowedPodNumber ||
		(s.cpu > 0 && s.cpu > n.Allocatable.MilliCPU-n.Requested.MilliCPU) ||
		(s.memory > 0 && s.memory > n.Allocatable.Memory-n.Requested.Memory) ||
		(s.disk > 0 && s.disk > n.Allocatable.EphemeralStorage-n.Requested.EphemeralStorage)
}

// withUID returns the pod, or a copy with a UID: the scheduler's caches tell pods apart by it.
func withUID(pod *corev1.Pod) *corev1.Pod {
	if pod.UID != "" {
		return pod
	}
	c := *pod
	c.UID = types.UID("pod/" + pod.Namespace + "/" + pod.Name)
	return &c
}

// NewNodeInfo builds a node with pods on it, in that order.
func NewNodeInfo(node *corev1.Node, pods ...*corev1.Pod) *framework.NodeInfo {
	n := framework.NewNodeInfo()
	n.SetNode(node)
	for _, p := range pods {
		n.AddPod(withUID(p))
	}
	return n
}
