package replays

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	recorded "github.com/scalehist/scalehist/fixtures/conformance"
	"github.com/scalehist/scalehist/virtualca/conformance"
)

type conformanceFlags struct {
	format console.Format
	name   string
	least  float64
	seed   int64
	seeds  int
}

func newConformanceCommand(s console.IO) *cobra.Command {
	f := &conformanceFlags{}
	cmd := &cobra.Command{
		Use:   "conformance [FILE...]",
		Short: "Compare the virtual cluster autoscaler with measured decisions of the real one",
		Long: `conformance runs cases through the virtual cluster autoscaler, each in a bare world in memory (no API server, no scheduler),
and says how often it comes to one of the outcomes that the upstream cluster-autoscaler was measured to come to. Without a file
it runs the cases that scalehist brings along.

A case file has JSON lines {name, category, input, outcomes, sample}, plain or gzip; fixtures/conformance/README.md says more. A case
without outcomes is run and not judged. Unknown fields are refused.

The exit code is 0 when at least --min-agreement of the cases agree, 1 when fewer do, 2 on an error.`,
		Example: `  # How close is the virtual autoscaler to the real one?
  scalehist conformance

  # Why did this case come out so?
  scalehist conformance --case sd_pdb-7

  # Cases of your own, all of which must agree
  scalehist conformance cases.jsonl --min-agreement 1

  # How much of that is chance, as upstream's own order of pods and nodes is?
  scalehist conformance --seeds 20

  # For a script
  scalehist conformance -o json | jq .agreement`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"jsonl", "gz"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runConformance(cmd, s, f, args) },
	}
	console.AddFormatFlag(cmd, &f.format)
	cmd.Flags().StringVar(&f.name, "case", "", "run this case alone and print every loop of it")
	cmd.Flags().Float64Var(&f.least, "min-agreement", 0.98, "the least share of cases that must agree, 0 to 1")
	cmd.Flags().Int64Var(&f.seed, "seed", 0, "what upstream leaves to chance, such as the order of pods")
	cmd.Flags().IntVar(&f.seeds, "seeds", 1, "run the cases with this many seeds, from 0 on, and say how much of the agreement is chance")
	if err := cmd.RegisterFlagCompletionFunc("case", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		cases, err := loadCases(args)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		names := make([]string, len(cases))
		for i, c := range cases {
			names[i] = c.Name
		}
		return console.Printable(names), cobra.ShellCompDirectiveNoFileComp
	}); err != nil {
		panic(fmt.Sprintf("completion of --case: %v", err)) // only a second registration of the same flag fails
	}
	return cmd
}

// loadCases reads the files, or the cases that come along.
func loadCases(paths []string) ([]conformance.Case, error) {
	if len(paths) == 0 {
		return conformance.ReadNamed(recorded.Open(), recorded.Name)
	}
	var out []conformance.Case
	for _, path := range paths {
		cases, err := conformance.LoadNamed(path)
		if err != nil {
			return nil, err
		}
		out = append(out, cases...)
	}
	return out, nil
}

func runConformance(cmd *cobra.Command, s console.IO, f *conformanceFlags, args []string) error {
	if !(f.least >= 0 && f.least <= 1) {
		return console.UsageErrorf(cmd, "--min-agreement %v: must be from 0 to 1", f.least)
	}
	cases, err := loadCases(args)
	if err != nil {
		return err
	}
	if f.seeds != 1 {
		return conformanceSeeds(s, cmd, f, cases)
	}
	if f.name != "" {
		return runCase(s, cmd, f, cases)
	}
	start := time.Now()
	results, took, err := runCases(cmd.Context(), cases, f.seed)
	if err != nil {
		return err
	}
	summary, err := conformance.Summarize(cases, results)
	if err != nil {
		return err
	}
	summary.Seconds = time.Since(start).Seconds()
	if f.format == console.FormatJSON {
		if err := s.PrintJSON(summary); err != nil {
			return err
		}
	} else {
		printConformance(s, f, args, summary, cases, results, took)
	}
	if summary.Agreement < f.least {
		return console.Differed()
	}
	return nil
}

