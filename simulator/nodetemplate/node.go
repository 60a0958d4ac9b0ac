package nodetemplate

import (
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
