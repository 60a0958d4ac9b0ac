package scenario

import (
	"cmp"
	"context"
	"fmt"
	"regexp"

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
	// Progress, if set, is called with how far the replay is.
	Progress func(harness.Progress)
}

// PlaneOf is the control plane a scenario will run on.
func (e Env) PlaneOf(s *Scenario) string { return cmp.Or(e.Override, s.ControlPlane, e.DefaultPlane) }

// Replay plays a scenario, without judging it. logs is where processes log; empty: nowhere.
func (s *Scenario) Replay(ctx context.Context, e Env, logs string) (*scalehist.ReplayReport, error) {
	opts, err := s.options(e, logs)
	if err != nil {
		return nil, err
	}
	r, err := harness.Play(ctx, s.Path(s.History), s.truthLength, opts...)
	if err != nil {
		return nil, err
	}
	r.Run.Rerun = s.Rerun()
	if s.Optimal {
		table, err := s.PriceTable(s.Path)
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

// options turns a scenario into those of a replay.
func (s *Scenario) options(e Env, logs string) ([]harness.Option, error) {
	engine, err := e.Engines.Engine(s.engine(e.Engines))
	if err != nil {
		return nil, err
	}
	name := e.PlaneOf(s)
	if e.Engines.RealTime(s.engine(e.Engines)) {
		name = harness.EnvTest
	}
	plane, err := e.Plane(name, logs)
	if err != nil {
		return nil, err
	}
	settings := s.Settings
	if settings.Faults, err = s.AllFaults(s.Path); err != nil {
		return nil, fmt.Errorf("faultFile: %w", err)
	}
	settings.FaultFile = ""
	table, err := s.PriceTable(s.Path)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	controls, err := e.Engines.Controls(&settings, s.Path)
	if err != nil {
		return nil, err
	}
	opts := append([]harness.Option{harness.WithSettings(settings), engine, plane, harness.WithFiles(logs), harness.WithPrices(table)}, controls...)
	if e.Progress != nil {
		opts = append(opts, harness.WithProgress(e.Progress))
	}
	return opts, nil
}

// Verdict is what became of one expectation.
type Verdict struct {
	// What is the key it is under, with its place in the file.
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
