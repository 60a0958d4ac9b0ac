package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/artifacts"
	"github.com/scalehist/scalehist/harness/scenario"
	"github.com/scalehist/scalehist/internal/plaintext"
	reports "github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/ci"
)

// testTitle names a run in JUnit and summaries.
const testTitle = "scalehist test"

// testResult is the JSON of test.
type testResult struct {
	Passed    bool         `json:"passed"`
	Headline  string       `json:"headline"`
	Scenarios []ci.Outcome `json:"scenarios"`
}

// play runs scenarios, as many at once as --jobs says, and reports each in the order of the files as soon as it can.
func (f *testFlags) play(cmd *cobra.Command, s console.IO, all []*scenario.Scenario) error {
	ctx := cmd.Context()
	env := scenarioEnv(cmd, s, f.plane)
	done := make([]*ci.Outcome, len(all))
	progress := s.NewProgress("running", int64(len(all)))
	defer progress.Done()
	var (
		mu             sync.Mutex
		reported, runs int
		stop           atomic.Bool
	)
	finished := func(i int, o ci.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		done[i] = &o
		if o.Status != ci.NotRun {
			runs++
		}
		if f.failFast && (o.Status == ci.Failed || o.Status == ci.Broken) {
			stop.Store(true)
		}
		progress.Clear()
		for ; reported < len(done) && done[reported] != nil; reported++ {
			if f.format == replays.PageText {
				_, _ = io.WriteString(s.Commands(s.Out), scenarioText(s, *done[reported])) // standard output keeps its error
			}
		}
		progress.Set(int64(runs), "ran "+o.Name)
	}
	group := errgroup.Group{}
	group.SetLimit(f.jobCount(env, all))
	for i, one := range all {
		group.Go(func() error {
			o := ci.Outcome{Name: one.Name, Status: ci.NotRun, File: one.File, Line: one.Line, Rerun: one.Rerun()}
			if ctx.Err() == nil && !stop.Load() {
				f.one(ctx, env, one, &o)
			}
			finished(i, o)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	run := ci.Run{Title: testTitle}
	for _, o := range done {
		run.Outcomes = append(run.Outcomes, *o)
	}
	if err := errors.Join(f.print(s, run), f.publish(s, run), ctx.Err()); err != nil {
		return err
	}
	switch {
	case run.Count(ci.Broken) > 0:
		return &console.ExitError{Code: console.ExitFailed}
	case run.Count(ci.Passed) != len(all):
		return console.Differed()
	}
	return nil
}

// jobCount is how many scenarios run at once.
func (f *testFlags) jobCount(env scenario.Env, all []*scenario.Scenario) int {
	grid := replays.GridFlags{Jobs: f.jobs, Replay: replays.ReplayFlags{Plane: harness.Memory}}
	if slices.ContainsFunc(all, func(one *scenario.Scenario) bool { return env.PlaneOf(one) == harness.EnvTest }) {
		grid.Replay.Plane = harness.EnvTest
	}
	return min(grid.JobCount(), max(1, runtime.GOMAXPROCS(0)*4))
}

// one replays and judges a scenario.
func (f *testFlags) one(ctx context.Context, env scenario.Env, one *scenario.Scenario, o *ci.Outcome) {
	start := time.Now()
	defer func() { o.Seconds = time.Since(start).Seconds() }()
	dir := filepath.Join(f.artifacts, one.Slug())
	fail := func(err error) {
		if ctx.Err() != nil {
			return // stopped in the middle of it: as if not run
		}
		line, column := one.Where(err)
		o.Status = ci.Broken
		o.Problems = append(o.Problems, ci.Problem{File: one.File, Line: line, Column: column, Message: err.Error()})
	}
	r, err := one.Replay(ctx, env, filepath.Join(dir, artifacts.Logs))
	if err != nil {
		fail(err)
		return
	}
	r.Run.Artifacts, o.Artifacts, o.Summary = dir, dir, reports.SizesLine(r)
	// Saved before anything is judged.
	if err := artifacts.Save(ctx, dir, one.Path(one.History), r); err != nil {
		fail(err)
		return
	}
	o.Status = ci.Passed
	for _, v := range one.Judge(r, scenario.Judging{Update: f.update}) {
		if v.Message == "" {
			continue
		}
		o.Problems = append(o.Problems, ci.Problem{Title: v.What, File: one.File, Line: v.Line, Column: v.Column, Message: v.Message})
		switch {
		case v.Broken:
			o.Status = ci.Broken
		case o.Status == ci.Passed:
			o.Status = ci.Failed
		}
	}
}

// scenarioText is a scenario as the terminal shows it: a line, and below it what is not as expected.
func scenarioText(s console.IO, o ci.Outcome) string {
	var b strings.Builder
	b.WriteString(plaintext.Sprintf("%-7s %6.2fs  %s  %s\n", o.Status, o.Seconds, o.Name, o.Summary))
	head := strings.TrimRight(b.String(), " \n") + "\n"
	b.Reset()
	for _, p := range o.Problems {
		fmt.Fprintf(&b, "  %s\n%s\n", plaintext.Escape(strings.TrimSuffix(p.At()+": "+p.Title, ": ")), reports.Indent(plaintext.Lines(p.Message), "    "))
	}
	if b.Len() > 0 && ci.InGitHub(s.Env) {
		return ci.Inert(head) + ci.Group(o.Name, b.String())
	}
	return head + b.String()
}

func (f *testFlags) print(s console.IO, run ci.Run) error {
	switch f.format {
	case replays.PageJSON:
		return s.PrintJSON(testResult{run.Count(ci.Passed) == len(run.Outcomes), run.Headline(), run.Outcomes})
	case replays.PageMarkdown:
		return s.Page(run.Markdown())
	}
	return s.Page(run.Headline() + "\n")
}

// publish reports to the CI, if there is one, and writes the files that are asked for. Annotations do not mix with JSON.
func (f *testFlags) publish(s console.IO, run ci.Run) error {
	if ci.InGitHub(s.Env) {
		to := s.Err
		if f.format == replays.PageText {
			to = s.Out
		}
		if _, err := io.WriteString(s.Commands(to), run.GitHub(s.Env)); err != nil {
			return err
		}
	}
	if f.junit != "" {
		b, err := run.JUnit()
		if err == nil {
			err = os.MkdirAll(filepath.Dir(f.junit), 0o755)
		}
		if err == nil {
			err = os.WriteFile(f.junit, b, 0o644)
		}
		if err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	return ci.Summarize(s.Env, run.Markdown())
}
