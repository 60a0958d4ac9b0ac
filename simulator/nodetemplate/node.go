package nodetemplate

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// conditionTaints are put on nodes for conditions that a fresh node does not have.
var conditionTaints = map[string]bool{
	corev1.TaintNodeNotReady: true, corev1.TaintNodeUnreachable: true, corev1.TaintNodeUnschedulable: true,
	corev1.TaintNodeMemoryPressure: true, corev1.TaintNodeDiskPressure: true, corev1.TaintNodeNetworkUnavailable: true,
	corev1.TaintNodePIDPressure: true, "node.cloudprovider.kubernetes.io/uninitialized": true,
	"node.cloudprovider.kubernetes.io/shutdown":   true,
	"cloud.google.com/impending-node-termination": true, "NodeWithImpairedVolumes": true,
}

// Ready says whether a node counts as ready, and since when its state is what it is: Ready is neither False nor
// Unknown, there is no disk pressure and a network (utils/kubernetes.GetNodeReadiness).
func Ready(n *corev1.Node) (bool, time.Time) {
	ok, found := true, false
	var since time.Time
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		switch c.Type {
		case corev1.NodeReady:
			found = true
			ok = ok && c.Status != corev1.ConditionFalse && c.Status != corev1.ConditionUnknown
		case corev1.NodeDiskPressure, corev1.NodeNetworkUnavailable:
			ok = ok && c.Status != corev1.ConditionTrue
		default:
			continue
		}
		if c.LastTransitionTime.After(since) {
			since = c.LastTransitionTime.Time
		}
	}
	for i := range n.Spec.Taints {
		switch n.Spec.Taints[i].Key {
		case corev1.TaintNodeNotReady, corev1.TaintNodeDiskPressure, corev1.TaintNodeNetworkUnavailable:
			ok = false
		}
	}
	return ok && found, since
}

// WithoutTaint leaves out the taints of a key.
func WithoutTaint(taints []corev1.Taint, key string) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return t.Key == key })
}

// DeletionTaint keeps pods off a node that is being removed; its value is the time in seconds.
func DeletionTaint(now time.Time) corev1.Taint {
	return corev1.Taint{Key: scalehist.ToBeDeletedTaint, Value: strconv.FormatInt(now.Unix(), 10), Effect: corev1.TaintEffectNoSchedule}
}

// FreshTaints leaves the taints a fresh node would have: without those of the autoscaler and of the node lifecycle.
func FreshTaints(taints []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range taints {
		if t.Key == scalehist.ToBeDeletedTaint || t.Key == scalehist.DeletionCandidateTaint || conditionTaints[t.Key] {
			continue
		}
		out = append(out, t)
	}
	return out
}
