package recommender

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// exchange improves a plan by moves on its node counts as long as one makes it cheaper: a node less, a cheaper one for
// another, one for two, two for one. Counts are good when all pods of the plan can be packed onto them.
func (b *problem) exchange(ctx context.Context, plan []assignment, bound float64) ([]assignment, float64) {
	index := map[*group]int{}
	for t, ty := range b.types {
		for _, g := range ty.groups {
			index[g] = t
		}
	}
	counts := make([]int, len(b.types))
	cost := 0.0
	for _, a := range plan {
		t, ok := index[a.g]
		if !ok {
			return plan, cost
		}
		counts[t]++
		cost += a.g.objective
	}
	if b.ordered || slices.ContainsFunc(b.class, func(i int) bool { return b.start.home[i] }) {
		return plan, cost
	}
	s := &search{problem: b, effort: effort{fits: exchanges}}
	for improved := true; improved && s.fits > 0 && approx(cost, bound) > 0 && ctx.Err() == nil; {
		improved = false
		for _, next := range s.moves(counts) {
			less := cost + s.change(counts, next)
			if approx(less, cost) >= 0 || !s.covers(&vector{counts: next}) || !s.allowed(next) {
				continue
			}
			if better := s.packInto(ctx, next); better != nil {
				plan, counts, cost, improved = better, next, less, true
				break
			}
			if s.fits <= 0 {
				break
			}
		}
	}
	return plan, cost
}

func (s *search) change(from, to []int) float64 {
	sum := 0.0
	for t := range to {
		sum += float64(to[t]-from[t]) * s.types[t].objective
	}
	return sum
}

func (s *search) allowed(counts []int) bool {
	for t, n := range counts {
		if n > s.types[t].headroom {
			return false
		}
	}
	return s.within(&vector{counts: counts}, -1)
}

// moves lists the counts one move away that are cheaper, the cheapest first.
func (s *search) moves(counts []int) [][]int {
	var out [][]int
	add := func(changes map[int]int) {
		next := slices.Clone(counts)
		for t, d := range changes {
			if next[t] += d; next[t] < 0 {
				return
			}
		}
		if s.change(counts, next) < 0 {
			out = append(out, next)
		}
	}
	for t, n := range counts {
		if n == 0 {
			continue
		}
		add(map[int]int{t: -1})
		for u := range counts {
			if u == t {
				continue
			}
			add(map[int]int{t: -1, u: 1})
			add(map[int]int{t: -1, u: 2})
			add(map[int]int{t: -2, u: 1})
			for x := t + 1; x < len(counts); x++ {
				if x != u {
					add(map[int]int{t: -1, x: -1, u: 1})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b []int) int {
		return cmp.Or(approx(s.change(counts, a), s.change(counts, b)), slices.Compare(a, b))
	})
	return out
}

// packInto puts all pods on nodes of these counts, each on the first that takes it: small nodes first, then large ones
// first. Nil when pods are left either way.
func (s *search) packInto(ctx context.Context, counts []int) []assignment {
	for _, sign := range []int{1, -1} {
		order := make([]int, len(counts))
		for t := range order {
			order[t] = t
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return sign * cmp.Or(approx(s.types[a].objective, s.types[b].objective), cmp.Compare(a, b))
		})
		if plan := s.packInOrder(ctx, counts, order); plan != nil {
			return plan
		}
	}
	return nil
}

func (s *search) packInOrder(ctx context.Context, counts, order []int) []assignment {
	c := s.p.workers[0].c
	snapshot := c.Snapshot()
	snapshot.Fork()
	defer snapshot.Revert()
	base := snapshot.Len()
	var plan []assignment
	var types []int
	for _, t := range order {
		for nth := range counts[t] {
			g := s.groupAt(t, nth)
			if snapshot.AddNode(g.fresh(fmt.Sprintf("%s-exchange-%d", g.Name, len(plan)))) != nil {
				return nil
			}
			plan = append(plan, assignment{g, make([]int, len(s.p.q.classes))})
			types = append(types, t)
		}
	}
	for k, i := range s.class {
		pods := s.p.q.rest(i)[:s.n[k]]
		for at := 0; at < len(plan) && len(pods) > 0; {
			if s.fits--; s.fits <= 0 || ctx.Err() != nil {
				return nil
			}
			if !s.may[k][types[at]] || !c.Fits(ctx, pods[0], base+at) {
				at++
				continue
			}
			c.Place(pods[0], base+at)
			plan[at].counts[i]++
			pods = pods[1:]
		}
		if len(pods) > 0 {
			return nil
		}
	}
	return plan
}
