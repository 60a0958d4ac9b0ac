package harness

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/scalehist/scalehist"
)

// nodePods follows the pods that belong to their node (those of DaemonSets, and static ones): they are nobody's demand, and take
// room all the same.
type nodePods struct {
	there map[types.NamespacedName]nodePod
	// stirred: one of them came or went since the last look, or may have.
	stirred bool
}

type nodePod struct {
	*corev1.Pod
	on *nodeLedger // nil: no node that is known
}

// goneBefore says whether the pod's node is there without it.
func (p nodePod) goneBefore() bool { return p.on != nil && p.on.gone.IsZero() }

// look notes those that came and went since the last look. A pod that goes with its node is not among the latter.
func (n *nodePods) look(l *ledger, o *scalehist.Objects) {
	if !n.stirred {
		return
	}
	n.stirred = false
	now := map[types.NamespacedName]nodePod{}
	for _, p := range o.Pods {
		if p.Spec.NodeName != "" && followsNode(p) {
			now[keyOf(p)] = nodePod{p, l.byNode[p.Spec.NodeName]}
		}
	}
	b := &l.batch
	for key, p := range now {
		was, known := n.there[key]
		if known && was.UID == p.UID && was.on == p.on {
			continue
		}
		if known && was.goneBefore() {
			b.NodePodsGone = append(b.NodePodsGone, key.String())
		}
		owner := metav1.GetControllerOf(p.Pod)
		b.NodePods = append(b.NodePods, scalehist.NodePod{Namespace: p.Namespace, Name: p.Name, NodeName: p.Spec.NodeName, Owner: owner.Kind + "/" + owner.Name,
			Requests: l.amounts.of(resourcehelper.PodRequests(p.Pod, resourcehelper.PodResourcesOptions{}))})
	}
	for key, was := range n.there {
		if _, still := now[key]; !still && was.goneBefore() {
			b.NodePodsGone = append(b.NodePodsGone, key.String())
		}
	}
	slices.Sort(b.NodePodsGone)
	slices.SortFunc(b.NodePods, func(a, b scalehist.NodePod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	n.there = now
}
