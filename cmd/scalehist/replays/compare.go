package replays

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report/compare"
	"github.com/scalehist/scalehist/report/metrics"
)

// The formats of compare, gate and sweep.
const (
	PageText     = "text"
	PageMarkdown = "markdown"
	PageJSON     = "json"
	PageGitHub   = "github"
	pageCSV      = "csv"
)

type compareFlags struct {
	format  string
	labels  []string
	force   bool
	explain bool
	exit    bool
	grid    GridFlags
}

func newCompareCommand(s console.IO) *cobra.Command {
	f := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare BASELINE REPORT... | compare FILE.db|--scenario NAME --engine E --set FLAG=VALUE,VALUE",
		Short: "Put replay reports side by side: node groups, metrics, costs, the first decision that differs",
		Long: `compare reads saved reports (report.json, or directories of replay --report-dir) of one recording. The first is the
baseline. It shows each node group and zone, every metric with its change, nodes and waiting pods over time, what was asked for
differently, and for each report the first decision that differs from the baseline's, with both explanations.

Given a history (FILE.db, or --scenario) instead, it replays it now, once for each --engine with each combination of --set, and compares those: the
first is the baseline. docs/sweep.md says how combinations are made; 'scalehist sweep' is for many of them.

Reports of different recordings, windows or playbacks are refused, unless --force says so. --explain-metrics tells how each metric is
defined. The exit code is 0 whatever the comparison shows, with --exit-code 1 when anything differs, 2 on an error.`,
		Example: `  # What would another expander have done?
  scalehist replay prod.db --prices prices.yaml --report-dir gen/least-waste
  scalehist replay prod.db --prices prices.yaml --report-dir gen/most-pods --autoscaler-flag=--expander=most-pods
  scalehist compare gen/least-waste gen/most-pods

  # Three of them, for a pull request
  scalehist compare gen/main gen/branch gen/other -o markdown

  # Replay now, and compare
  scalehist compare prod.db --set expander=least-waste,most-pods --prices prices.yaml
  scalehist compare --scenario full-day --engine virtualca --engine recommender --engine recommender:optimal

  # What does a metric mean?
  scalehist compare --explain-metrics`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: CompleteReports,
		RunE:              func(cmd *cobra.Command, args []string) error { return runCompare(cmd, s, f, args) },
	}
	AddPageFlag(cmd, &f.format, PageText, PageMarkdown, PageJSON)
	f.grid.add(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.labels, "label", nil, "what to call the reports, in their order (default: from their paths)")
	flags.BoolVar(&f.force, "force", false, "compare replays of different recordings, windows or playbacks too")
	flags.BoolVar(&f.exit, "exit-code", false, "exit with 1 when anything differs")
	flags.BoolVar(&f.explain, "explain-metrics", false, "list all metrics with unit, definition, formula and source, and do nothing else")
	return cmd
}

// WritePage writes what a command gives --html, once all of the page is there; no path, no page.
func WritePage(command, path string, r interface{ HTML(w io.Writer) error }) error {
	if path == "" {
		return nil
	}
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("%s: --html %s: %w", command, path, err)
	}
	return nil
}

// AddPageFlag adds "-o text|markdown|json".
func AddPageFlag(cmd *cobra.Command, f *string, formats ...string) {
	cmd.Flags().StringVarP(f, "output", "o", formats[0], "how to print the result: "+strings.Join(formats, ", "))
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --output: %v", err)) // only a second registration of the same flag fails
	}
}

func runCompare(cmd *cobra.Command, s console.IO, f *compareFlags, args []string) error {
	if f.explain {
		if len(args) > 0 {
			return console.UsageErrorf(cmd, "--explain-metrics takes no reports")
		}
		err := s.Page(metrics.Explain())
		return err
	}
	if f.format != PageText && f.format != PageMarkdown && f.format != PageJSON {
		return console.UsageErrorf(cmd, "--output %q: must be text, markdown or json", f.format)
	}
	sides, err := f.sides(cmd, s, args)
	if err != nil {
		return err
	}
	c, err := compare.Reports(sides, compare.Options{Force: f.force})
	if err != nil {
		return err
	}
	switch f.format {
	case PageJSON:
		err = s.PrintJSON(c)
	case PageMarkdown:
		err = s.Page(c.Markdown())
	default:
		err = s.Page(c.TextWithin(s.Width()))
	}
	if err != nil {
		return err
	}
	if f.exit && c.Differ() {
		return console.Differed()
	}
	return nil
}

