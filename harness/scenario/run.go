package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
)

// Env is what a scenario runs in.
type Env struct {
	Engines Engines
	// Plane is the option that chooses the control plane of a name, for a replay whose logs go to a directory.
	Plane func(name, logs string) (harness.Option, error)
	// DefaultPlane is that of scenarios that name none; Override, if set, that of all.
	DefaultPlane, Override string
	// Progress, if set, is told how far the replay is.
	Progress func(harness.Progress)
}

// PlaneOf is the control plane a scenario will run on.
func (e Env) PlaneOf(s *Scenario) string { return cmp.Or(e.Override, s.ControlPlane, e.DefaultPlane) }

// Replay plays a scenario, without judging it. logs is where processes log; empty: nowhere.
func (s *Scenario) Replay(ctx context.Context, e Env, logs string) (*scalehist.ReplayReport, error) {
	opts, err := s.options(ctx, e, logs)
	if err != nil {
		return nil, err
	}
	r, err := s.play(ctx, opts)
	if err != nil {
		return nil, err
	}
	r.Run.Rerun = s.Rerun()
	if s.Optimal {
		table, err := s.priceTable()
		if err == nil {
			err = e.Engines.JudgeScaleUps(ctx, r, table)
		}
		if err != nil {
			return nil, fmt.Errorf("optimal: %w", err)
		}
		if !s.FullSnapshots {
			r.Moments = nil // what was judged
		}
	}
	return r, nil
}

// Rerun is the command that runs just this scenario.
func (s *Scenario) Rerun() string {
	if s.rerun != "" {
		return s.rerun
	}
	return fmt.Sprintf("scalehist test %s --run %s", command(s.File), command("^"+regexp.QuoteMeta(s.Name)+"$"))
}

func (s *Scenario) play(ctx context.Context, opts []harness.Option) (*scalehist.ReplayReport, error) {
	path := s.Path(s.History)
	if s.perEvent() {
		return harness.ReplayEvents(ctx, path, opts...)
	}
	r, err := harness.NewReplayer(ctx, path, opts...)
	if err != nil {
		return nil, err
	}
	length := time.Duration(s.For)
	if length == 0 {
		length = r.RecordDuration()
	}
	if length, err = s.truthLength(r, length); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	out, err := r.Replay(ctx, length)
	if err = errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	return out, nil
}

// options turns a scenario into those of a replay.
func (s *Scenario) options(ctx context.Context, e Env, logs string) ([]harness.Option, error) {
	engine, err := e.Engines.Named(s.engine(e.Engines))
	if err != nil {
		return nil, err
	}
	plane, err := e.Plane(e.PlaneOf(s), logs)
	if err != nil {
		return nil, err
	}
	window, err := s.window(ctx)
	if err != nil {
		return nil, err
	}
	table, err := s.priceTable()
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	opts := []harness.Option{
		harness.WithName(s.Name), harness.WithAutoscaler(engine), harness.WithFlags(s.Flags...), plane, harness.WithWindow(window), harness.WithFaults(s.faults...),
	}
	given := func(ok bool, o func() harness.Option) {
		if ok {
			opts = append(opts, o())
		}
	}
	given(s.Scheduler != "", func() harness.Option { return harness.WithScoring(scoring(s.Scheduler)) })
	given(s.Ties != "", func() harness.Option { return harness.WithTies(harness.Ties(s.Ties)) })
	given(s.Seed != nil, func() harness.Option { return harness.WithSeed(*s.Seed) })
	given(s.RecordedFaults != nil, func() harness.Option { return harness.WithRecordedFaults(*s.RecordedFaults) })
	given(s.BatchInterval != nil, func() harness.Option { return harness.WithBatchInterval(time.Duration(*s.BatchInterval)) })
	given(s.ProvisionDelay != nil, func() harness.Option { return harness.WithDefaultProvisionDelay(time.Duration(*s.ProvisionDelay)) })
	given(s.DeletionDelay != nil, func() harness.Option { return harness.WithDeletionDelay(time.Duration(*s.DeletionDelay)) })
	given(s.GPULabel != "", func() harness.Option { return harness.WithGPULabel(s.GPULabel) })
	given(s.NoScaleDown, harness.WithoutScaleDown)
	given(s.Signs, harness.WithSigns)
	given(s.SkipUnsupported, harness.WithoutUnsupported)
	given(s.FullSnapshots, harness.WithFullSnapshots)
	given(s.Optimal, harness.WithMoments)
	given(table != nil, func() harness.Option { return harness.WithPrices(table) })
	given(e.Progress != nil, func() harness.Option { return harness.WithProgress(e.Progress) })
	for _, name := range slices.Sorted(maps.Keys(s.NodeGroups)) {
		g := s.NodeGroups[name]
		given(g.MinSize != nil, func() harness.Option { return harness.WithNodeGroupBounds(name, *g.MinSize, *g.MaxSize) })
		given(g.ProvisionDelay != nil, func() harness.Option {
			return harness.WithProvisionDelay(name, time.Duration(*g.ProvisionDelay))
		})
	}
	return opts, nil
}

// Verdict is what became of one expectation.
type Verdict struct {
	// What is the key it stands under, with its place in the file.
	What         string
	Line, Column int
	// Message says what differs; empty when it holds. Broken: it could not be judged, and Message says why.
	Message string
	Broken  bool
}

// Judging changes how a scenario is judged.
type Judging struct {
	// Update writes golden files instead of comparing with them.
	Update bool
}

// Judge holds a report against the expectations, in the order of the fields of Expect.
func (s *Scenario) Judge(r *scalehist.ReplayReport, j Judging) []Verdict {
	var out []Verdict
	for _, x := range s.expectations(j) {
		p := s.pos(x.path)
		v := Verdict{What: x.what(), Line: p.line, Column: p.column}
		ok, err := x.matcher.Match(r)
		switch {
		case err != nil:
			v.Message, v.Broken = err.Error(), true
		case ok == x.not:
			v.Message = x.failure()
		}
		out = append(out, v)
	}
	return out
}
