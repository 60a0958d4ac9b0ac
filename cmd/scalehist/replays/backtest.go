package replays

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist/backtest"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/durable"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/internal/spec"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/trial"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/report/sweep"
)

type backtestFlags struct {
	from, to                    console.TimeFlag
	learn, interval             time.Duration
	verticals, updaters, set    []string
	advice                      []string
	limits, mode, level, format string
	html                        string
	jobs                        int
	list                        bool
}

// The formats of -o.
var backtestFormats = []string{PageText, PageJSON, pageCSV}

// updateModes are those of a VPA under which pods are updated.
var updateModes = []string{string(vpav1.UpdateModeRecreate), string(vpav1.UpdateModeInPlaceOrRecreate), string(vpav1.UpdateModeInitial)}

func newBacktestCommand(s console.IO) *cobra.Command {
	f := &backtestFlags{}
	cmd := &cobra.Command{
		Use:   "backtest FILE.db --vertical NAME[:OPTION=VALUE,...]...",
		Short: "Ask what vertical recommenders would have done with recorded usage: slack, throttling, OOMs, evictions",
		Long: `backtest takes the usage that a history has for what containers want, gives their pods the requests that recommenders would have
recommended, and counts what comes of it: what is reserved and not used (slack), used and not reserved (overrun), throttled, killed for
memory, evicted. A row is a candidate: the requests as they were recorded, each --vertical, and each --advice, which is what another tool
recommends, taken as rolled out from the start. Rows with * are the front: no other is as good in slack and in time throttled
or down for memory.

With --set it tries each combination of values of a recommender's options; those of vpa are upstream's flags, its updater's too.
Upstream's updater leaves workloads with fewer than two pods alone (min-replicas).`,
		Example: `  # The VPA, and what was requested
  scalehist backtest prod.db --vertical vpa

  # Which margin and percentile are worth having?
  scalehist backtest prod.db --vertical vpa --set target-cpu-percentile=0.9,0.95,0.99 --set recommendation-margin-fraction=0.05,0.15,0.3 --limits requests

  # Is the advice of another tool good?
  scalehist backtest prod.db --advice krr=krr.json --vertical vpa --html backtest.html

  # What recommenders there are
  scalehist backtest --list`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return nil
			}
			return console.ExactArgs("FILE.db")(cmd, args)
		},
		ValidArgsFunction: console.CompleteHistory,
		RunE:              func(cmd *cobra.Command, args []string) error { return runBacktest(cmd, s, f, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.format, "output", "o", PageText, "how to print the result: "+strings.Join(backtestFormats, ", "))
	flags.StringArrayVar(&f.verticals, "vertical", nil, "recommender to try, with options: vpa:target-cpu-percentile=0.95; may be repeated")
	flags.StringArrayVar(&f.set, "set", nil, "option and values to try, for the recommenders that have it; may be repeated: margin=0.1,0.3")
	flags.StringArrayVar(&f.advice, "advice", nil, "file of recommendations to try, as FILE or NAME=FILE: JSON of krr, VerticalPodAutoscalers, or a CSV; may be repeated")
	flags.StringArrayVar(&f.updaters, "updater", []string{vertical.UpdaterUpstream}, "who decides which pods are updated: "+strings.Join(vertical.Updaters, ", ")+"; may be repeated")
	flags.StringVar(&f.mode, "update-mode", "", "update mode of all workloads: "+strings.Join(updateModes, ", ")+" (default: that of their VPA; Recreate where it is Off or there is none)")
	flags.StringVar(&f.limits, "limits", string(trial.LimitsRecorded), "limits of containers: recorded (in their proportion to requests), requests (the same as requests), none")
	flags.Var(&f.from, "from", "begin here (default: the start of the recording)")
	flags.Var(&f.to, "to", "end here (default: the end of the recording)")
	flags.DurationVar(&f.learn, "learn", 0, "time from the start in which recommenders learn and nothing counts")
	flags.DurationVar(&f.interval, "interval", time.Minute, "how often is recommended and updated (upstream: 1m)")
	flags.StringVar(&f.level, "level", string(backtest.LevelCluster), "rows of the table: cluster, workload or container")
	flags.StringVar(&f.html, "html", "", "write a page with curves to this file (.html)")
	flags.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "trials that run at once")
	flags.BoolVar(&f.list, "list", false, "list the recommenders with their options, and do nothing else")
	for name, values := range map[string][]string{"vertical": vertical.Names(), "updater": vertical.Updaters, "output": backtestFormats, "update-mode": updateModes,
		"limits": {"recorded", "requests", "none"}, "level": {"cluster", "workload", "container"}} {
		console.MustComplete(cmd, name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

func runBacktest(cmd *cobra.Command, s console.IO, f *backtestFlags, args []string) (err error) {
	if f.list {
		s.PrintTable(recommenders(), console.FormatTable)
		return nil
	}
	if err := f.check(cmd); err != nil {
		return err
	}
	candidates, err := f.candidates(cmd)
	if err != nil {
		return err
	}
	db, err := history.Open(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	first, last := db.Span()
	o := backtest.Options{Name: filepath.Base(args[0]), Learn: f.learn, Interval: f.interval, Limits: trial.Limits(f.limits), UpdateMode: vpav1.UpdateMode(f.mode), Jobs: f.jobs}
	if o.From, err = f.from.Resolve(first, last, first); err != nil {
		return fmt.Errorf("backtest: --from: %w", err)
	}
	if o.To, err = f.to.Resolve(first, last, last); err != nil {
		return fmt.Errorf("backtest: --to: %w", err)
	}
	if !o.To.After(o.From.Add(f.learn)) {
		return fmt.Errorf("backtest: nothing is left to judge from %s to %s after --learn %s", o.From.Format(time.RFC3339), o.To.Format(time.RFC3339), f.learn)
	}
	if steps := o.To.Sub(o.From) / f.interval; steps > 10_000_000 {
		return console.UsageErrorf(cmd, "backtest: the window has %d intervals of %s: want at most 10000000; choose a window with --from and --to", steps, f.interval)
	}
	if f.html != "" {
		o.Points = 400
	}
	workloads, notes, err := backtest.Read(cmd.Context(), db, o.From, o.To)
	if err != nil {
		return fmt.Errorf("backtest %s: %w", args[0], err)
	}
	progress := s.NewProgress("trying", int64(len(candidates)*len(workloads)))
	o.Progress = func(done, _ int) { progress.Set(int64(done), "") }
	r, err := backtest.Run(cmd.Context(), workloads, candidates, o)
	if err != nil {
		return fmt.Errorf("backtest %s: %w", args[0], err)
	}
	progress.Done()
	r.Notes = append(notes, r.Notes...)
	return errors.Join(f.print(s, r), WritePage("backtest", f.html, r))
}

func (f *backtestFlags) check(cmd *cobra.Command) error {
	switch {
	case !slices.Contains(backtestFormats, f.format):
		return console.UsageErrorf(cmd, "backtest: --output %q: must be %s", f.format, plural.Or(backtestFormats))
	case !slices.Contains(trial.AllLimits, trial.Limits(f.limits)):
		return console.UsageErrorf(cmd, "backtest: --limits %q: must be recorded, requests or none", f.limits)
	case !slices.Contains(backtest.Levels, backtest.Level(f.level)):
		return console.UsageErrorf(cmd, "backtest: --level %q: must be cluster, workload or container", f.level)
	case f.mode != "" && !slices.Contains(updateModes, f.mode):
		return console.UsageErrorf(cmd, "backtest: --update-mode %q: must be %s", f.mode, plural.Or(updateModes))
	case f.html != "" && !strings.EqualFold(filepath.Ext(f.html), ".html"):
		return console.UsageErrorf(cmd, "backtest: --html %s: give the page that ending", f.html)
	case f.interval < time.Second || f.learn < 0 || f.jobs < 1:
		return console.UsageErrorf(cmd, "backtest: --interval must be 1s or more, --learn not negative, --jobs 1 or more")
	}
	for _, u := range f.updaters {
		if !slices.Contains(vertical.Updaters, u) {
			return console.UsageErrorf(cmd, "backtest: --updater %q: must be %s", u, plural.Or(vertical.Updaters))
		}
	}
	return nil
}

// candidates are what was recorded, recommenders with each updater, and advice.
func (f *backtestFlags) candidates(cmd *cobra.Command) ([]backtest.Candidate, error) {
	params, err := sweep.ParseParameters(f.set)
	if err != nil {
		return nil, console.UsageErrorf(cmd, "backtest: --set %w", err)
	}
	var grid []backtest.Parameter
	used := map[string]bool{}
	for _, p := range params {
		grid = append(grid, backtest.Parameter(p))
	}
	all := []backtest.Candidate{backtest.Recorded}
	for _, text := range f.verticals {
		name, settings := spec.Parse(text)
		for _, updater := range f.updaters {
			more, err := backtest.Candidates(name, settings, updater, grid)
			if err != nil {
				return nil, console.UsageErrorf(cmd, "backtest: --vertical: %w", err)
			}
			all = append(all, more...)
		}
		for _, p := range params {
			used[p.Name] = used[p.Name] || vertical.Takes(name, p.Name)
		}
	}
	for _, p := range params {
		if !used[p.Name] {
			return nil, console.UsageErrorf(cmd, "backtest: --set %s: no recommender given with --vertical has that option", p.Name)
		}
	}
	for _, text := range f.advice {
		label, path, named := strings.Cut(text, "=")
		if !named {
			label, path = filepath.Base(text), text
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("backtest: --advice %s: %w", path, durable.WithoutPaths(err))
		}
		advice, err := backtest.ParseAdvice(data)
		if err != nil {
			return nil, fmt.Errorf("backtest: --advice %s: %w", path, err)
		}
		all = append(all, backtest.Candidate{Label: label, Advice: advice})
	}
	return all, nil
}

func (f *backtestFlags) print(s console.IO, r *backtest.Report) error {
	switch f.format {
	case PageJSON:
		return s.PrintJSON(r)
	case pageCSV:
		return r.CSV(s.Out)
	}
	return s.Page(r.Text(backtest.Level(f.level)))
}

func recommenders() console.Table {
	t := console.Table{Columns: []console.Column{{Name: "recommender"}, {Name: "option"}, {Name: "default"}, {Name: "is"}}}
	for _, k := range vertical.Kinds() {
		t.Rows = append(t.Rows, []string{k.Name, "", "", k.About})
		for _, o := range k.Options {
			t.Rows = append(t.Rows, []string{"", o.Name, o.Default, o.About})
		}
	}
	return t
}
