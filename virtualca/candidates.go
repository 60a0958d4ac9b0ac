package virtualca

import (
	"sort"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/virtualca/drain"
)

// candidates lists the nodes whose removal is looked at, in the order in which it is simulated: nodes of groups above
// their min size, those without pods to move first (of these, those that wait for no pod to complete), then those that
// were unneeded in the last loop. What is equal so far keeps creation order, and with a seed a shuffle of it; upstream
// lists nodes from a map and sorts them unstably (processors/scaledowncandidates).
func (l *loop) candidates() []*corev1.Node {
	type candidate struct {
		node *corev1.Node
		rank int
	}
	var all []candidate
	nodes := l.nodes
	if seed := l.a.settings.NodeSeed; seed != 0 {
		nodes = listingOrder(nodes, seed<<32+int64(l.d.Loop), tieName(&l.a.settings, func(n *corev1.Node) string { return n.Name }))
	}
	emptiness := l.knownEmptiness()
	for _, n := range nodes {
		group, ok := l.group[l.groupOf[n.Name]]
		if !ok || l.hidden[n.Name] || group.TargetSize <= group.MinSize || l.a.down.deletions.of(n.Name) != nil {
			continue
		}
		if l.a.settings.Down.DelayTypeLocal && l.coolingDown(group.Name) {
			continue
		}
		empty, known := emptiness[n.Name]
		if !known {
			empty = l.emptiness(n.Name)
			emptiness[n.Name] = empty
		}
		rank := 2 * empty
		if l.a.down.unneeded[n.Name] == nil {
			rank++
		}
		all = append(all, candidate{n, rank})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].rank < all[j].rank })
	out := make([]*corev1.Node, len(all))
	for i := range all {
		out[i] = all[i].node
	}
	return out
}

// knownEmptiness are the verdicts of emptiness that hold: all of the last loop while its plan is still good, else none.
func (l *loop) knownEmptiness() map[string]int {
	d, c := l.a.down, l.a.checker
	if m := d.memo; m == nil || m.base != c.Base() || d.emptinessBase != m.base || c.Snapshot().Changed() || !l.now.Before(m.until) {
		d.emptiness, d.emptinessBase = make(map[string]int, len(l.nodes)), c.Base()
	}
	return d.emptiness
}

// emptiness is 0 for a node without pods to move, 1 for one that only waits for pods to complete, 2 for others. The
// drain rules apply without owners and budgets, as upstream asks them here.
func (l *loop) emptiness(name string) int {
	s := l.a.checker.Snapshot()
	at, ok := s.Index(name)
	if !ok {
		return 2
	}
	pods := s.NodeInfo(at).Pods
	if len(pods) == 0 {
		return 0
	}
	judge := drain.Judge{Now: l.now, Options: l.a.settings.Down.Rules}
	waits := 0
	for _, p := range pods {
		switch v := judge.Pod(p.GetPod()); {
		case v.Action == drain.Block, v.Action == drain.Move && !isDaemonSetPod(p.GetPod()):
			return 2
		case v.Action == drain.Wait:
			waits = 1
		}
	}
	return waits
}
