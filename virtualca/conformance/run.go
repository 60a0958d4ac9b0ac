package conformance

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca"
	"github.com/scalehist/scalehist/virtualca/config"
)

const (
	defaultStep       = 10 * time.Second
	defaultIterations = 30
)

// defaultStart is the start of cases that name none. Any instant will do.
var defaultStart = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// Result is a run of a case.
type Result struct {
	Name     string
	Category string
	Got      Outcome
	// Judged: the case has outcomes; Agrees: Got is one of them.
	Judged bool
	Agrees bool
	// Decisions are the loops in order, Warnings what of the flags is not modelled.
	Decisions []scalehist.Decision
	Warnings  []string
	// Err is why the case was not run.
	Err error
}

// Run runs one case with seed 0. An error is about the case, not about disagreement.
func Run(ctx context.Context, c Case) (Result, error) { return RunSeed(ctx, c, 0) }

// RunSeed runs one case with a seed for what upstream leaves to chance.
func RunSeed(ctx context.Context, c Case, seed int64) (Result, error) {
	r := Result{Name: c.Name, Category: c.Category, Judged: len(c.Outcomes) > 0}
	in := c.Input
	w, ca, now, err := c.start(seed)
	if err != nil {
		return r, fmt.Errorf("case %s: %w", c.Name, err)
	}
	r.Warnings = w.warnings
	step := time.Duration(in.Step)
	if step == 0 {
		step = defaultStep
	}
	before := w.provider.Groups()
	loops := in.Iterations
	if loops == 0 {
		loops = defaultIterations
	}
	for range loops {
		w.advance(now)
		d, err := ca.RunOnce(ctx, now)
		if err != nil {
			return r, fmt.Errorf("case %s: %w", c.Name, err)
		}
		r.Decisions = append(r.Decisions, d)
		if in.ScaleDown() {
			between, err := w.work(ctx, ca, now.Add(step))
			if err != nil {
				return r, fmt.Errorf("case %s: %w", c.Name, err)
			}
			r.Decisions = append(r.Decisions, between...)
			if in.StopAtFirstScaleDown && len(d.Deleting) > 0 {
				break
			}
		} else if len(d.ScaleUps) == 0 {
			break
		}
		now = now.Add(step)
	}
	r.Got = outcome(before, w.provider.Groups(), r.Decisions)
	r.Agrees = slices.ContainsFunc(c.Outcomes, r.Got.equal)
	return r, nil
}

// advance lets the nodes join that were asked for.
func (w *world) advance(now time.Time) {
	for _, e := range w.provider.Advance(now) {
		switch e.Type {
		case cloudprovider.NodeJoined:
			w.objects.Nodes = append(slices.Clone(w.objects.Nodes), e.Node)
		case cloudprovider.NodeGone:
			w.objects.Nodes = slices.Clone(w.objects.Nodes)
			for i, n := range w.objects.Nodes {
				if n.Name == e.NodeName {
					w.objects.Nodes = slices.Delete(w.objects.Nodes, i, i+1)
					break
				}
			}
		}
	}
}

// start builds the world of a case and the autoscaler in it, with the instant of the first loop.
func (c Case) start(seed int64) (*world, *virtualca.Autoscaler, time.Time, error) {
	in := c.Input
	now := in.Start.UTC()
	if in.Start.IsZero() {
		now = defaultStart
	}
	w, err := newWorld(in, now)
	if err != nil {
		return nil, nil, now, err
	}
	settings, warnings, err := config.ParseSettings(scalehist.CASettings{Flags: in.Flags, Priorities: in.PriorityConfig})
	if err != nil {
		return nil, nil, now, err
	}
	w.warnings = warnings
	settings.Seed, settings.NodesAsListed = seed, true // the cases' nodes came from a list, not from a cache
	settings.FirstOfTies = in.TieBreak == "first"
	settings.Down.Enabled = in.ScaleDown()
	ca, err := virtualca.New(w, w.provider, settings)
	return w, ca, now, err
}

// work lets the autoscaler finish what it does between two loops: the node of a removal that began is gone before the
// next loop.
func (w *world) work(ctx context.Context, ca *virtualca.Autoscaler, until time.Time) ([]scalehist.Decision, error) {
	var out []scalehist.Decision
	for {
		at, ok := ca.NextWork()
		if !ok || at.After(until) {
			return out, nil
		}
		d, err := ca.Work(ctx, at)
		if err != nil {
			return out, err
		}
		out = append(out, d)
		w.advance(at)
	}
}

// outcome sums a run up: the nodes asked for, the nodes removed, and the target sizes at the end. What is left of a
// change of a target size after the removals was asked for.
func outcome(before, after []scalehist.NodeGroup, decisions []scalehist.Decision) Outcome {
	o := Outcome{Deltas: map[string]int{}, Removed: map[string]int{}, FinalSizes: map[string]int{}}
	for _, d := range decisions {
		for _, x := range d.Deleting {
			o.Removed[x.NodeGroup]++
		}
	}
	for i, g := range after {
		o.FinalSizes[g.Name] = g.TargetSize
		if d := g.TargetSize - before[i].TargetSize + o.Removed[g.Name]; d != 0 {
			o.Deltas[g.Name] = d
		}
	}
	return o
}

func (o Outcome) equal(p Outcome) bool {
	moved := func(m map[string]int) map[string]int {
		out := maps.Clone(m)
		maps.DeleteFunc(out, func(_ string, v int) bool { return v == 0 })
		return out
	}
	return maps.Equal(moved(o.Deltas), moved(p.Deltas)) && maps.Equal(moved(o.Removed), moved(p.Removed)) && maps.Equal(o.FinalSizes, p.FinalSizes)
}

// RunAll runs cases in parallel and returns their results in the order of the cases. A case that could not be run has
// Err set; only a done context ends everything.
func RunAll(ctx context.Context, cases []Case) ([]Result, error) {
	results := make([]Result, len(cases))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range cases {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := Run(ctx, c)
			r.Err = err
			results[i] = r
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("run conformance cases: %w", err)
	}
	return results, nil
}