// conformanceSeeds prints what several seeds say together.
func conformanceSeeds(s console.IO, cmd *cobra.Command, f *conformanceFlags, cases []conformance.Case) error {
	switch {
	case f.seeds < 1:
		return console.UsageErrorf(cmd, "--seeds %d: want 1 or more", f.seeds)
	case f.name != "" || cmd.Flags().Changed("seed"):
		return console.UsageErrorf(cmd, "--seeds runs all cases with many seeds: leave out --case and --seed")
	}
	spread, err := conformance.Seeds(cmd.Context(), cases, f.seeds)
	if err != nil {
		return err
	}
	if f.format == console.FormatJSON {
		if err := s.PrintJSON(spread); err != nil {
			return err
		}
	} else {
		s.Printf("%d seeds: %.1f of %d cases agree on average (%.1f %%), %d with the worst seed, %d with the best\n",
			spread.Seeds, spread.Mean, spread.Cases, 100*spread.Mean/float64(max(spread.Cases, 1)), spread.Least, spread.Most)
		s.Printf("measured and judged alike, the virtual autoscaler would agree with itself in %.1f\n", spread.Itself)
		if len(spread.Doubtful) > 0 {
			t := console.Table{Title: "\nagree with less than half of the seeds:", Columns: []console.Column{{Name: "Case"}, {Name: "Share", Right: true}}}
			for _, c := range spread.Doubtful {
				t.Rows = append(t.Rows, []string{c.Name, fmt.Sprintf("%.0f %%", 100*c.Share)})
			}
			s.PrintTable(t, f.format)
		}
	}
	if spread.Mean < f.least*float64(spread.Cases) {
		return console.Differed()
	}
	return nil
}

// runCases runs cases in parallel. The results are in the order of the cases, and the same in every run; took is not.
func runCases(ctx context.Context, cases []conformance.Case, seed int64) (results []conformance.Result, took []time.Duration, err error) {
	results, took = make([]conformance.Result, len(cases)), make([]time.Duration, len(cases))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range cases {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("run conformance cases: %w", err)
			}
			start := time.Now()
			r, err := conformance.RunSeed(ctx, c, seed)
			r.Err = err
			results[i], took[i] = r, time.Since(start)
			return nil
		})
	}
	return results, took, g.Wait()
}

// slowest is how many cases the text names for their time.
const slowest = 5

func printConformance(s console.IO, f *conformanceFlags, files []string, sum conformance.Summary, cases []conformance.Case, results []conformance.Result, took []time.Duration) {
	t := console.Table{Columns: []console.Column{{Name: "category"}, {Name: "cases", Right: true}, {Name: "agreed", Right: true}, {Name: "agreement", Right: true}}}
	row := func(name string, c, agreed int) {
		share := 100.0
		if c > 0 {
			share = 100 * float64(agreed) / float64(c)
		}
		t.Rows = append(t.Rows, []string{name, console.Count(int64(c)), console.Count(int64(agreed)), fmt.Sprintf("%.1f%%", share)})
	}
	for _, name := range slices.Sorted(maps.Keys(sum.Categories)) {
		c := sum.Categories[name]
		row(name, c.Cases, c.Agreed)
	}
	row("all", sum.Cases, sum.Agreed)
	s.PrintTable(t, f.format)
	rerun := strings.Join(append([]string{"scalehist conformance"}, files...), " ")
	if f.seed != 0 {
		rerun += fmt.Sprintf(" --seed %d", f.seed)
	}
	for _, d := range sum.Disagreements {
		printDisagreement(s, d)
		s.Printf("  more: %s --case %s\n", rerun, d.Name)
	}
	for i, r := range results {
		if len(cases[i].Outcomes) > 0 {
			continue
		}
		came := "came to " + outcomeText(r.Got)
		if r.Err != nil {
			came = r.Err.Error()
		}
		s.Printf("\n%s has no outcomes to agree with: %s\n", cases[i].Name, came)
	}
	order := make([]int, len(cases))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(took[b] - took[a]) })
	var slow []string
	for _, i := range order[:min(slowest, len(order))] {
		slow = append(slow, fmt.Sprintf("%s %s", cases[i].Name, took[i].Round(100*time.Microsecond)))
	}
	s.Printf("\n%s in %.1fs; the slowest: %s\n", countOf(len(cases), "case"), sum.Seconds, strings.Join(slow, ", "))
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shownOutcomes is how many of upstream's outcomes a disagreement lists: the nearest ones.
const shownOutcomes = 3

