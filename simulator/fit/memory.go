package fit

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// past is what is known of a shape without asking the plugins.
type past struct {
	// answers are remembered by node position.
	answers []answer
	calls   int
	// nowhereAt: at this epoch of the snapshot no node in [nowhereFrom, nowhereTo) could take a pod.
	nowhereAt              int64
	nowhereFrom, nowhereTo int
}

type verdict uint8

const (
	// never: refused by a plugin that looks at the Node object alone.
	never verdict = iota + 1
	// refused by a plugin that looks at the Node object and the pods there.
	refused
	// admitted by all plugins before the first one that looks at pods on other nodes.
	admitted
	// welcome: no plugin had anything against it.
	welcome
)

// answer is about a node as it was at a generation: generations are never given twice, and Node objects, which are
// never changed in place, can not come again while the answer holds them.
type answer struct {
	node       *corev1.Node
	generation int64
	verdict    verdict
}

// wide are the plugins whose answer does not rest on the node alone, and those that come after them in the order.
var wide = sets.New(names.PodTopologySpread, names.InterPodAffinity, names.DynamicResources, names.NodeDeclaredFeatures)

// globalPlugins look at pods on other nodes.
var globalPlugins = sets.New(names.PodTopologySpread, names.InterPodAffinity)

// objectPlugins look at the Node object alone, whatever pods are there.
var objectPlugins = sets.New(names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodeDeclaredFeatures)

// localPlugins are the filter plugins of the profile that look at the node alone.
func localPlugins(fw framework.Framework) sets.Set[string] {
	out := sets.New[string]()
	for _, p := range fw.ListPlugins().Filter.Enabled {
		if !wide.Has(p.Name) {
			out.Insert(p.Name)
		}
	}
	return out
}

// fits asks memory, then the plugins. The state must be current and a success; the pod does not exceed the room.
func (c *Checker) fits(ctx context.Context, sh *shape, st *state, at int) bool {
	sl := c.snapshot.slots[at]
	n := sl.info
	if sh.exceedsOthers(n) || (!st.result.AllNodes() && !st.result.NodeNames.Has(n.Node().Name)) {
		return false
	}
	if sh.volatile {
		return c.fw.RunFilterPlugins(ctx, st.cycle, sh.pod, n).IsSuccess()
	}
	switch sh.recall(sl, at) {
	case never, refused:
		return false
	case welcome:
		if st.local {
			return true
		}
		return c.runWide(ctx, st, sh, n).IsSuccess()
	case admitted:
		return c.runWide(ctx, st, sh, n).IsSuccess()
	}
	s := c.fw.RunFilterPlugins(ctx, st.cycle, sh.pod, n)
	a := answer{n.Node(), n.Generation, refused}
	switch {
	case s.IsSuccess():
		a.verdict = welcome
	case globalPlugins.Has(s.Plugin()):
		a.verdict = admitted
	case objectPlugins.Has(s.Plugin()):
		a.verdict = never
	}
	sh.remember(a, at, c.snapshot.Len())
	return s.IsSuccess()
}

// runWide asks only the plugins that do not look at the node alone; the others said yes.
func (c *Checker) runWide(ctx context.Context, st *state, sh *shape, n *framework.NodeInfo) *fwk.Status {
	skipped := st.cycle.GetSkipFilterPlugins()
	if st.skipLocal == nil {
		st.skipLocal = skipped.Union(c.local)
	}
	st.cycle.SetSkipFilterPlugins(st.skipLocal)
	s := c.fw.RunFilterPlugins(ctx, st.cycle, sh.pod, n)
	st.cycle.SetSkipFilterPlugins(skipped)
	return s
}

// recall is the verdict that holds for a node; the pod does not exceed its room. Any holds at its generation, a no also
// while the node only gained pods. What rests on the Node object alone holds while it is the same: for a shape without
// ports and attached volumes that is all but the room.
func (sh *shape) recall(sl *slot, at int) verdict {
	if at >= len(sh.answers) {
		return 0
	}
	a := &sh.answers[at]
	if a.verdict == 0 || a.node != sl.info.Node() {
		return 0
	}
	switch {
	case a.generation == sl.info.Generation, a.verdict == never:
		return a.verdict
	case a.verdict == refused:
		if sh.monotone && sl.grewFrom(a.generation) {
			return refused
		}
	case sh.simple:
		return a.verdict
	}
	return 0
}

// remember keeps an answer, but for the first one: many shapes are only ever asked for once.
func (sh *shape) remember(a answer, at, nodes int) {
	if sh.calls++; sh.calls == 1 {
		return
	}
	if at >= len(sh.answers) {
		grown := make([]answer, max(nodes, at+1, 2*len(sh.answers)))
		copy(grown, sh.answers)
		sh.answers = grown
	}
	sh.answers[at] = a
}

// nowhere says that no node in [from, to) can take a pod, because none could and none got room since.
func (sh *shape) nowhere(s *Snapshot, from, to int) bool {
	return sh.nowhereTo > 0 && sh.nowhereAt == s.epoch && from >= sh.nowhereFrom && to <= sh.nowhereTo
}

// nowhereSince remembers that no node in [from, to) can take a pod, for reasons of the nodes alone.
func (sh *shape) nowhereSince(s *Snapshot, from, to int) {
	if sh.monotone {
		sh.nowhereAt, sh.nowhereFrom, sh.nowhereTo = s.epoch, from, to
	}
}
