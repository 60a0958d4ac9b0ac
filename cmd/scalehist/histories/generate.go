package histories

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/curveplot"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/internal/spec"
	"github.com/scalehist/scalehist/load/generate"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

type generateFlags struct {
	to, plot, start               string
	cpu, memory, memoryShape      string
	request, limit                string
	length, step, lifetime        time.Duration
	seed                          int64
	workloads, replicas           int
	noise, rate                   float64
	withoutUsage, force, describe bool
}

func newGenerateCommand(s console.IO) *cobra.Command {
	var f generateFlags
	cmd := &cobra.Command{
		Use:   "generate SHAPE -o FILE",
		Short: "Make a history, or a CSV, of load by a formula",
		Long: `Make load by a formula: usage of containers that are there all the time, or, with --rate, pods that come and finish, with or
without usage. The same flags make the same load everywhere; another --seed makes another.

A shape is written with its options, such as sinusoidal:peaks=3; --shapes lists them. It runs between the least and the most of --cpu
and --memory. A history (.db) has a cluster around it that can be replayed, and 'scalehist backtest' reads the usage in it; a CSV has a row
a value.`,
		Example: `  # Two weeks of three services with days and nights
  scalehist generate diurnal --workloads 3 --for 336h --cpu 100m:1 --memory 200Mi:600Mi --request 500m,512Mi --limit 1,1Gi -o days.db

  # A leak, looked at
  scalehist generate constant --memory-shape leak:over=6h --for 24h -o leak.csv --plot leak.svg

  # Sixty jobs an hour at noon, none at night
  scalehist generate diurnal:low=0s --rate 60 --lifetime 15m --for 24h -o jobs.db`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.describe {
				return nil
			}
			return console.ExactArgs("SHAPE")(cmd, args)
		},
		ValidArgsFunction: cobra.FixedCompletions(generate.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.to, "output", "o", "", "the file to make: a history (.db) or values (.csv)")
	flags.StringVar(&f.plot, "plot", "", "draw the first pod's values into this file (.svg)")
	flags.BoolVar(&f.describe, "shapes", false, "list the shapes with their options, and do nothing else")
	flags.StringVar(&f.start, "start", "2026-01-05T00:00:00Z", "when the load begins")
	flags.DurationVar(&f.length, "for", 24*time.Hour, "how long it lasts")
	flags.DurationVar(&f.step, "step", time.Minute, "time between two values")
	flags.Int64Var(&f.seed, "seed", 42, "seed of what is random")
	flags.StringVar(&f.cpu, "cpu", "100m:500m", "least and most CPU of a container")
	flags.StringVar(&f.memory, "memory", "128Mi:512Mi", "least and most memory of a container")
	flags.StringVar(&f.memoryShape, "memory-shape", "", "shape of memory (default: that of CPU)")
	flags.StringVar(&f.request, "request", "250m,256Mi", "what containers request: CPU,MEMORY; 0 for none")
	flags.StringVar(&f.limit, "limit", "0,0", "what containers are limited to: CPU,MEMORY; 0 for none")
	flags.IntVar(&f.workloads, "workloads", 1, "number of workloads, each with values of its own")
	flags.IntVar(&f.replicas, "replicas", 2, "pods of each workload")
	flags.Float64Var(&f.noise, "noise", 0, "noise of each pod, as a standard deviation in proportion to the value")
	flags.Float64Var(&f.rate, "rate", 0, "pods per hour that come to each workload at the top of the shape, in place of replicas")
	flags.DurationVar(&f.lifetime, "lifetime", 10*time.Minute, "mean lifetime of pods that come, which is exponential")
	flags.BoolVar(&f.withoutUsage, "no-usage", false, "pods alone, without usage")
	flags.BoolVar(&f.force, "overwrite", false, "replace the output if it exists")
	return cmd
}