// sides are the reports that are given, or those of replays that are run now.
func (f *compareFlags) sides(cmd *cobra.Command, s console.IO, args []string) ([]compare.Side, error) {
	if slices.ContainsFunc(args, console.IsHistory) || f.grid.from.name != "" {
		return f.replayed(cmd, s, args)
	}
	for _, name := range gridFlagNames {
		if cmd.Flags().Changed(name) {
			return nil, console.UsageErrorf(cmd, "--%s says how to replay, and there is nothing to replay: give a history (FILE.db, or --scenario)", name)
		}
	}
	if len(args) < 2 {
		return nil, console.UsageErrorf(cmd, "%s: give two reports or more, the baseline first", cmd.CommandPath())
	}
	labels, err := f.labelled(cmd, LabelsOf(args), "report")
	if err != nil {
		return nil, err
	}
	sides := make([]compare.Side, 0, len(args))
	for i, path := range args {
		r, err := console.ReadReport(path)
		if err != nil {
			return nil, err
		}
		sides = append(sides, compare.Side{Label: labels[i], Report: r})
	}
	return sides, nil
}

// replayed replays the one history that is given.
func (f *compareFlags) replayed(cmd *cobra.Command, s console.IO, args []string) ([]compare.Side, error) {
	if len(args) > 1 {
		return nil, console.UsageErrorf(cmd, "%s: give one history to replay, or reports; not both", cmd.CommandPath())
	}
	path, err := f.grid.from.history(cmd, args)
	if err != nil {
		return nil, err
	}
	points, err := f.grid.points(cmd)
	if err != nil {
		return nil, err
	}
	if len(points) < 2 {
		return nil, console.UsageErrorf(cmd, "there is only one replay to run, %s: give another --engine, or several values with --set", points[0].Label())
	}
	if len(points) > maxSides {
		return nil, console.UsageErrorf(cmd, "%d replays side by side cannot be read: compare at most %d, or use 'scalehist sweep'", len(points), maxSides)
	}
	if err := f.grid.checkShared(cmd, points); err != nil {
		return nil, err
	}
	labels := make([]string, 0, len(points))
	for _, p := range points {
		labels = append(labels, p.Label())
	}
	if labels, err = f.labelled(cmd, labels, "replay"); err != nil {
		return nil, err
	}
	list, err := f.grid.replayAll(cmd, s, path, points)
	if err != nil {
		return nil, err
	}
	sides := make([]compare.Side, 0, len(points))
	for i, r := range list {
		sides = append(sides, compare.Side{Label: labels[i], Report: r})
	}
	return sides, nil
}

// maxSides is how many replays compare runs: more columns fit on no page.
const maxSides = 12

// labelled are the labels of --label, else those given.
func (f *compareFlags) labelled(cmd *cobra.Command, labels []string, what string) ([]string, error) {
	if f.labels == nil {
		return labels, nil
	}
	if len(f.labels) != len(labels) {
		return nil, console.UsageErrorf(cmd, "--label: %s for %s", plural.Of(len(f.labels), "label"), plural.Of(len(labels), what))
	}
	return f.labels, nil
}

// LabelsOf names reports by the least of their paths, from the end, by which they differ, without what all end in.
func LabelsOf(paths []string) []string {
	parts := make([][]string, 0, len(paths))
	longest := 1
	for _, p := range paths {
		p = strings.TrimSuffix(filepath.ToSlash(filepath.Clean(p)), "/report.json")
		list := strings.Split(p, "/")
		parts, longest = append(parts, list), max(longest, len(list))
	}
	out := make([]string, len(paths))
	for n := 1; n <= longest; n++ {
		seen := map[string]bool{}
		for i, list := range parts {
			out[i] = strings.Join(list[max(0, len(list)-n):], "/")
			seen[out[i]] = true
		}
		if len(seen) == len(paths) {
			return withoutCommonEnd(out)
		}
	}
	for i := range out { // one report twice
		out[i] = fmt.Sprintf("%s (%d)", out[i], i+1)
	}
	return out
}

// withoutCommonEnd drops the last elements that all paths have: a/prod and b/prod are a and b.
func withoutCommonEnd(paths []string) []string {
	for {
		_, end, _ := cutLast(paths[0])
		short := make([]string, 0, len(paths))
		for _, p := range paths {
			if rest, last, ok := cutLast(p); ok && last == end {
				short = append(short, rest)
			}
		}
		if len(short) < len(paths) {
			return paths
		}
		paths = short
	}
}

func cutLast(path string) (rest, last string, ok bool) {
	i := strings.LastIndex(path, "/")
	if i <= 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

func CompleteReports(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}
