package sources

import (
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// auto picks another source once there are nodes to pick by, and stays with it.
type auto struct{ chosen atomic.Pointer[Source] }

// Auto picks the annotation scalehist.io/node-group if any node has it, else the well-known label that is on the most
// nodes. It chooses at the first node that shows either; until then no node has a group.
func Auto() Source { return &auto{} }

// Name implements Source; it is safe to call while another goroutine uses the source.
func (a *auto) Name() string {
	if s := a.chosen.Load(); s != nil {
		return (*s).Name()
	}
	return "auto (no node with a known label yet)"
}

func (a *auto) GroupOf(n *corev1.Node) string {
	if s := a.chosen.Load(); s != nil {
		return (*s).GroupOf(n)
	}
	return ""
}

func (a *auto) Groups(s State) []*v1alpha1.NodeGroup {
	if a.chosen.Load() == nil {
		picked := pick(s.Nodes)
		if picked == nil {
			// The flags alone name groups too; which node belongs to which shows later.
			return Annotation().Groups(State{Flags: s.Flags, Previous: s.Previous})
		}
		a.chosen.Store(&picked)
	}
	return (*a.chosen.Load()).Groups(s)
}

func pick(nodes []*corev1.Node) Source {
	best, most := "", 0
	for _, w := range wellKnown {
		n := 0
		for _, node := range nodes {
			if node.Labels[w.key] != "" {
				n++
			}
		}
		if n > most {
			best, most = w.key, n
		}
	}
	for _, node := range nodes {
		if node.Annotations[v1alpha1.NodeGroupAnnotation] != "" {
			return Annotation()
		}
	}
	if best == "" {
		return nil
	}
	return Labels(best)
}