// load reads the flags.
func (f *generateFlags) load(cmd *cobra.Command, shape string) (*generate.Load, error) {
	_, command, _ := strings.Cut(cmd.CommandPath(), " ") // emulate serve has loads too
	wrong := func(flag string, err error) error {
		return console.UsageErrorf(cmd, "%s: --%s: %w", command, flag, err)
	}
	l := &generate.Load{Length: f.length, Step: f.step, Seed: uint64(f.seed), Workloads: f.workloads, Replicas: f.replicas, Noise: f.noise, Rate: f.rate,
		Lifetime: f.lifetime, Usage: !f.withoutUsage}
	var err error
	if l.CPUShape, err = generate.Parse(shape); err != nil {
		return nil, console.UsageErrorf(cmd, "%s: %w", command, err)
	}
	l.MemoryShape = l.CPUShape
	if f.memoryShape != "" {
		if l.MemoryShape, err = generate.Parse(f.memoryShape); err != nil {
			return nil, wrong("memory-shape", err)
		}
	}
	if l.From, err = time.Parse(time.RFC3339, f.start); err != nil {
		return nil, wrong("start", fmt.Errorf("%q is no instant such as 2026-01-05T00:00:00Z", f.start))
	}
	l.From = l.From.UTC()
	if l.CPU, err = amounts(f.cpu, true); err != nil {
		return nil, wrong("cpu", err)
	}
	if l.Memory, err = amounts(f.memory, false); err != nil {
		return nil, wrong("memory", err)
	}
	if l.Request, err = both(f.request); err != nil {
		return nil, wrong("request", err)
	}
	if l.Limit, err = both(f.limit); err != nil {
		return nil, wrong("limit", err)
	}
	for i, limit := range l.Limit {
		if limit > 0 && limit < l.Request[i] {
			return nil, wrong("limit", errors.New("is below the request"))
		}
	}
	if err := l.Check(); err != nil {
		return nil, console.UsageErrorf(cmd, "%s: %w", command, err)
	}
	return l, nil
}

// amounts reads "100m:500m"; one amount is both.
func amounts(text string, cpu bool) (generate.Range, error) {
	low, high, ranged := strings.Cut(text, ":")
	if !ranged {
		high = low
	}
	least, err := amount(low, cpu)
	if err != nil {
		return generate.Range{}, err
	}
	most, err := amount(high, cpu)
	return generate.Range{Least: least, Most: most}, err
}

// both reads "250m,256Mi".
func both(text string) (out [2]int64, err error) {
	cpu, memory, ok := strings.Cut(text, ",")
	if !ok {
		return out, fmt.Errorf("%q: write CPU,MEMORY such as 250m,256Mi", text)
	}
	if out[0], err = amount(cpu, true); err == nil {
		out[1], err = amount(memory, false)
	}
	return out, err
}

func amount(text string, cpu bool) (int64, error) {
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Sign() < 0 || q.AsApproximateFloat64() > 1e15 {
		return 0, fmt.Errorf("%q is no amount such as 250m or 256Mi", text)
	}
	if cpu {
		return q.MilliValue(), nil
	}
	return q.Value(), nil
}

func (f *generateFlags) run(cmd *cobra.Command, s console.IO, args []string) error {
	if f.describe {
		s.PrintTable(kindsTable("shape", generate.Kinds()), console.FormatTable)
		return nil
	}
	if f.to == "" {
		return console.UsageErrorf(cmd, "generate: no file to make: give -o FILE.db or -o FILE.csv")
	}
	ending := strings.ToLower(filepath.Ext(f.to))
	if ending != ".db" && ending != ".csv" {
		return console.UsageErrorf(cmd, "generate: -o %s: want a name that ends in .db or .csv", f.to)
	}
	if f.plot != "" && !strings.EqualFold(filepath.Ext(f.plot), ".svg") {
		return console.UsageErrorf(cmd, "generate: --plot %s: the plot is SVG, give the file that ending", f.plot)
	}
	l, err := f.load(cmd, args[0])
	if err != nil {
		return err
	}
	if ending == ".csv" {
		err = f.writeCSV(cmd, s, l)
	} else {
		err = f.writeHistory(cmd, s, l)
	}
	if err != nil || f.plot == "" {
		return err
	}
	pods := l.Pods()
	if len(pods) == 0 || !l.Usage {
		return errors.New("generate: --plot: there are no values to draw")
	}
	if err := os.WriteFile(f.plot, []byte(drawPod(l, &pods[0], args[0])), 0o644); err != nil {
		return fmt.Errorf("generate: --plot %s: %w", f.plot, err)
	}
	return nil
}

