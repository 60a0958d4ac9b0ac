package virtualca

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/virtualca/listing"
)

// candidates lists the nodes whose removal is looked at, in the order in which it is simulated: nodes of groups above
// their min size, those without pods to move first (of these, those that wait for no pod to complete), then those that
// were unneeded in the last loop. What is equal so far is in the order of a map: upstream
// lists nodes from one (processors/scaledowncandidates).
func (l *loop) candidates() []*corev1.Node {
	type candidate struct {
		node *corev1.Node
		rank int
	}
	var all []candidate
	nodes := l.nodes
	switch {
	case l.a.settings.NodesAsStored:
		nodes = l.listed
	case !l.a.settings.NodesAsListed:
		nodes = listing.Circle(nodes, l.a.settings.Seed, l.d.Loop, listing.Name(l.a.settings.NamelessTies, func(n *corev1.Node) string { return n.Name }))
	}
	for _, n := range nodes {
		group, ok := l.group[l.groupOf[n.Name]]
		if !ok || l.hidden[n.Name] || group.TargetSize <= group.MinSize || l.a.down.deletions.of(n.Name) != nil {
			continue
		}
		if l.a.settings.Down.DelayTypeLocal && l.coolingDown(group.Name) {
			continue
		}
		rank := 2 * l.emptiness(n.Name)
		if l.a.down.unneeded[n.Name] == nil {
			rank++
		}
		all = append(all, candidate{n, rank})
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	out := make([]*corev1.Node, len(all))
	for i := range all {
		out[i] = all[i].node
	}
	return out
}
