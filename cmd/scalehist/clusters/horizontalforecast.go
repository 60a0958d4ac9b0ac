package clusters

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/backtest/foresight"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/forecast"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/promserve"
)

// maxForecastValues bounds all series together.
const maxForecastValues = 5_000_000

// forecastFlags are the flags of `scalehist horizontal forecast`.
type forecastFlags struct {
	from, to                  console.TimeFlag
	metrics, queries, methods []string
	workload, load            string
	season, lead, step, learn time.Duration
	html, format              string
}

// forecastFormats are those of -o.
var forecastFormats = []string{replays.PageText, replays.PageJSON, "csv"}

func newHorizontalForecastCommand(s console.IO) *cobra.Command {
	f := &forecastFlags{}
	var about []string
	for _, m := range forecast.Methods() {
		about = append(about, fmt.Sprintf("  %-15s %s", m.Name, m.About))
	}
	cmd := &cobra.Command{
		Use:   "forecast [FILE.db]",
		Short: "Ask whether forecasts would have predicted a load, and how far off they would have been",
		Long: `forecast compares what forecasts predict with what came, and scales nothing. At each --step a forecast has seen the values up to then; it
predicts the most within --lead, and is judged by the most that came. Forecasts:

` + strings.Join(about, "\n") + `

The first one is what others have to beat. All are judged at the same moments: those at which each has something to say (most need a season to
have passed), after --learn.

What is forecast: the usage of workloads that a history has (--metric cpu or memory), the series of a load file (--load), and metrics that were
recorded (record --series, --queries) by a --query, as 'scalehist prometheus serve' answers it. The offsets of a load file count from the start of
the history, where one is given.

A forecast that is good enough can scale: an autoscaler of a replay asks for forecast:METRIC:SEASON:LEAD:METHOD (docs/horizontal.md).
CSV has what was predicted at each step.

Exit codes: 0 the forecasts are judged; 2 error.`,
		Example: `  # Would the CPU usage of this recording have been predicted ten minutes ahead from the days before?
  scalehist horizontal forecast prod.db

  # Weeks instead of days, for the requests of a recorded Prometheus, with a page to look at
  scalehist horizontal forecast prod.db --query 'sum(rate(http_requests_total[5m]))' --season 168h --lead 30m --html forecast.html

  # A load file, without a recording
  scalehist horizontal forecast --load load.yaml --metric requests --method seasonal,holt-winters -o csv`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.load != "" && len(args) == 0 {
				return nil
			}
			return console.ExactArgs("FILE.db")(cmd, args)
		},
		ValidArgsFunction: console.CompleteHistory,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.metrics, "metric", nil, "cpu or memory, the recorded usage, or a metric that --load has (default: cpu; all that --load has)")
	flags.StringArrayVar(&f.queries, "query", nil, "PromQL over what was recorded of a Prometheus; may be repeated")
	flags.StringVar(&f.workload, "workload", "", "forecast the metrics of one workload: KIND/NAMESPACE/NAME")
	flags.StringVar(&f.load, "load", "", "file (YAML) with the work that workloads do over time")
	flags.StringSliceVar(&f.methods, "method", forecast.Names(), "forecasts to compare with the last value: "+strings.Join(forecast.Names(), ", "))
	flags.DurationVar(&f.season, "season", 24*time.Hour, "how long it takes until the load repeats")
	flags.DurationVar(&f.lead, "lead", 10*time.Minute, "how far to look ahead: as long as new replicas and nodes take")
	flags.DurationVar(&f.step, "step", time.Minute, "time between two values")
	flags.DurationVar(&f.learn, "learn", 0, "time from the start in which forecasts learn and nothing counts")
	flags.Var(&f.from, "from", "begin here (default: the start of the recording)")
	flags.Var(&f.to, "to", "end here (default: the end of the recording)")
	flags.StringVar(&f.html, "html", "", "write a page with curves to this file (.html)")
	replays.AddPageFlag(cmd, &f.format, forecastFormats...)
	for name, values := range map[string][]string{"method": forecast.Names(), "metric": {load.CPU, load.Memory}} {
		console.MustComplete(cmd, name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

func (f *forecastFlags) check(cmd *cobra.Command) error {
	if !slices.Contains(forecastFormats, f.format) {
		return console.UsageErrorf(cmd, "horizontal forecast: --output %q: must be %s", f.format, plural.Or(forecastFormats))
	}
	if f.html != "" && !strings.EqualFold(filepath.Ext(f.html), ".html") {
		return console.UsageErrorf(cmd, "horizontal forecast: --html %s: give the page that ending", f.html)
	}
	if f.step < time.Second || f.learn < 0 {
		return console.UsageErrorf(cmd, "horizontal forecast: --step must be 1s or more, --learn not negative")
	}
	for _, m := range f.methods {
		if _, err := forecast.New(forecast.Spec{Method: m, Season: f.season, Lead: f.lead}, f.step); err != nil {
			return console.UsageErrorf(cmd, "horizontal forecast: %w", err)
		}
	}
	return nil
}

func (f *forecastFlags) run(cmd *cobra.Command, s console.IO, args []string) (err error) {
	if err := f.check(cmd); err != nil {
		return err
	}
	var db *history.DB
	o := foresight.Options{Name: f.load, Step: f.step, Season: f.season, Lead: f.lead, Learn: f.learn, Methods: f.methods}
	where := "horizontal forecast " + f.load
	start, end := workload.Epoch.Truncate(24*time.Hour), time.Time{} // a midnight
	if len(args) > 0 {
		if db, err = history.Open(cmd.Context(), args[0]); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		start, end = db.Span()
		where, o.Name = "horizontal forecast "+args[0], filepath.Base(args[0])
	}
	given, last, err := f.given(start)
	if err != nil {
		return err
	}
	if db == nil {
		end = last
	}
	o.From, err = f.from.Resolve(start, end, start)
	if err != nil {
		return fmt.Errorf("%s: --from: %w", where, err)
	}
	to, err := f.to.Resolve(start, end, end)
	if err != nil {
		return fmt.Errorf("%s: --to: %w", where, err)
	}
	switch n := to.Sub(o.From) / f.step; {
	case n < 1:
		return console.UsageErrorf(cmd, "%s: %s to %s is no window of at least one --step", where, o.From.Format(time.RFC3339), to.Format(time.RFC3339))
	case n >= maxForecastValues:
		return console.UsageErrorf(cmd, "%s: the window has %d steps of %s: want at most %d; choose a window with --from and --to, or a longer --step", where, n, f.step, maxForecastValues)
	}
	all, notes, err := f.series(cmd.Context(), db, given, o.From, to)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if steps := int(to.Sub(o.From) / f.step); len(all) > maxForecastValues/steps {
		return console.UsageErrorf(cmd, "%s: %s with %d steps each: want at most %d in all; choose with --workload, --from and --to, or a longer --step", where, plural.Of(len(all), "series"), steps, maxForecastValues)
	}
	progress := s.NewProgress("forecasting", int64(len(all)))
	o.Curves = f.html != "" || f.format == "csv"
	o.Progress = func(done int) { progress.Set(int64(done), "") }
	r, err := foresight.Run(cmd.Context(), all, o)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	progress.Done()
	r.Notes = append(notes, r.Notes...)
	return errors.Join(f.print(s, r), replays.WritePage("horizontal forecast", f.html, r))
}

// given are the series of the load file that are asked for, and the instant of the last of their points.
func (f *forecastFlags) given(start time.Time) (out []load.Series, last time.Time, err error) {
	if f.load == "" {
		return nil, last, nil
	}
	data, err := os.ReadFile(f.load)
	if err != nil {
		return nil, last, fmt.Errorf("load: %w", err)
	}
	source, err := load.Parse(data)
	if err != nil {
		return nil, last, fmt.Errorf("load: %s: %w", f.load, err)
	}
	all, err := source(start)
	if err != nil {
		return nil, last, fmt.Errorf("load: %s: %w", f.load, err)
	}
	for _, s := range all {
		if f.asked(&s) {
			out = append(out, s)
			if at := s.Points[len(s.Points)-1].At; at.After(last) {
				last = at
			}
		}
	}
	if len(out) == 0 {
		return nil, last, fmt.Errorf("load: %s: there is no series of --metric %s, --workload %q in it", f.load, strings.Join(f.metrics, ","), f.workload)
	}
	return out, last, nil
}

// asked says whether a series is one of those that the flags name. How far a container has aged is nothing that a day repeats.
func (f *forecastFlags) asked(s *load.Series) bool {
	return s.Sharing != load.Aged && (len(f.metrics) == 0 || slices.Contains(f.metrics, s.Metric)) && (f.workload == "" || s.Workload.String() == f.workload)
}

// series are what is forecast, at each step of the window, with what must be known to read the numbers.
func (f *forecastFlags) series(ctx context.Context, db *history.DB, given []load.Series, from, to time.Time) (out []foresight.Series, notes []string, err error) {
	if f.load == "" && (len(f.metrics) > 0 || len(f.queries) == 0) {
		if len(f.metrics) == 0 {
			f.metrics = []string{load.CPU}
		}
		used, warnings, err := trace.Of(db).Load(ctx, trace.Window{From: from, To: to})
		if err != nil {
			return nil, nil, err
		}
		notes = warnings
		for _, s := range used {
			if f.asked(&s) {
				given = append(given, s)
			}
		}
		if len(given) == 0 {
			return nil, nil, fmt.Errorf("there is no usage of --metric %s, --workload %q in this window: record it with the metrics API, or give a --query of recorded metrics or a --load file", strings.Join(f.metrics, ","), f.workload)
		}
	}
	for _, s := range given {
		one := foresight.Series{Name: s.Workload.String() + " " + s.Metric, Bytes: s.Metric == load.Memory}
		if s.Container != "" {
			one.Name += " of container " + s.Container
		}
		for at := from; !at.After(to); at = at.Add(f.step) {
			v, known := s.At(at)
			if !known {
				v = math.NaN()
			}
			one.Values = append(one.Values, v)
		}
		out = append(out, one)
	}
	if len(f.queries) == 0 {
		return out, notes, nil
	}
	recorded, err := f.recorded(ctx, db, from, to)
	return append(out, recorded...), notes, err
}

// recorded are the values of queries.
func (f *forecastFlags) recorded(ctx context.Context, db *history.DB, from, to time.Time) ([]foresight.Series, error) {
	if db == nil {
		return nil, errors.New("--query needs the history that the metrics were recorded in: give FILE.db")
	}
	server, err := promserve.New(ctx, db, promserve.Clock{Now: func() time.Time { return to }})
	if err != nil {
		return nil, err
	}
	var out []foresight.Series
	for _, query := range f.queries {
		matrix, err := server.Range(ctx, query, from, to, f.step)
		if err != nil {
			return nil, fmt.Errorf("--query %s: %w", query, err)
		}
		if len(matrix) == 0 {
			return nil, fmt.Errorf("--query %s: no series in this window", query)
		}
		for _, s := range matrix {
			one := foresight.Series{Name: query, Values: slices.Repeat([]float64{math.NaN()}, int(to.Sub(from)/f.step)+1)}
			if l := labels.NewBuilder(s.Metric).Del(model.MetricNameLabel).Labels(); l.Len() > 0 {
				one.Name += " " + l.String()
			}
			for _, p := range s.Floats {
				if !math.IsInf(p.F, 0) {
					one.Values[(time.UnixMilli(p.T).Sub(from)+f.step/2)/f.step] = p.F // from may be between two milliseconds
				}
			}
			out = append(out, one)
		}
	}
	return out, nil
}

func (f *forecastFlags) print(s console.IO, r *foresight.Report) error {
	switch f.format {
	case replays.PageJSON:
		return s.PrintJSON(r)
	case "csv":
		return r.CSV(s.Out)
	}
	return s.Page(r.Text())
}