func printDisagreement(s console.IO, d conformance.Disagreement) {
	s.Printf("\n%s disagrees\n", d.Name)
	if d.Error != "" {
		s.Printf("  it could not be run: %s\n", d.Error)
		return
	}
	s.Printf("  ours      %s\n", outcomeText(*d.Got))
	want := conformance.Nearest(*d.Got, d.Want)
	for _, o := range want[:min(shownOutcomes, len(want))] {
		s.Printf("  upstream  %s\n", outcomeText(o))
	}
	if n := len(want) - shownOutcomes; n > 0 {
		s.Printf("  and %d more of upstream\n", n)
	}
	if d.Loop == nil {
		s.Printf("  no loop of the recorded sample differs\n")
	} else {
		printDivergence(s, d.Loop)
	}
}

func printDivergence(s console.IO, d *conformance.Divergence) {
	number := 0
	for _, l := range []*conformance.Loop{d.Ours, d.Upstream} {
		if l != nil {
			number = l.Number
		}
	}
	s.Printf("  first differing loop: %d (%s)\n", number, d.What)
	for _, side := range []struct {
		name string
		loop *conformance.Loop
	}{{"ours", d.Ours}, {"upstream", d.Upstream}} {
		if side.loop == nil {
			s.Printf("    %s had ended\n", side.name)
			continue
		}
		s.Printf("    %s: %s\n", side.name, loopText(*side.loop))
		printLoopReasons(s, "      ", *side.loop)
	}
}

