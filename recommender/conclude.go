package recommender

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// judge says how far a finished plan is from the best for the same pods. base is the planner as it was at the start, to
// which the first worker's snapshot can be brought back by one Revert.
func (p *planner) judge(ctx context.Context, base *planner) (Optimality, error) {
	s := p.start
	out := Optimality{Unit: p.unit(), Cost: p.objective(s), Method: "no new node"}
	if len(p.nodes) == s.nodes {
		out.Exact, out.Optimal = true, true
		p.workers[0].c.Snapshot().Commit()
		return out, nil
	}
	b := p.problemOf(s, false)
	out.LowerBound = min(b.lowerBound(), out.Cost)
	out.Method = "linear program with dual feasible functions"
	if b.ordered {
		out.Method += "; topology spread and pod affinity are left out of it"
	}
	w := p.workers[0]
	w.c.Snapshot().Revert()
	w.applied, w.followed = len(base.changes), 0
	e := p.problemOf(s, p.apart)
	e.p = base
	f, err := e.exact(ctx, toJudge, out.LowerBound, out.Cost)
	if err != nil {
		return out, err
	}
	if f.proven {
		out.Exact, out.LowerBound = true, f.cost
		if f.assigned != nil || b.pods() <= exactPods {
			out.Method = "exact search, bounded by a linear program"
		}
	}
	out.Optimal = out.Exact && approx(out.Cost, out.LowerBound) <= 0
	if out.LowerBound > 0 {
		out.Gap = max(0, out.Cost/out.LowerBound-1)
	}
	return out, w.catchUp(p.changes)
}

// conclude writes the plan down.
func (p *planner) conclude(ctx context.Context, strategy Strategy, base *planner) (*Recommendation, error) {
	optimality, err := p.judge(ctx, base)
	if err != nil {
		return nil, err
	}
	r := &Recommendation{Strategy: strategy.Name(), Scoring: p.score.name, ScoringRule: p.score.rule, Fits: p.fits, Steps: p.steps, Optimality: optimality}
	slices.SortFunc(r.Fits, func(a, b Placement) int { return strings.Compare(a.Pod, b.Pod) })
	for _, g := range p.groups {
		if why := base.grow(g); why != "" {
			r.Skipped = append(r.Skipped, GroupReason{g.Name, why})
		}
		if up, ok := p.scaleUpOf(g); ok {
			r.ScaleUps = append(r.ScaleUps, up)
		}
	}
	if r.Unplaced, err = p.unplaced(ctx); err != nil {
		return nil, err
	}
	if p.req.Constraints.ScaleDown != nil {
		if r.ScaleDowns, r.Unremovable, err = p.consolidate(ctx); err != nil {
			return nil, err
		}
	}
	r.Notes = p.notes
	if p.req.Prices != nil {
		r.Cost, err = p.cost(r)
	}
	return r, err
}

func (p *planner) scaleUpOf(g *group) (ScaleUp, bool) {
	up := ScaleUp{NodeGroup: g.Name, Zone: g.zone, MachineType: g.machine, From: g.TargetSize, To: p.target[g.order], PricePerHour: p.priceOf(g)}
	for _, n := range p.nodes {
		if n.g != g {
			continue
		}
		slices.Sort(n.pods)
		up.Nodes = append(up.Nodes, NewNode{Name: n.name, Pods: n.pods, Reason: n.reason})
	}
	up.Count = len(up.Nodes)
	return up, up.Count > 0
}

func (p *planner) cost(r *Recommendation) (*Cost, error) {
	before, err := p.costNow()
	if err != nil {
		return nil, err
	}
	c := &Cost{Currency: p.req.Prices.Currency, Before: before, AfterScaleUp: before}
	for _, n := range p.nodes {
		c.AfterScaleUp += n.g.price
	}
	c.After = c.AfterScaleUp
	for _, d := range r.ScaleDowns {
		c.After -= *d.PricePerHour
	}
	return c, nil
}

// unplaced lists the pods that are left, with why no group helps: what the scheduler says of a fresh node, else what
// keeps the group from growing.
func (p *planner) unplaced(ctx context.Context) ([]UnplacedPod, error) {
	if !p.waits() {
		return nil, nil
	}
	reasons := make([][]string, len(p.groups)) // by group and class
	errs := make([]error, len(p.groups))
	names := make([]string, len(p.groups))
	for i, g := range p.groups {
		names[i] = p.nextName(g)
	}
	p.parallel(len(p.groups), func(w *worker, i int) {
		reasons[i], errs[i] = p.reasons(ctx, w, p.groups[i], names[i])
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	var out []UnplacedPod
	for n, cl := range p.q.classes {
		for _, pod := range p.q.rest(n) {
			u := UnplacedPod{Pod: podName(pod), Priority: cl.priority, Message: message(pod)}
			for i, g := range p.groups {
				u.Groups = append(u.Groups, GroupReason{g.Name, reasons[i][n]})
			}
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b UnplacedPod) int { return strings.Compare(a.Pod, b.Pod) })
	return out, ctx.Err()
}

// reasons says by class why a group does not help.
func (p *planner) reasons(ctx context.Context, w *worker, g *group, name string) ([]string, error) {
	out := make([]string, len(p.q.classes))
	why := p.grow(g)
	if g.node == nil {
		for i := range out {
			out[i] = why
		}
		return out, nil
	}
	if err := w.follow(ctx, p.changes, p.q); err != nil {
		return nil, err
	}
	s := w.c.Snapshot()
	s.Fork()
	defer s.Revert()
	if err := s.AddNode(g.fresh(name)); err != nil {
		return nil, err
	}
	for i := range p.q.classes {
		if len(p.q.rest(i)) == 0 {
			continue
		}
		out[i] = why
		if r := w.c.Check(ctx, p.q.rest(i)[0], s.Len()-1); r != nil {
			out[i] = r.String()
		}
	}
	return out, nil
}

// message is what the scheduler said of a pod.
func message(p *corev1.Pod) string {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}
