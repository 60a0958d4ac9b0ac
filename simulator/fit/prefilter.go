package fit

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// state is a PreFilter state and the place in the log it is current for.
type state struct {
	base   int
	place  place
	at     int
	cycle  fwk.CycleState
	result *fwk.PreFilterResult
	status *fwk.Status
	// spread and affinity say that the plugin looks at pods on other nodes; local that none does.
	spread, affinity, local bool
	// anti is the last change of pods with required anti-affinity that a local state knows of.
	anti int
	// tallies are of the spread constraints; nil until the state follows its first change.
	tallies []tally
	// skipLocal are the plugins left out when only the pods on other nodes are in question.
	skipLocal sets.Set[string]
}

// current returns the PreFilter state of a shape for the snapshot as it is now. An older one is brought forward by
// replaying the log where the plugins allow it, else made again.
func (c *Checker) current(ctx context.Context, sh *shape) *state {
	if st := sh.local; st != nil && c.stillLocal(sh, st) {
		return st
	}
	s := c.snapshot
	c.settle(sh)
	n := len(sh.states)
	if n == 0 {
		return c.fresh(ctx, sh)
	}
	top := &sh.states[n-1]
	if top.at == len(s.log) {
		return top
	}
	if sh.volatile || !top.status.IsSuccess() || (!top.affinity && c.concerned(sh, antiSince(s.anti, top.at))) || !replayable(s.log[top.at:], top) {
		return c.fresh(ctx, sh)
	}
	if here := s.place(); top.place != here {
		next := *top
		next.cycle, next.place = top.cycle.Clone(), here
		next.tallies = cloneTallies(top.tallies)
		sh.states = append(sh.states, next)
		top = &sh.states[len(sh.states)-1]
	}
	if !c.replay(ctx, sh, top) {
		return c.fresh(ctx, sh)
	}
	return top
}

// settle drops the states whose changes were taken back, and moves those of committed forks to where these went.
func (c *Checker) settle(sh *shape) {
	s := c.snapshot
	for n := len(sh.states); n > 0; n = len(sh.states) {
		st := &sh.states[n-1]
		place, ok := s.survivor(st.place)
		if !ok || st.base != c.base {
			*st = state{}
			sh.states = sh.states[:n-1]
			continue
		}
		st.place = place
		// Older states of the same mark, or of marks that are gone, are of no use beside it.
		keep := n - 1
		for keep > 0 && sh.states[keep-1].place.level >= place.level {
			keep--
		}
		if keep < n-1 {
			sh.states[keep] = *st
			clear(sh.states[keep+1:])
			sh.states = sh.states[:keep+1]
		}
		return
	}
}

// stillLocal: nothing outside a node matters to a local state but pods that keep the shape's away from their own
// topology. It holds while the same ones are there, or new ones do not mean this shape.
func (c *Checker) stillLocal(sh *shape, st *state) bool {
	s := c.snapshot
	if st.base != c.base {
		return false
	}
	last := 0
	if n := len(s.anti); n > 0 {
		last = s.anti[n-1].id
	}
	if st.anti == last {
		return true
	}
	known := len(s.anti)
	for known > 0 && s.anti[known-1].id > st.anti {
		known--
	}
	if (known == 0 && st.anti != 0) || (known > 0 && s.anti[known-1].id != st.anti) {
		return false // what it knew of was taken back
	}
	if c.concerned(sh, s.anti[known:]) {
		return false
	}
	st.anti = last
	return true
}

// antiSince are the changes after a length of the log.
func antiSince(all []antiChange, at int) []antiChange {
	known := len(all)
	for known > 0 && all[known-1].at > at {
		known--
	}
	return all[known:]
}

