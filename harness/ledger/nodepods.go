package ledger

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// nodePods follows the pods that belong to their node (those of DaemonSets, and static ones): they are nobody's demand, and take
// room all the same.
type nodePods struct {
	// seen are the pods at the last look, in creation order; a list that was shown is never changed.
	seen []*corev1.Pod
	// on are the nodes they are on; nil for a node that is not known.
	on map[types.UID]*nodeLedger
	// asks are what they asked for last, by name: that of a DaemonSet comes again under its name.
	asks map[types.NamespacedName]map[string]string
	// resized are the nodes on which one asks for something else than it did: what they offer changes again when the old one has stopped.
	resized map[*nodeLedger]bool
}

// look notes those that came and went since the last look, both in creation order. A pod that goes with its node is not among the
// latter.
func (n *nodePods) look(l *Ledger, o *scalehist.Objects) {
	old := n.seen
	n.seen = o.Pods
	if len(old) == len(o.Pods) && (len(old) == 0 || &old[0] == &o.Pods[0]) {
		return // the same list: no pod changed
	}
	if n.on == nil {
		n.on, n.asks, n.resized = map[types.UID]*nodeLedger{}, map[types.NamespacedName]map[string]string{}, map[*nodeLedger]bool{}
	}
	for _, p := range o.Pods {
		// Both lists are in creation order: what is in between is gone.
		for len(old) > 0 && old[0] != p && old[0].UID != p.UID {
			n.went(l, old[0])
			old = old[1:]
		}
		if len(old) == 0 {
			n.came(l, p)
			continue
		}
		if was := old[0]; was != p && (was.Spec.NodeName != p.Spec.NodeName || podlife.FollowsNode(p) && p.Spec.NodeName != "" && !maps.Equal(n.asks[scalehist.NameOf(p)], l.asked(p))) {
			n.went(l, was)
			n.came(l, p)
		}
		old = old[1:]
	}
	for _, p := range old {
		n.went(l, p)
	}
}

func (n *nodePods) came(l *Ledger, p *corev1.Pod) {
	if p.Spec.NodeName == "" || !podlife.FollowsNode(p) {
		return
	}
	n.on[p.UID] = l.byNode[p.Spec.NodeName]
	owner, asks := metav1.GetControllerOfNoCopy(p), l.asked(p)
	if was, known := n.asks[scalehist.NameOf(p)]; known && !maps.Equal(was, asks) {
		l.remeasure, n.resized[n.on[p.UID]] = true, true // the node has other room for the pods of workloads
	}
	n.asks[scalehist.NameOf(p)] = asks
	l.batch.NodePods = append(l.batch.NodePods, scalehist.NodePod{Namespace: p.Namespace, Name: p.Name, NodeName: p.Spec.NodeName,
		Owner: owner.Kind + "/" + owner.Name, Requests: asks})
}

// asked is what a pod asks for.
func (l *Ledger) asked(p *corev1.Pod) map[string]string {
	return l.amounts.of(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}))
}

func (n *nodePods) went(l *Ledger, p *corev1.Pod) {
	node := n.on[p.UID]
	delete(n.on, p.UID)
	switch {
	case node == nil:
	case !node.gone.IsZero():
		delete(n.asks, scalehist.NameOf(p))
	default:
		l.remeasure = l.remeasure || n.resized[node]
		l.batch.NodePodsGone = append(l.batch.NodePodsGone, scalehist.NameOf(p).String())
	}
}
