package sources

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// templateOf is the node a group would bring: the oldest node's shape with what all nodes of the group have in common.
// Taking the oldest keeps the template still while nodes come and go.
func templateOf(nodes []*corev1.Node) *v1alpha1.NodeTemplate {
	oldest := nodes[0]
	labels := map[string]string{}
	for k, v := range oldest.Labels {
		if k != corev1.LabelHostname && common(nodes, k) == v {
			labels[k] = v
		}
	}
	t := &v1alpha1.NodeTemplate{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Status: corev1.NodeStatus{
			Capacity:    oldest.Status.Capacity.DeepCopy(),
			Allocatable: oldest.Status.Allocatable.DeepCopy(),
		},
	}
	for _, taint := range oldest.Spec.Taints {
		if !passing(taint.Key) {
			t.Spec.Taints = append(t.Spec.Taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
		}
	}
	return t
}

// passingTaints are put on single nodes for a while by the node lifecycle and the autoscalers; a new node has none.
var passingTaints = []string{
	scalehist.ToBeDeletedTaint,
	scalehist.DeletionCandidateTaint,
	scalehist.KarpenterDisruptedTaint,
	scalehist.KarpenterDisruptionTaint,
	"karpenter.sh/unregistered",
	"node.cloudprovider.kubernetes.io/uninitialized",
	"node.cloudprovider.kubernetes.io/shutdown",
}

func passing(key string) bool {
	return strings.HasPrefix(key, "node.kubernetes.io/") || slices.Contains(passingTaints, key)
}