// concerned says whether pods of these changes have required anti-affinity to pods of a shape: then InterPodAffinity,
// which skips shapes that none means, has to look at it again.
func (c *Checker) concerned(sh *shape, changes []antiChange) bool {
	if len(changes) == 0 {
		return false
	}
	var ns labels.Set
	if l := c.namespaceLabels(sh.pod.Namespace); l != nil {
		ns = l
	}
	means := func(p fwk.PodInfo) bool {
		for _, t := range p.GetRequiredAntiAffinityTerms() {
			if t.Matches(sh.pod, ns) {
				return true
			}
		}
		return false
	}
	for _, a := range changes {
		e := &c.snapshot.log[a.at-1]
		switch e.op {
		case opAddPod:
			if means(e.pod) {
				return true
			}
		case opAddNode, opReplaceNode:
			for _, p := range e.slot.info.PodsWithRequiredAntiAffinity {
				if means(p) {
					return true
				}
			}
		}
	}
	return false
}

// fresh makes a state by the plugins' PreFilter.
func (c *Checker) fresh(ctx context.Context, sh *shape) *state {
	s := c.snapshot
	c.freshStates++
	st := state{base: c.base, at: len(s.log), place: s.place(), cycle: framework.NewCycleState()}
	st.result, st.status, _ = c.fw.RunPreFilterPlugins(ctx, st.cycle, sh.pod)
	skipped := st.cycle.GetSkipFilterPlugins()
	st.spread, st.affinity = !skipped.Has(names.PodTopologySpread), !skipped.Has(names.InterPodAffinity)
	st.local = !st.spread && !st.affinity
	if n := len(s.anti); n > 0 {
		st.anti = s.anti[n-1].id
	}
	if st.local && !sh.volatile && st.status.IsSuccess() {
		sh.local = &st
		return sh.local
	}
	if n := len(sh.states); n > 0 && sh.states[n-1].place == st.place {
		sh.states = sh.states[:n-1]
	}
	sh.states = append(sh.states, st)
	return &sh.states[len(sh.states)-1]
}

// replayable: the plugins follow pods that come and go and nodes that come. Nodes that leave are followed, too, by
// their pods; pods that terminate are not, for PodTopologySpread counts them in some of its methods only.
func replayable(log []change, st *state) bool {
	for i := range log {
		e := &log[i]
		if !st.spread {
			continue
		}
		if e.pod != nil && e.pod.GetPod().DeletionTimestamp != nil {
			return false
		}
		for _, sl := range []*slot{e.slot, e.old} {
			if e.pod != nil || sl == nil {
				continue
			}
			for _, p := range sl.info.Pods {
				if p.GetPod().DeletionTimestamp != nil {
					return false
				}
			}
		}
	}
	return true
}

// replay brings a state up to the end of the log; false when a plugin cannot.
func (c *Checker) replay(ctx context.Context, sh *shape, st *state) bool {
	f := follower{c: c, ctx: ctx, pod: sh.pod, st: st}
	if st.spread && !f.begin() {
		return false
	}
	log := c.snapshot.log[st.at:]
	for i := range log {
		e := &log[i]
		ok := true
		switch e.op {
		case opAddPod:
			ok = f.add(e.pod, e.slot.info)
		case opRemovePod:
			ok = f.remove(e.pod, e.slot.info)
		case opAddNode:
			ok = f.enter(e.slot, log[i+1:])
		case opRemoveNode:
			ok = f.leave(e.slot)
		case opReplaceNode:
			ok = f.leave(e.old) && f.enter(e.slot, log[i+1:])
		}
		if !ok {
			return false
		}
	}
	st.at = len(c.snapshot.log)
	return !st.spread || f.end()
}

// cameWith are the pods a node had before the changes.
func cameWith(sl *slot, later []change) []fwk.PodInfo {
	added := 0
	for i := range later {
		if later[i].slot != sl || later[i].pod == nil {
			continue
		}
		if later[i].op == opRemovePod {
			return pristine(sl, later)
		}
		added++
	}
	return sl.info.Pods[:len(sl.info.Pods)-added]
}

// pristine is cameWith when some of the changes took pods off.
func pristine(sl *slot, later []change) []fwk.PodInfo {
	pods := append([]fwk.PodInfo(nil), sl.info.Pods...)
	for i := len(later) - 1; i >= 0; i-- {
		switch {
		case later[i].slot != sl:
		case later[i].op == opAddPod:
			pods = pods[:len(pods)-1]
		case later[i].op == opRemovePod:
			pods = append(pods, later[i].pod)
			swapLast(pods, later[i].was.at)
		}
	}
	return pods
}
