package recommender

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
)

// effort bounds an exact search by what it does, never by time: the answer is the same on any machine.
type effort struct {
	// vectors are node counts looked at, fits questions to the scheduler's plugins.
	vectors, fits int
}

var (
	// toJudge is spent by every recommendation to say how far from optimal it is, toFind by the strategy optimal.
	toJudge = effort{4_000, 20_000}
	toFind  = effort{100_000, 400_000}
)

// exactPods is the most pods an exact search is tried for: beyond it the effort would be wasted.
const exactPods = 64

// search looks for the cheapest node counts that take the pods of a problem, in the order of their cost: branch and bound,
// between the bound and the plan there is. Whether counts do is found by placing pods with the scheduler's plugins,
// every way there is.
type search struct {
	*problem
	effort
}

// vector are node counts by type.
type vector struct {
	counts []int
	cost   float64
	// last is the type from which on counts may still grow, so that each vector comes once.
	last int
}

type vectors []*vector

func (v vectors) Len() int { return len(v) }
func (v vectors) Less(i, j int) bool {
	if d := approx(v[i].cost, v[j].cost); d != 0 {
		return d < 0
	}
	return slices.Compare(v[i].counts, v[j].counts) < 0
}
func (v vectors) Swap(i, j int) { v[i], v[j] = v[j], v[i] }
func (v *vectors) Push(x any)   { *v = append(*v, x.(*vector)) }
func (v *vectors) Pop() any {
	old := *v
	x := old[len(old)-1]
	*v = old[:len(old)-1]
	return x
}

// found is the answer of a search: proven says that nothing below cost takes the pods; assigned is a plan of that cost
// that does, nil when it is the one there was.
type found struct {
	proven   bool
	cost     float64
	assigned []assignment
}

// assignment are pods on a new node of a group, by class of the planner.
type assignment struct {
	g      *group
	counts []int
}

// exact searches below a plan of a cost. Groups of one type must be alike for all pods, even for those that look at others.
func (b *problem) exact(ctx context.Context, e effort, bound, cost float64) (found, error) {
	none := found{cost: cost}
	if approx(bound, cost) >= 0 {
		return found{proven: true, cost: cost}, nil
	}
	pods := b.pods()
	if b.ordered || pods > exactPods || pods == 0 {
		return none, nil
	}
	for i := range b.class {
		if b.start.home[b.class[i]] {
			return none, nil
		}
	}
	s := &search{problem: b, effort: e}
	open := &vectors{{counts: make([]int, len(b.types))}}
	for open.Len() > 0 {
		v := heap.Pop(open).(*vector)
		if s.vectors--; s.vectors < 0 {
			return none, ctx.Err()
		}
		if approx(v.cost, bound) >= 0 && s.covers(v) {
			plan, err := s.place(ctx, v)
			switch {
			case err != nil:
				return none, err
			case plan != nil:
				return found{true, v.cost, plan}, nil
			case s.fits <= 0:
				return none, nil
			}
		}
		for t := v.last; t < len(b.types); t++ {
			next := v.cost + b.types[t].objective
			if v.counts[t] >= b.types[t].headroom || approx(next, cost) >= 0 || !s.within(v, t) {
				continue
			}
			counts := slices.Clone(v.counts)
			counts[t]++
			heap.Push(open, &vector{counts, next, t})
		}
	}
	return found{proven: true, cost: cost}, nil
}

// within says whether the limits of the cluster allow one node more.
func (s *search) within(v *vector, more int) bool {
	k := &s.p.req.Constraints
	total, capacity := s.start.total, slices.Clone(s.start.capacity)
	for t, n := range v.counts {
		if t == more {
			n++
		}
		total += n
		capacity.add(s.types[t].groups[0].capacity, int64(n))
	}
	return (k.MaxNodesTotal == 0 || total <= k.MaxNodesTotal) &&
		(k.Cores == nil || k.Cores.Max == 0 || capacity[cpuSlot] <= k.Cores.Max*1000) &&
		(k.MemoryGiB == nil || k.MemoryGiB.Max == 0 || capacity[memorySlot] <= k.MemoryGiB.Max<<30)
}

// covers says whether there is enough of every resource in sum, and a type for every class.
func (s *search) covers(v *vector) bool {
	have, need := make(amounts, len(s.p.table.names)), make(amounts, len(s.p.table.names))
	for t, n := range v.counts {
		have.add(s.types[t].groups[0].free, int64(n))
	}
	for k, i := range s.class {
		need.add(s.p.q.classes[i].demand, int64(s.n[k]))
		helps := false
		for t, n := range v.counts {
			helps = helps || n > 0 && s.may[k][t]
		}
		if !helps {
			return false
		}
	}
	for i := range need {
		if need[i] > have[i] {
			return false
		}
	}
	return true
}

// place tries every way to put the pods on the nodes of a vector; nil when there is none, or the effort is spent.
func (s *search) place(ctx context.Context, v *vector) ([]assignment, error) {
	snapshot := s.p.workers[0].c.Snapshot()
	snapshot.Fork()
	defer snapshot.Revert()
	base := snapshot.Len()
	var plan []assignment
	var types []int
	for t, n := range v.counts {
		for nth := range n {
			g := s.groupAt(t, nth)
			if err := snapshot.AddNode(g.fresh(fmt.Sprintf("%s-exact-%d", g.Name, len(plan)))); err != nil {
				return nil, fmt.Errorf("exact search: %w", err)
			}
			plan = append(plan, assignment{g, make([]int, len(s.p.q.classes))})
			types = append(types, t)
		}
	}
	if s.assign(ctx, base, plan, types, 0, 0, 0) {
		return plan, nil
	}
	return nil, ctx.Err()
}

// assign places the pods from the given one of a class on. Pods of a class are equal, so they go to nodes in order; empty
// nodes of a type are equal, so only the first of them is tried.
func (s *search) assign(ctx context.Context, base int, plan []assignment, types []int, k, pod, from int) bool {
	if k == len(s.class) {
		return true
	}
	if pod == s.n[k] {
		return s.assign(ctx, base, plan, types, k+1, 0, 0)
	}
	c, i := s.p.workers[0].c, s.class[k]
	p := s.p.q.rest(i)[pod]
	empty := -1
	for at := from; at < len(plan); at++ {
		if !s.may[k][types[at]] {
			continue
		}
		if isEmpty := !slices.ContainsFunc(plan[at].counts, func(n int) bool { return n > 0 }); isEmpty {
			if empty == types[at] {
				continue
			}
			empty = types[at]
		}
		if s.fits--; s.fits <= 0 || ctx.Err() != nil {
			return false
		}
		if !c.Fits(ctx, p, base+at) {
			continue
		}
		c.Snapshot().Fork()
		c.Place(p, base+at)
		plan[at].counts[i]++
		if s.assign(ctx, base, plan, types, k, pod+1, at) {
			c.Snapshot().Commit()
			return true
		}
		plan[at].counts[i]--
		c.Snapshot().Revert()
	}
	return false
}
