package replays

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report/metrics"
	"github.com/scalehist/scalehist/report/sweep"
)

type sweepFlags struct {
	grid    GridFlags
	format  string
	plot    string
	x, y    string
	metrics []string
	explain bool
}

func newSweepCommand(s console.IO) *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep FILE.db|--scenario NAME --set FLAG=VALUE,VALUE... --vary OBJECT:FIELD=VALUE,VALUE...",
		Short: "Replay a history with every combination of autoscaler settings, and show which are worth having",
		Long: `sweep replays a history once for each combination of the values given, on each engine, several at a time, and prints one
table: a row a replay, a column a metric. Rows with * are the front: no other row is as good in both metrics of the plot and better in
one. These are the cost (node hours without --prices) and the time pods waited, unless --x and --y say otherwise.

An engine is replayed with the settings it takes; a setting that no engine takes is refused. --vary tries values of a field of an object of
--objects, such as the target of a HorizontalPodAutoscaler. The result is the same whatever --jobs is.
When it is stopped (Ctrl-C) it prints what is done. A replay that fails is a row that says so, and the exit code is 2.`,
		Example: `  # Which expander, and how soon to scale down?
  scalehist sweep prod.db --set expander=least-waste,most-pods --set scale-down-unneeded-time=5m,10m,20m --prices prices.yaml --plot sweep.svg

  # A scenario of fixtures/, as a program reads it
  scalehist sweep --scenario full-day --set expander=least-waste,most-pods --set scale-down-unneeded-time=5m,10m,20m -o csv

  # The recommender's policies against the cluster autoscaler
  scalehist sweep prod.db --engine virtualca --engine recommender --set scoring=least-cost,least-waste --prices prices.yaml

  # Which target of a horizontal autoscaler?
  scalehist sweep prod.db --horizontal hpa --objects web.yaml --load load.yaml --vary 'HorizontalPodAutoscaler/web:spec.metrics[0].resource.target.averageUtilization=50,60,70'

  # Peak size against the wait of a pod, for a pull request
  scalehist sweep prod.db --set expander=least-waste,most-pods --x nodes.peak --y pending.p95 -o markdown`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.explain || f.grid.from.name != "" {
				return nil
			}
			return console.ExactArgs("FILE.db")(cmd, args)
		},
		ValidArgsFunction: console.CompleteHistory,
		RunE:              func(cmd *cobra.Command, args []string) error { return runSweep(cmd, s, f, args) },
	}
	cmd.ValidArgsFunction = console.CompleteHistory
	AddPageFlag(cmd, &f.format, PageText, PageMarkdown, PageJSON, pageCSV)
	f.grid.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.plot, "plot", "", "write the plot to this file (.svg)")
	flags.StringVar(&f.x, "x", "", "metric of the plot and the front (default: cost, or node-hours without prices)")
	flags.StringVar(&f.y, "y", "", "the other one (default: pending.pod-seconds)")
	flags.StringSliceVar(&f.metrics, "metric", nil, "columns of the table (default: "+strings.Join(sweep.DefaultMetrics, ",")+")")
	flags.BoolVar(&f.explain, "explain-metrics", false, "list all metrics with unit, definition, formula and source, and do nothing else")
	for _, name := range []string{"x", "y", "metric"} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(metrics.Names(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	if err := cmd.MarkFlagFilename("plot", "svg"); err != nil {
		panic(fmt.Sprintf("completion of --plot: %v", err)) // only an unknown flag fails
	}
	return cmd
}

func runSweep(cmd *cobra.Command, s console.IO, f *sweepFlags, args []string) error {
	if f.explain {
		err := s.Page(metrics.Explain())
		return err
	}
	if !slices.Contains([]string{PageText, PageMarkdown, PageJSON, pageCSV}, f.format) {
		return console.UsageErrorf(cmd, "--output %q: must be text, markdown, json or csv", f.format)
	}
	path, err := f.grid.from.history(cmd, args)
	if err != nil {
		return err
	}
	if f.plot != "" && !strings.EqualFold(filepath.Ext(f.plot), ".svg") {
		return console.UsageErrorf(cmd, "--plot %s: the plot is SVG, give the file that ending", f.plot)
	}
	o := sweep.Options{X: f.x, Y: f.y, Metrics: f.metrics}
	if err := sweep.CheckAxes(o); err != nil {
		return console.UsageErrorf(cmd, "--x, --y, --metric: %v", err)
	}
	points, err := f.grid.points(cmd)
	if err != nil {
		return err
	}
	if err := f.grid.checkShared(cmd, points); err != nil {
		return err
	}
	outcomes := make([]sweep.Outcome, len(points))
	for i, p := range points {
		outcomes[i].Point = p
	}
	measured := 0
	runErr := f.grid.run(cmd, s, path, points, func(i int, r *scalehist.ReplayReport, err error) {
		if err != nil {
			outcomes[i].Err = err
			return
		}
		outcomes[i] = sweep.Played(points[i], r)
		measured++
		o.Scenario = r.Scenario
	})
	if measured == 0 { // no table says anything
		return errors.Join(runErr, failures(outcomes))
	}
	result, err := sweep.Measure(outcomes, o)
	if err != nil {
		return errors.Join(runErr, err)
	}
	if err := errors.Join(f.print(s, result), f.writePlot(result), runErr); err != nil {
		return err
	}
	return failures(outcomes)
}

func (f *sweepFlags) print(s console.IO, r *sweep.Sweep) (err error) {
	switch f.format {
	case PageJSON:
		return s.PrintJSON(r)
	case PageMarkdown:
		err = s.Page(r.Markdown())
	case pageCSV:
		return r.CSV(s.Out)
	default:
		err = s.Page(r.TextWithin(s.Width()))
	}
	return err
}

func (f *sweepFlags) writePlot(r *sweep.Sweep) error {
	if f.plot == "" {
		return nil
	}
	svg, err := r.SVG()
	if err == nil {
		err = os.WriteFile(f.plot, svg, 0o644)
	}
	if err != nil {
		return fmt.Errorf("--plot %s: %w", f.plot, err)
	}
	return nil
}

// failures is an error when a replay failed; the table says which and why.
func failures(outcomes []sweep.Outcome) error {
	n := 0
	var first error
	for _, out := range outcomes {
		if out.Err != nil {
			n++
			if first == nil {
				first = fmt.Errorf("%s: %w", out.Point.Label(), out.Err)
			}
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%d of %s failed, the first: %w", n, plural.Of(len(outcomes), "replay"), first)
}