// kindsTable lists what can be chosen by name, with its options.
func kindsTable[T any](what string, kinds []spec.Kind[T]) console.Table {
	t := console.Table{Columns: []console.Column{{Name: what}, {Name: "option"}, {Name: "default"}, {Name: "is"}}}
	for _, k := range kinds {
		t.Rows = append(t.Rows, []string{k.Name, "", "", k.About})
		for _, o := range k.Options {
			t.Rows = append(t.Rows, []string{"", o.Name, o.Default, o.About})
		}
	}
	return t
}

// writeHistory imports the load as an object log.
func (f *generateFlags) writeHistory(cmd *cobra.Command, s console.IO, l *generate.Load) error {
	report, err := writeLines(cmd.Context(), s, l.Lines, f.to, transfer.ImportOptions{Name: "generated", Cluster: "generated", Force: f.force})
	if err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	s.Printf("%s: %s, %s to %s\n", f.to, plural.Of(report.Lines, "line"), stamp(report.From), stamp(report.To))
	return nil
}

// writeLines makes a history of lines that are made one by one.
func writeLines(ctx context.Context, s console.IO, lines func(func(objectlog.Line) error) error, to string, o transfer.ImportOptions) (transfer.ImportReport, error) {
	progress := s.NewProgress("writing lines", -1)
	o.Progress = func(lines int64) { progress.Set(lines, "") }
	report, err := transfer.ImportLines(ctx, to, o, lines)
	var exists *dbfile.ExistsError
	if errors.As(err, &exists) {
		return report, fmt.Errorf("%s exists already: choose another name, or replace it with --overwrite", exists.Path)
	}
	if err != nil {
		return report, err
	}
	progress.Set(report.Lines, "")
	progress.Done()
	return report, nil
}

// writeCSV writes a row a value; the file appears complete or not at all.
func (f *generateFlags) writeCSV(cmd *cobra.Command, s console.IO, l *generate.Load) error {
	if _, err := os.Lstat(f.to); err == nil && !f.force {
		return fmt.Errorf("generate: %s exists already: choose another name, or replace it with --overwrite", f.to)
	}
	rows := l.Rows()
	err := writeWhole(cmd.Context(), f.to, func(_ context.Context, to io.Writer) error {
		w := csv.NewWriter(to)
		_ = w.Write([]string{"timestamp", "namespace", "pod", "container", "cpu_millicores", "memory_bytes"}) // Error has all errors
		for _, r := range rows {
			_ = w.Write([]string{r.At.Format(time.RFC3339), r.Namespace, r.Pod, r.Container, strconv.FormatInt(r.CPUMilli, 10), strconv.FormatInt(r.MemoryBytes, 10)})
		}
		w.Flush()
		return w.Error()
	})
	if err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	s.Printf("%s: %s\n", f.to, plural.Of(len(rows), "row"))
	return nil
}

// drawPod draws the values of a pod.
func drawPod(l *generate.Load, p *generate.Pod, title string) string {
	line := func(values []int64, unit float64) []curveplot.Line {
		points := make([]curveplot.Point, 0, len(values))
		at := l.First(*p)
		for i, v := range values {
			points = append(points, curveplot.Point{At: at.Add(time.Duration(i) * l.Step), Value: float64(v) / unit})
		}
		return []curveplot.Line{{Name: "usage", Class: "usage", Points: points}}
	}
	c := curveplot.Chart{Title: title, From: l.From, To: l.From.Add(l.Length), Panels: []curveplot.Panel{
		{Title: "CPU, cores", Lines: line(p.CPU, 1000)}, {Title: "Memory", Bytes: true, Lines: line(p.Memory, 1)}}}
	return c.SVG(true)
}
