package recommender

import (
	"context"
	"fmt"
	"strings"
)

// The strategies.
const (
	Greedy  = "greedy"
	Optimal = "optimal"
)

// Strategy makes a plan: it adds nodes for the pods that have no place. It is a value without state.
type Strategy interface {
	Name() string
	// scaleUp grows the plan until no group helps any more.
	scaleUp(ctx context.Context, p *planner) error
}

// strategies is the registry, the default first.
var strategies = []Strategy{greedy{}, optimal{}}

// Strategies lists the names of the strategies, the default first.
func Strategies() []string {
	out := make([]string, 0, len(strategies))
	for _, s := range strategies {
		out = append(out, s.Name())
	}
	return out
}

// strategyOf finds a strategy; "" is the default.
func strategyOf(name string) (Strategy, error) {
	for i, s := range strategies {
		if s.Name() == name || i == 0 && name == "" {
			return s, nil
		}
	}
	return nil, fmt.Errorf("unknown strategy %q: choose one of %s", name, strings.Join(Strategies(), ", "))
}

// greedy adds one node at a time: that of the group which scores best with the pods it would take. It looks no further
// than one node, so two small nodes may come where a large one would have been cheaper, and the other way round.
type greedy struct{}

func (greedy) Name() string { return Greedy }

func (greedy) scaleUp(ctx context.Context, p *planner) error {
	for {
		if !p.waits() {
			return nil
		}
		helpful, rejected, err := p.tryAll(ctx)
		if err != nil || len(helpful) == 0 {
			return err
		}
		p.score.rank(helpful)
		best := helpful[0]
		var second *outcome
		if len(helpful) > 1 {
			second = helpful[1]
		}
		step := Step{NodeGroup: best.g.Name, Node: p.nextName(best.g), Reason: p.score.why(best, second), Rejected: rejected}
		for _, o := range helpful {
			step.Candidates = append(step.Candidates, p.candidate(o))
		}
		p.steps = append(p.steps, step)
		if err := p.addNode(ctx, best.g, best.counts, ""); err != nil {
			return err
		}
	}
}

func (p *planner) candidate(o *outcome) Candidate {
	return Candidate{NodeGroup: o.g.Name, Zone: o.g.zone, MachineType: o.g.machine, Pods: o.pods, Priority: o.top,
		Score: o.score, PricePerHour: p.priceOf(o.g), Requests: p.table.report(o.taken)}
}

// waits says whether any pod has no place.
func (p *planner) waits() bool {
	for i := range p.q.classes {
		if len(p.q.rest(i)) > 0 {
			return true
		}
	}
	return false
}

// raise brings groups below their min size to it; the new nodes take pods like any other.
func (p *planner) raise(ctx context.Context) error {
	if p.req.Constraints.IgnoreMinSize {
		return nil
	}
	for _, g := range p.groups {
		for p.target[g.order] < g.MinSize {
			if why := p.grow(g); why != "" {
				p.notes = append(p.notes, fmt.Sprintf("%s stays below its min size %d at %d: %s", g.Name, g.MinSize, p.target[g.order], why))
				break
			}
			if err := p.fillNew(ctx, g, fmt.Sprintf("the group is below its min size %d", g.MinSize)); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillNew adds a node of a group with the pods it would take, whether or not there are any.
func (p *planner) fillNew(ctx context.Context, g *group, reason string) error {
	if err := p.workers[0].catchUp(p.changes); err != nil {
		return err
	}
	o, err := p.workers[0].tryNode(ctx, g, p.nextName(g), p.q, p.table)
	if err != nil {
		return err
	}
	return p.addNode(ctx, g, o.counts, reason)
}