// loopText is one line: what the loop came to and asked for.
func loopText(l conformance.Loop) string {
	parts := []string{l.Result}
	parts = append(parts, l.ScaleUps...)
	if l.ScaleDown != "" {
		parts = append(parts, l.ScaleDown)
	}
	for _, g := range slices.Sorted(maps.Keys(l.Removed)) {
		parts = append(parts, fmt.Sprintf("removes of %s: %s", g, strings.Join(l.Removed[g], " ")))
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
}

func printLoopReasons(s console.IO, indent string, l conformance.Loop) {
	for _, o := range l.Options {
		chosen, reason := " ", ""
		if o.Chosen {
			chosen = "*"
		}
		if len(o.Similar) > 0 {
			reason = " with similar " + strings.Join(o.Similar, " ")
		}
		if o.Reason != "" {
			reason += ": " + o.Reason
		}
		s.Printf("%s%s option %s, %s for %s%s\n", indent, chosen, o.NodeGroup, countOf(o.Nodes, "node"), countOf(o.Pods, "pod"), reason)
	}
	for _, r := range slices.Concat(l.Reasons, l.Notes) {
		s.Printf("%s  %s\n", indent, r)
	}
}

// outcomeText is one line: "g1 +4, g2 -1 (sizes: g1 7, g2 0)".
func outcomeText(o conformance.Outcome) string {
	var moved []string
	for _, part := range []struct {
		sign  string
		nodes map[string]int
	}{{"+", o.Deltas}, {"-", o.Removed}} {
		for _, g := range slices.Sorted(maps.Keys(part.nodes)) {
			if n := part.nodes[g]; n != 0 {
				moved = append(moved, fmt.Sprintf("%s %s%d", g, part.sign, n))
			}
		}
	}
	if len(moved) == 0 {
		moved = []string{"nothing"}
	}
	var sizes []string
	for _, g := range slices.Sorted(maps.Keys(o.FinalSizes)) {
		sizes = append(sizes, fmt.Sprintf("%s %d", g, o.FinalSizes[g]))
	}
	return fmt.Sprintf("%s (sizes: %s)", strings.Join(moved, ", "), strings.Join(sizes, ", "))
}

// explainedCase is the JSON of --case.
type explainedCase struct {
	Name      string                  `json:"name"`
	Category  string                  `json:"category"`
	Judged    bool                    `json:"judged"`
	Agrees    bool                    `json:"agrees"`
	Got       conformance.Outcome     `json:"got"`
	Want      []conformance.Outcome   `json:"want"`
	Ours      []conformance.Loop      `json:"ours"`
	Upstream  []conformance.Loop      `json:"upstream,omitempty"`
	Diverges  *conformance.Divergence `json:"diverges,omitempty"`
	Warnings  []string                `json:"warnings,omitempty"`
	Flags     []string                `json:"flags,omitempty"`
	seconds   float64
	unmatched bool
}

func runCase(s console.IO, cmd *cobra.Command, f *conformanceFlags, cases []conformance.Case) error {
	i := slices.IndexFunc(cases, func(c conformance.Case) bool { return c.Name == f.name })
	if i < 0 {
		return console.UsageErrorf(cmd, "--case %s: there is no such case among the %d from %s to %s", f.name, len(cases), cases[0].Name, cases[len(cases)-1].Name)
	}
	c := cases[i]
	start := time.Now()
	r, err := conformance.RunSeed(cmd.Context(), c, f.seed)
	if err != nil {
		return err
	}
	e := explainedCase{Name: c.Name, Category: c.Category, Judged: r.Judged, Agrees: r.Agrees, Got: r.Got, Want: c.Outcomes, Ours: r.Loops(c),
		Warnings: r.Warnings, Flags: c.Input.Flags, seconds: time.Since(start).Seconds(), unmatched: r.Judged && !r.Agrees}
	if e.Upstream, err = c.SampleLoops(); err != nil {
		return err
	}
	if e.Diverges, err = conformance.Diverges(c, r); err != nil {
		return err
	}
	if f.format == console.FormatJSON {
		if err := s.PrintJSON(e); err != nil {
			return err
		}
	} else {
		printCase(s, e)
	}
	if e.unmatched {
		return console.Differed()
	}
	return nil
}

func printCase(s console.IO, e explainedCase) {
	verdict := "agrees"
	switch {
	case !e.Judged:
		verdict = "has no outcomes to agree with"
	case !e.Agrees:
		verdict = "disagrees"
	}
	s.Printf("%s (%s) %s\n", e.Name, e.Category, verdict)
	if len(e.Flags) > 0 {
		s.Printf("  flags     %s\n", strings.Join(e.Flags, " "))
	}
	s.Printf("  ours      %s\n", outcomeText(e.Got))
	for _, o := range e.Want {
		s.Printf("  upstream  %s\n", outcomeText(o))
	}
	for _, w := range e.Warnings {
		s.Printf("  warning: %s\n", w)
	}
	for i := range max(len(e.Ours), len(e.Upstream)) {
		s.Printf("\nloop %d", i+1)
		if d := e.Diverges; d != nil && (d.Ours != nil && d.Ours.Number == i+1 || d.Upstream != nil && d.Upstream.Number == i+1) {
			s.Printf(": the first that differs from the recorded sample (%s)", d.What)
		}
		s.Printf("\n")
		for _, side := range []struct {
			name  string
			loops []conformance.Loop
		}{{"ours", e.Ours}, {"upstream", e.Upstream}} {
			if i < len(side.loops) {
				s.Printf("  %s: %s\n", side.name, loopText(side.loops[i]))
				printLoopReasons(s, "    ", side.loops[i])
			}
		}
	}
	s.Printf("\n1 case in %.1fs\n", e.seconds)
}
