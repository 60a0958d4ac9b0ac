package scalehist

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The taints that autoscalers write. A cluster-autoscaler (its utils/taints): on a node on its way out, and on one that may be
// next. Karpenter: on a node on its way out, under one key since v1 and under the other before
// (https://karpenter.sh/docs/concepts/disruption/, and its upgrade guide to v1).
const (
	ToBeDeletedTaint         = "ToBeDeletedByClusterAutoscaler"
	DeletionCandidateTaint   = "DeletionCandidateOfClusterAutoscaler"
	KarpenterDisruptedTaint  = "karpenter.sh/disrupted"
	KarpenterDisruptionTaint = "karpenter.sh/disruption"
)

// BeingRemoved: an autoscaler, of either kind, has begun to remove the node.
func BeingRemoved(n *corev1.Node) bool {
	return HasTaint(n, ToBeDeletedTaint, KarpenterDisruptedTaint, KarpenterDisruptionTaint)
}

// HasTaint says whether a taint with one of the keys is on the node.
func HasTaint(n *corev1.Node, keys ...string) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return slices.Contains(keys, t.Key) })
}
