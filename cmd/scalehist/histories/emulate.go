package histories

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/load/emulate"
	"github.com/scalehist/scalehist/load/generate"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

func newEmulateCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "emulate",
		Short: "Play usage on real processes, and measure it",
		Long: `Play curves of usage on real processes: 'emulate serve' says each period how much every worker is to use, 'emulate worker' holds the memory and
burns the CPU, and what they measured becomes a history (docs/emulate.md).`,
		Example: `  scalehist emulate serve sinusoidal --steps 20 --period 2s -o measured.db &
  scalehist emulate worker --name web-0`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newEmulateServeCommand(s), newEmulateWorkerCommand(s))
	return cmd
}

type emulateServeFlags struct {
	listen, address       string
	to, plot, usage       string
	cpu, memory, memShape string
	steps, replicas       int
	seed                  int64
	step, period          time.Duration
	forever, force        bool
}

func newEmulateServeCommand(s console.IO) *cobra.Command {
	var f emulateServeFlags
	cmd := &cobra.Command{
		Use:   "serve SHAPE",
		Short: "Say each period how much every worker is to use, and keep what they measured",
		Long: `Wait for a worker, and play a load once, or with --forever until Ctrl-C or SIGTERM: a value each --period. The load is a SHAPE as of 'scalehist
generate', of --steps values that are --step apart in it, or with --usage-of the usage of a history, of which each pod is a curve. A worker with the name
of a pod gets its curve, others get curves in turn. At the end every worker is asked for nothing.

What workers measured is a history (-o) with pods of their names, and a plot beside what they were asked for (--plot). A table says how far apart they
are: the mean difference, in proportion to the mean that was asked for.

Anybody who reaches it may register, and is asked at the address it comes from: it listens on this machine alone unless --listen says otherwise.

Exit codes: 0 played, or stopped; 2 error.`,
		Example: `  # A sine of a minute for two workers on this machine
  scalehist emulate serve sinusoidal:peaks=4 --steps 30 --period 2s --cpu 100m:800m --memory 100Mi:300Mi --replicas 2 -o measured.db --plot measured.svg

  # What a recorded day used, five minutes of it each second
  scalehist emulate serve --usage-of prod.db --step 5m --period 1s -o played.db`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.usage != "" {
				return cobra.NoArgs(cmd, args)
			}
			return console.ExactArgs("SHAPE")(cmd, args)
		},
		ValidArgsFunction: cobra.FixedCompletions(generate.Names(), cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8099", "address to listen on for workers")
	flags.StringVar(&f.address, "address", "http://{host}", "where workers are asked that register without a port, as those of smart-kube do")
	flags.StringVarP(&f.to, "output", "o", "", "history (.db) to make of what workers measured")
	flags.StringVar(&f.plot, "plot", "", "draw what was asked for and what was measured into this file (.svg)")
	flags.StringVar(&f.usage, "usage-of", "", "history whose usage is played, in place of a SHAPE")
	flags.StringVar(&f.cpu, "cpu", "100m:500m", "least and most CPU of a worker")
	flags.StringVar(&f.memory, "memory", "128Mi:512Mi", "least and most memory of a worker")
	flags.StringVar(&f.memShape, "memory-shape", "", "shape of memory (default: that of CPU)")
	flags.IntVar(&f.steps, "steps", 60, "number of values of a SHAPE")
	flags.DurationVar(&f.step, "step", time.Minute, "time between two values of the load")
	flags.DurationVar(&f.period, "period", time.Minute, "how long each value is played")
	flags.IntVar(&f.replicas, "replicas", 1, "number of curves of a SHAPE, which differ by noise of 5 %")
	flags.Int64Var(&f.seed, "seed", 42, "seed of what is random")
	flags.BoolVar(&f.forever, "forever", false, "begin again after the last value")
	flags.BoolVar(&f.force, "overwrite", false, "replace the outputs if they exist")
	return cmd
}

func (f *emulateServeFlags) run(cmd *cobra.Command, s console.IO, args []string) error {
	if f.to != "" && !strings.EqualFold(filepath.Ext(f.to), ".db") {
		return console.UsageErrorf(cmd, "emulate serve: -o %s: want a name that ends in .db", f.to)
	}
	if f.plot != "" && !strings.EqualFold(filepath.Ext(f.plot), ".svg") {
		return console.UsageErrorf(cmd, "emulate serve: --plot %s: the plot is SVG, give the file that ending", f.plot)
	}
	if f.period <= 0 || f.step <= 0 {
		return console.UsageErrorf(cmd, "emulate serve: --period %s, --step %s: must be more than 0", f.period, f.step)
	}
	for _, file := range []string{f.to, f.plot} {
		if _, err := os.Lstat(file); file != "" && err == nil && !f.force {
			return fmt.Errorf("emulate serve: %s exists already: choose another name, or replace it with --overwrite", file)
		}
	}
	curves, err := f.curves(cmd, args)
	if err != nil {
		return err
	}
	run := &emulated{period: f.period}
	periods := len(curves[0].Values)
	total := int64(periods)
	if f.forever {
		periods, total = 0, -1
	}
	progress := s.NewProgress("playing", total)
	server, err := emulate.New(emulate.Options{Curves: curves, Period: f.period, Periods: periods, Address: f.address, Report: func(sample emulate.Sample) {
		if sample.Err != nil {
			s.Errf("%s: %s\n", sample.Host, sample.Err.Error())
		}
		run.add(sample)
		progress.Set(int64(run.periods), "")
	}})
	if err != nil {
		return console.UsageErrorf(cmd, "%w", err)
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("emulate serve: %w: choose another --listen", err)
	}
	web := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	s.Errf("waiting for workers at http://%s; Ctrl-C stops\n", listener.Addr())
	err = server.Run(cmd.Context())
	_ = web.Close()
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	progress.Done()
	if err != nil {
		return fmt.Errorf("emulate serve: %w", err)
	}
	return f.finish(context.WithoutCancel(cmd.Context()), s, run)
}

// finish writes what was asked for.
func (f *emulateServeFlags) finish(ctx context.Context, s console.IO, run *emulated) error {
	if len(run.samples) == 0 {
		s.Errf("no worker has measured anything\n")
		return nil
	}
	if f.to != "" {
		report, err := writeLines(ctx, s, run.lines, f.to, transfer.ImportOptions{Name: "emulated", Cluster: "emulated", Force: f.force})
		if err != nil {
			return fmt.Errorf("emulate serve: %w", err)
		}
		s.Printf("%s: %s, %s to %s\n", f.to, plural.Of(report.Lines, "line"), stamp(report.From), stamp(report.To))
	}
	if f.plot != "" {
		if err := os.WriteFile(f.plot, []byte(run.svg()), 0o644); err != nil {
			return fmt.Errorf("emulate serve: --plot %s: %w", f.plot, err)
		}
	}
	s.PrintTable(run.table(), console.FormatTable)
	return nil
}

// curves are those of a shape, or of the usage of a history.
func (f *emulateServeFlags) curves(cmd *cobra.Command, args []string) ([]emulate.Curve, error) {
	if f.usage != "" {
		return recordedCurves(cmd.Context(), f.usage, f.step)
	}
	wrong := func(err error) error { return console.UsageErrorf(cmd, "emulate serve: %w", err) }
	if f.steps < 1 || int64(f.steps) > math.MaxInt64/int64(f.step) {
		return nil, wrong(fmt.Errorf("--steps %d: want 1 or more", f.steps))
	}
	g := generateFlags{cpu: f.cpu, memory: f.memory, memoryShape: f.memShape, request: "0,0", limit: "0,0", start: "2026-01-05T00:00:00Z", seed: f.seed,
		length: time.Duration(f.steps) * f.step, step: f.step, workloads: 1, replicas: f.replicas}
	if f.replicas > 1 {
		g.noise = 0.05
	}
	l, err := g.load(cmd, args[0])
	if err != nil {
		return nil, err
	}
	var out []emulate.Curve
	for _, p := range l.Pods() {
		c := emulate.Curve{Name: p.PodName()}
		for i := range p.CPU {
			c.Values = append(c.Values, emulate.Amount{RAM: mebibytes(p.Memory[i]), CPU: p.CPU[i]})
		}
		out = append(out, c)
	}
	return out, nil
}

// mebibytes rounds bytes.
func mebibytes(b int64) int64 { return (b + 1<<19) >> 20 }

// maxPlayed bounds the values of a load.
const maxPlayed = 10_000_000

// recordedCurves are the usage of a history: of each pod the mean of all its containers together in each step, nothing where it used nothing.
func recordedCurves(ctx context.Context, path string, step time.Duration) ([]emulate.Curve, error) {
	db, err := history.Open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("emulate serve: --usage-of: %w", err)
	}
	defer func() { _ = db.Close() }()
	from, to := db.Span()
	n := int(to.Sub(from)/step) + 1
	type cell struct{ cpu, memory, count int64 }
	of := map[string]map[string][]cell{} // by pod and container
	var order []string
	for u, err := range db.Usages(ctx, from, time.Time{}) {
		if err != nil {
			return nil, fmt.Errorf("emulate serve: --usage-of %s: %w", path, err)
		}
		containers := of[u.Pod.Name]
		if containers == nil {
			containers = map[string][]cell{}
			of[u.Pod.Name] = containers
			if order = append(order, u.Pod.Name); len(order)*n > maxPlayed {
				return nil, fmt.Errorf("emulate serve: --usage-of %s: more than %d values: choose a longer --step", path, maxPlayed)
			}
		}
		if containers[u.Container] == nil {
			containers[u.Container] = make([]cell, n)
		}
		if i := int(u.At.Sub(from) / step); i >= 0 && i < n {
			c := &containers[u.Container][i]
			c.cpu, c.memory, c.count = c.cpu+u.CPUMilli, c.memory+u.MemoryBytes, c.count+1
		}
	}
	if len(order) == 0 {
		return nil, fmt.Errorf("emulate serve: --usage-of %s: there is no usage in it", path)
	}
	var out []emulate.Curve
	for _, pod := range order {
		c := emulate.Curve{Name: pod, Values: make([]emulate.Amount, n)}
		for i := range n {
			var memory int64
			for _, cells := range of[pod] {
				if k := cells[i]; k.count > 0 {
					c.Values[i].CPU += k.cpu / k.count
					memory += k.memory / k.count
				}
			}
			c.Values[i].RAM = mebibytes(memory)
		}
		out = append(out, c)
	}
	return out, nil
}
