package recommender

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// optimal looks for the cheapest plan. It takes the best that greedy makes with any scoring, improves it by exchanging
// nodes, and, where the case is small enough, proves the optimum by an exact search. All plans compared place the same pods, or
// more of a higher priority.
type optimal struct{}

func (optimal) Name() string { return Optimal }

// exchanges bounds the questions to the plugins that the improvement may ask.
const exchanges = 400_000

func (optimal) scaleUp(ctx context.Context, p *planner) error {
	s := p.start
	best, why, err := p.bestGreedy(ctx, s)
	if err != nil {
		return err
	}
	bound := best.problemOf(s, false).lowerBound()
	b := best.problemOf(s, p.apart)
	// Exchanging needs the snapshot of the start, which only p has.
	b.p = p
	cost := best.objective(s)
	plan := assignmentsOf(best.nodes[s.nodes:])
	if better, less := b.exchange(ctx, plan, bound); less < cost && approx(less, cost) < 0 {
		plan, cost, why = better, less, "exchange of nodes"
	}
	f, err := b.exact(ctx, toFind, bound, cost)
	if err != nil {
		return err
	}
	if f.assigned != nil {
		plan, why = f.assigned, "exact search"
	} else if f.proven {
		why += ", proven by exact search or bound"
	}
	return p.take(ctx, plan, "part of the cheapest plan found: "+why)
}

// bestGreedy runs greedy with every scoring on the objective, and returns the plan that places most pods by priority,
// and of these the cheapest; p is as before.
func (p *planner) bestGreedy(ctx context.Context, s *start) (*planner, string, error) {
	var best *planner
	var name string
	for _, sc := range p.objectiveScorers() {
		for _, w := range p.workers {
			if err := w.catchUp(p.changes); err != nil {
				return nil, "", err
			}
			w.c.Snapshot().Fork()
		}
		run := p.copy()
		run.score = sc
		err := greedy{}.scaleUp(ctx, run)
		for _, w := range p.workers {
			w.c.Snapshot().Revert()
			w.applied, w.followed = len(p.changes), 0
		}
		if err != nil {
			return nil, "", err
		}
		if best == nil || run.better(best, s) < 0 {
			best, name = run, "greedy with "+sc.name
		}
	}
	return best, name, nil
}

// objectiveScorers are the policies with the objective for the price.
func (p *planner) objectiveScorers() []scorer {
	t, w := p.table, p.weights
	per := func(v float64, g *group) float64 {
		if g.objective == 0 {
			return v * 1e12 // as good as free
		}
		return v / g.objective
	}
	return []scorer{
		{name: LeastCost, score: func(g *group, taken, waiting amounts) float64 { return per(share(taken, waiting), g) }},
		{name: Weighted, score: func(g *group, taken, _ amounts) float64 { return per(w.value(t, taken), g) }},
		{name: LeastWaste, lower: true, score: func(g *group, taken, _ amounts) float64 {
			return unused(g, taken, cpuSlot) + unused(g, taken, memorySlot)
		}},
		{name: "cheapest node", lower: true, score: func(g *group, _, _ amounts) float64 { return g.objective }},
		{name: "most pods", score: func(_ *group, taken, _ amounts) float64 { return float64(taken[podsSlot]) }},
	}
}

// copy is a planner that goes its own way on the same workers.
func (p *planner) copy() *planner {
	c := *p
	c.q = &queue{p.q.classes, slices.Clone(p.q.placed)}
	c.changes = slices.Clip(p.changes)
	c.target, c.capacity, c.next = slices.Clone(p.target), slices.Clone(p.capacity), slices.Clone(p.next)
	c.taken = cloneMap(p.taken)
	c.fits, c.steps = slices.Clone(p.fits), slices.Clone(p.steps)
	c.nodes, c.onNode = nil, map[string]*planned{}
	for _, n := range p.nodes {
		own := *n
		own.pods, own.counts = slices.Clone(n.pods), slices.Clone(n.counts)
		c.nodes = append(c.nodes, &own)
		c.onNode[n.name] = &own
	}
	return &c
}

func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// better is negative when this plan places more pods of the highest priority in which they differ, or costs less.
func (p *planner) better(o *planner, s *start) int {
	placed := map[int32]int{}
	var priorities []int32
	for i, cl := range p.q.classes {
		if _, ok := placed[cl.priority]; !ok {
			priorities = append(priorities, cl.priority) // descending, as the classes are
		}
		placed[cl.priority] += p.q.placed[i] - o.q.placed[i]
	}
	for _, pr := range priorities {
		if placed[pr] != 0 {
			return -placed[pr]
		}
	}
	return cmp.Or(approx(p.objective(s), o.objective(s)), cmp.Compare(len(p.nodes), len(o.nodes)))
}

func assignmentsOf(nodes []*planned) []assignment {
	var out []assignment
	for _, n := range nodes {
		out = append(out, assignment{n.g, slices.Clone(n.counts)})
	}
	return out
}

// take adds the nodes of a plan, those of a group together, as long as their pods fit as planned.
func (p *planner) take(ctx context.Context, plan []assignment, why string) error {
	c := p.workers[0].c
	for _, a := range plan {
		if err := p.workers[0].catchUp(p.changes); err != nil {
			return err
		}
		// Pods may have found room elsewhere meanwhile, where order matters.
		counts := slices.Clone(a.counts)
		for i := range counts {
			counts[i] = min(counts[i], len(p.q.rest(i)))
		}
		if !slices.ContainsFunc(counts, func(n int) bool { return n > 0 }) {
			continue
		}
		name := p.nextName(a.g)
		s := c.Snapshot()
		s.Fork()
		if err := s.AddNode(a.g.fresh(name)); err != nil {
			return fmt.Errorf("take node of %s: %w", a.g.Name, err)
		}
		limited := &queue{make([]*class, len(counts)), make([]int, len(counts))}
		for i, n := range counts {
			own := *p.q.classes[i]
			own.pods = p.q.rest(i)[:n]
			limited.classes[i] = &own
		}
		got := pack(ctx, c, s.Len()-1, limited, p.table)
		s.Revert()
		if !slices.ContainsFunc(got, func(n int) bool { return n > 0 }) {
			continue
		}
		p.steps = append(p.steps, Step{NodeGroup: a.g.Name, Node: name, Reason: why})
		if err := p.addNode(ctx, a.g, got, ""); err != nil {
			return err
		}
	}
	// What is left, where order mattered, goes the greedy way.
	return greedy{}.scaleUp(ctx, p)
}
