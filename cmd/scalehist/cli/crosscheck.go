package cli

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/harness/kvcl/crosscheck"
	"github.com/scalehist/scalehist/harness/kvcl/memory"
)

func init() { register(newCrosscheckCommand) }

type crosscheckFlags struct {
	format  Format
	seeds   int
	first   uint64
	seed    uint64
	jobs    int
	tries   int
	planes  []string
	ignore  []string
	verbose bool
}

// defaultSeeds is a run of about a minute.
const defaultSeeds = 200

func newCrosscheckCommand(s IO) *cobra.Command {
	f := &crosscheckFlags{}
	cmd := &cobra.Command{
		Use:   "crosscheck",
		Short: "Compare two control planes by random programs of changes",
		Long: `crosscheck runs random programs on two control planes: objects of all kinds that come, change and go, well formed and not,
taints, evictions, and time that passes. After every step it wants the same from both: the error, what the scheduler bound,
refused and preempted, and every field of every object.

A seed is one program, the same everywhere. Of a program that shows a difference the smallest one that still shows it is
printed, and the command that runs it again. The counts at the end say what was exercised.

The control planes are ` + strings.Join(planeNames(), ", ") + `: envtest is a real kube-apiserver and etcd; memory is the same
without processes; memory-stock is memory with a scheduler that does not remember what it found out about nodes.

With -v it prints every program before it runs, and everything that was exercised.

The exit code is 0 when nothing differs, 1 when something does, 2 on an error.`,
		Example: `  # Does the control plane in memory do what an API server does?
  scalehist crosscheck

  # All night
  scalehist crosscheck --seeds 100000

  # One program, in full
  scalehist crosscheck --seed 1234 -v

  # Does the remembering scheduler place pods like the stock one?
  scalehist crosscheck --planes memory,memory-stock --seeds 5000

  # Does the control plane in memory do the same twice?
  scalehist crosscheck --planes memory,memory --seeds 5000

  # For a script
  scalehist crosscheck -o json | jq '.differences[].site'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runCrosscheck(cmd, s, f) },
	}
	addFormatFlag(cmd, &f.format)
	flags := cmd.Flags()
	flags.IntVar(&f.seeds, "seeds", defaultSeeds, "how many programs to run")
	flags.Uint64Var(&f.first, "first-seed", 1, "the seed of the first program")
	flags.Uint64Var(&f.seed, "seed", 0, "run this program alone")
	flags.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "how many pairs of control planes work at once; the result does not depend on it")
	flags.IntVar(&f.tries, "shrink-tries", crosscheck.DefaultTries, "how many runs may be spent on making one program smaller; 0: none")
	flags.StringSliceVar(&f.planes, "planes", []string{"envtest", "memory"}, "the two control planes: "+strings.Join(planeNames(), ", "))
	flags.StringArrayVar(&f.ignore, "ignore", nil, "a difference that is known, by its first line (repeatable): 'Pod .Spec.Overhead'")
	cmd.MarkFlagsMutuallyExclusive("seed", "seeds")
	cmd.MarkFlagsMutuallyExclusive("seed", "first-seed")
	if err := cmd.RegisterFlagCompletionFunc("planes", completePlanes); err != nil {
		panic(fmt.Sprintf("completion of --planes: %v", err)) // only a second registration of the same flag fails
	}
	return cmd
}

// planeStarts are the control planes there are. progress is told of slow starts.
func planeStarts(s IO) map[string]func(context.Context, time.Time) (kvcl.ControlPlane, error) {
	inMemory := func(recall bool) func(context.Context, time.Time) (kvcl.ControlPlane, error) {
		return func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error) {
			return memory.Start(ctx, memory.Options{Now: now, Recall: recall})
		}
	}
	return map[string]func(context.Context, time.Time) (kvcl.ControlPlane, error){
		"envtest": func(ctx context.Context, now time.Time) (kvcl.ControlPlane, error) {
			return kvcl.Start(ctx, kvcl.Options{Now: now, Assets: assets.Options{Progress: s.Err}})
		},
		"memory":       inMemory(true),
		"memory-stock": inMemory(false),
	}
}

func planeNames() []string { return slices.Sorted(maps.Keys(planeStarts(IO{}))) }

// completePlanes completes the last of a list of control planes.
func completePlanes(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := ""
	if i := strings.LastIndex(typed, ","); i >= 0 {
		before = typed[:i+1]
	}
	var out []string
	for _, n := range planeNames() {
		out = append(out, before+n)
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func (f *crosscheckFlags) options(cmd *cobra.Command, s IO) (o crosscheck.Options, err error) {
	switch {
	case f.seeds < 1:
		return o, UsageErrorf(cmd, "--seeds %d: must be at least 1", f.seeds)
	case f.jobs < 1:
		return o, UsageErrorf(cmd, "--jobs %d: must be at least 1", f.jobs)
	case f.tries < 0:
		return o, UsageErrorf(cmd, "--shrink-tries %d: must not be negative", f.tries)
	case len(f.planes) != 2:
		return o, UsageErrorf(cmd, "--planes %s: want two, such as envtest,memory", strings.Join(f.planes, ","))
	}
	o = crosscheck.Options{First: f.first, Seeds: f.seeds, Jobs: f.jobs, Tries: f.tries, Ignore: f.ignore}
	if f.tries == 0 {
		o.Tries = -1
	}
	if cmd.Flags().Changed("seed") {
		o.First, o.Seeds = f.seed, 1
	}
	starts := planeStarts(s)
	for i, name := range f.planes {
		start, ok := starts[name]
		if !ok {
			return o, UsageErrorf(cmd, "--planes: unknown control plane %q: want %s", name, strings.Join(planeNames(), ", "))
		}
		o.Planes[i] = crosscheck.Plane{Name: name, Start: start}
	}
	return o, nil
}

func runCrosscheck(cmd *cobra.Command, s IO, f *crosscheckFlags) error {
	if n, err := cmd.Flags().GetCount("verbose"); err == nil {
		f.verbose = n > 0
	}
	o, err := f.options(cmd, s)
	if err != nil {
		return err
	}
	progress := s.NewProgress("comparing", int64(o.Seeds))
	o.Progress = func(done, differ int) {
		what := "comparing"
		if differ > 0 {
			what = fmt.Sprintf("comparing, %d differ", differ)
		}
		progress.Set(int64(done), what)
	}
	o.Shrinking = func(seed uint64) {
		progress.Clear()
		s.Errf("seed %d differs; looking for a smaller program\n", seed)
	}
	if f.verbose {
		o.Program = func(p crosscheck.Program) {
			progress.Clear()
			s.Errf("seed %d\n", p.Seed)
			fmt.Fprintln(s.Err, p.Text())
		}
	}
	start := time.Now()
	r, err := crosscheck.Check(cmd.Context(), o)
	progress.Done()
	if f.format == FormatJSON {
		if perr := s.PrintJSON(r); err == nil {
			err = perr
		}
	} else {
		s.printCrosscheck(f, r, time.Since(start))
	}
	if err == nil && len(r.Differences) > 0 {
		return Differed()
	}
	return err
}

func (s IO) printCrosscheck(f *crosscheckFlags, r *crosscheck.Result, took time.Duration) {
	for _, d := range r.Differences {
		s.printPlaneDifference(r, d)
	}
	c := r.Coverage
	t := Table{Columns: []Column{{Name: "exercised"}, {Name: "count", Right: true}}}
	row := func(name string, n int) { t.Rows = append(t.Rows, []string{name, count(int64(n))}) }
	row("programs", c.Programs)
	row("steps", c.Steps)
	row("changes", c.Changes)
	row("bindings", c.Bindings)
	row("unschedulable", c.Unschedulable)
	row("nominations", c.Nominations)
	row("victims", c.Victims)
	row("evictions", c.Evictions)
	row("evictions refused", c.EvictionsRefused)
	row("taints set", c.TaintsSet)
	row("refused", c.Refusals)
	row("kinds of change", len(c.Kinds))
	row("kinds of refusal", len(c.Errors))
	row("reasons of nodes", len(c.Reasons))
	if c.Restarts > 0 {
		row("control planes restarted", c.Restarts)
	}
	s.PrintTable(t, f.format)
	if f.verbose {
		for _, part := range []struct {
			name  string
			count map[string]int
		}{{"changes", c.Kinds}, {"reasons of nodes", c.Reasons}, {"refusals", c.Errors}, {"drawn", c.Reached}} {
			s.Printf("\n%s\n", part.name)
			for _, k := range slices.Sorted(maps.Keys(part.count)) {
				s.Printf("%8d  %s\n", part.count[k], k)
			}
		}
	}
	s.Printf("\n%s of %d on %s and %s in %.1fs: ", countOf(c.Programs, "program"), r.Seeds, r.Planes[0], r.Planes[1], took.Seconds())
	if n := len(r.Differences); n > 0 {
		s.Printf("%s\n", countOf(n, "difference"))
	} else {
		s.Printf("no difference\n")
	}
}

// shownSeeds is how many seeds of a difference the text names.
const shownSeeds = 10

func (s IO) printPlaneDifference(r *crosscheck.Result, d crosscheck.Difference) {
	s.Printf("%s\n", d.Site)
	seeds := make([]string, 0, shownSeeds)
	for _, n := range d.Seeds[:min(shownSeeds, len(d.Seeds))] {
		seeds = append(seeds, fmt.Sprint(n))
	}
	more := ""
	if n := len(d.Seeds) - shownSeeds; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	s.Printf("  seeds    %s%s\n", strings.Join(seeds, " "), more)
	s.Printf("  again    scalehist crosscheck --planes %s --seed %d\n", strings.Join(r.Planes[:], ","), d.Seeds[0])
	size := fmt.Sprintf("%s and %s", countOf(d.Steps, "step"), countOf(d.Changes, "change"))
	switch {
	case d.Shrunk:
		size += fmt.Sprintf(", of %d and %d", d.OfSteps, d.OfChanges)
	case d.Chance:
		size += "; new control planes did not show it: it is chance, or takes what ran before"
	}
	s.Printf("  program  %s\n", size)
	for line := range strings.Lines(d.Program) {
		s.Printf("    %s\n", strings.TrimSuffix(line, "\n"))
	}
	if d.Step > d.Steps {
		s.Printf("  when everything is deleted after the last step, - %s + %s\n", r.Planes[0], r.Planes[1])
	} else {
		s.Printf("  after step %d, - %s + %s\n", d.Step, r.Planes[0], r.Planes[1])
	}
	for line := range strings.Lines(d.Diff) {
		s.Printf("    %s\n", strings.TrimSuffix(line, "\n"))
	}
	s.Printf("\n")
}
