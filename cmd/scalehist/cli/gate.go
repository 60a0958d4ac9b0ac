package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
	"github.com/scalehist/scalehist/report/ci"
	"github.com/scalehist/scalehist/report/gate"
	"github.com/scalehist/scalehist/report/metrics"
)

type gateFlags struct {
	format                      string
	baseline, candidate, policy string
	junit, summary              string
	repeats                     []string
	all, explain                bool
}

func newGateCommand(s console.IO) *cobra.Command {
	f := &gateFlags{}
	cmd := &cobra.Command{
		Use:   "gate --baseline DIR --candidate DIR --policy gate.yaml",
		Short: "Fail when a candidate's replays are worse than the baseline's by more than a policy allows",
		Long: `gate reads all reports (report.json) of two directories, matches them by scenario, and holds the change of each metric
against the limits of a policy: at most 2 percent dearer, at most 5 seconds longer waits, no new pod without a node. It prints what
changed and, for every violation, by how much, in which scenario, and the first decision that differs, with both explanations.

A scenario that is on one side only, or was replayed from another recording, is a violation unless the policy allows it. Unknown keys
and metrics of a policy are refused.

--repeat gives the reports of the candidate replayed once more: it fails unless they are the same byte by byte, which finds ties that are
broken by chance even where they cost nothing. A limit of decisions.changed or node-groups.changed holds the candidate to the decisions
of the baseline, for a change that should change none. docs/gate.md has the policy; 'scalehist gate init' prints one to begin with.

The exit code is 0 when every limit holds, 1 on a violation, 2 on an error, such as a limit that could be judged nowhere.`,
		Example: `  # A policy to begin with
  scalehist gate init > gate.yaml

  # The same scenarios before and after a change
  scalehist replay prod.db --report-dir gen/baseline/prod
  scalehist replay prod.db --report-dir gen/candidate/prod --autoscaler-flag=--expander=most-pods
  scalehist gate --baseline gen/baseline --candidate gen/candidate --policy gate.yaml

  # Does it decide the same every time?
  scalehist replay prod.db --report-dir gen/again/prod --autoscaler-flag=--expander=most-pods
  scalehist gate --baseline gen/baseline --candidate gen/candidate --repeat gen/again --policy gate.yaml

  # In a GitHub workflow: annotations, a step summary and JUnit
  scalehist gate --baseline gen/baseline --candidate gen/candidate --policy gate.yaml -o github --junit gate.xml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runGate(cmd, s, f) },
	}
	replays.AddPageFlag(cmd, &f.format, replays.PageText, replays.PageMarkdown, replays.PageJSON, replays.PageGitHub)
	flags := cmd.Flags()
	flags.StringVar(&f.baseline, "baseline", "", "directory with the reports to compare with")
	flags.StringVar(&f.candidate, "candidate", "", "directory with the reports to judge")
	flags.StringArrayVar(&f.repeats, "repeat", nil, "directory with reports of the candidate replayed again: they must be the same byte by byte (repeatable)")
	flags.StringVar(&f.policy, "policy", "", "file (YAML) with the limits")
	flags.StringVar(&f.junit, "junit", "", "write the verdict to this file as JUnit")
	flags.StringVar(&f.summary, "summary", "", "write the verdict to this file as Markdown")
	flags.BoolVar(&f.all, "all", false, "list the limits that hold without any change too")
	flags.BoolVar(&f.explain, "explain-metrics", false, "list all metrics with unit, definition, formula and source, and do nothing else")
	for _, name := range []string{"baseline", "candidate", "repeat"} {
		if err := cmd.MarkFlagDirname(name); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only an unknown flag fails
		}
	}
	if err := cmd.MarkFlagFilename("policy", "yaml", "yml"); err != nil {
		panic(fmt.Sprintf("completion of --policy: %v", err)) // only an unknown flag fails
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "init",
		Short:   "Print a policy to begin with, with comments",
		Long:    "init prints a policy that passes a candidate which is not worse. Read it, change the limits, and keep it beside the scenarios.\nIts first line names a JSON Schema beside it, which 'scalehist gate schema' prints.",
		Example: "  scalehist gate init > gate.yaml\n  scalehist gate schema > gate.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			err := s.Page(gate.Example())
			return err
		},
	})
	cmd.AddCommand(&cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a policy, for editors",
		Long: `schema prints the JSON Schema of a policy (docs/gate.schema.json). Kept as gate.schema.json beside a policy of 'scalehist gate init', it lets
editors with the YAML language server complete metrics and mark what is wrong.`,
		Example: "  scalehist gate schema > gate.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := gate.Schema()
			if err != nil {
				return err
			}
			_, err = s.Json().Write(schema)
			return err
		},
	})
	return cmd
}

func runGate(cmd *cobra.Command, s console.IO, f *gateFlags) error {
	if f.explain {
		err := s.Page(metrics.Explain())
		return err
	}
	if !slices.Contains([]string{replays.PageText, replays.PageMarkdown, replays.PageJSON, replays.PageGitHub}, f.format) {
		return console.UsageErrorf(cmd, "--output %q: must be text, markdown, json or github", f.format)
	}
	for _, flag := range []struct{ name, value string }{{"baseline", f.baseline}, {"candidate", f.candidate}, {"policy", f.policy}} {
		if flag.value == "" {
			return console.UsageErrorf(cmd, "%s: --%s is missing", cmd.CommandPath(), flag.name)
		}
	}
	policy, err := gate.ReadPolicy(f.policy)
	if err != nil {
		return err
	}
	baseline, err := gate.Load(f.baseline)
	if err != nil {
		return fmt.Errorf("--baseline: %w", err)
	}
	candidate, err := gate.Load(f.candidate)
	if err != nil {
		return fmt.Errorf("--candidate: %w", err)
	}
	var repeats [][]gate.Scenario
	for _, dir := range f.repeats {
		again, err := gate.Load(dir)
		if err != nil {
			return fmt.Errorf("--repeat: %w", err)
		}
		repeats = append(repeats, again)
	}
	v, judgeErr := gate.Judge(policy, baseline, candidate, repeats...)
	v.Baseline, v.Candidate = f.baseline, f.candidate
	// What was found is shown even when something could not be judged.
	if err := errors.Join(f.print(s, v), f.write(s, v)); err != nil {
		return errors.Join(judgeErr, err)
	}
	if judgeErr != nil {
		return judgeErr
	}
	if !v.Passed {
		return console.Differed()
	}
	return nil
}

func (f *gateFlags) print(s console.IO, v *gate.Verdict) (err error) {
	switch f.format {
	case replays.PageJSON:
		return s.PrintJSON(v)
	case replays.PageMarkdown:
		err = s.Page(v.Markdown())
	case replays.PageGitHub:
		_, err = io.WriteString(s.Commands(s.Out), v.GitHub())
	default:
		err = s.Page(v.TextWithin(f.all, s.Width()))
	}
	return err
}

// write writes the files that are asked for.
func (f *gateFlags) write(s console.IO, v *gate.Verdict) error {
	if f.junit != "" {
		b, err := v.JUnit()
		if err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
		if err := os.WriteFile(f.junit, b, 0o644); err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	if f.summary != "" {
		if err := os.WriteFile(f.summary, []byte(v.Markdown()), 0o644); err != nil {
			return fmt.Errorf("--summary: %w", err)
		}
	}
	if f.format == replays.PageGitHub {
		return ci.Summarize(s.Env, v.Markdown())
	}
	return nil
}
