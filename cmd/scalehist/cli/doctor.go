package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/doctor"
)

// The formats of doctor's -o.
const (
	doctorText   = "text"
	doctorJSON   = "json"
	doctorGitHub = "github"
)

type doctorFlags struct {
	format   string
	from, to console.TimeFlag
	least    string
	explain  string
	disable  []string
}

func newDoctorCommand(s console.IO) *cobra.Command {
	f := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor FILE.db...",
		Short: "Check histories before a replay of them is trusted",
		Long: `doctor checks recorded histories: whether the file is whole, whether what a replay needs was recorded (node groups, owners,
classes, settings), whether the clocks agree, and what a replay will have to guess. It reads; it changes nothing.

The exit code is the worst finding's: 0 for none or remarks (info), 1 for warnings, 2 for errors or a file that is not there.
docs/doctor.md lists the rules; --explain tells of one.`,
		Example: `  # May I trust a replay of this?
  scalehist doctor prod.db

  # Only ten minutes of it, and only what matters
  scalehist doctor prod.db --from +20m --to +30m --min-severity warning

  # In a GitHub workflow, over all fixtures
  scalehist doctor fixtures/*/recording.db -o github --disable SH403

  # What does a code mean?
  scalehist doctor --explain SH501`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: console.CompleteHistories,
		RunE:              func(cmd *cobra.Command, args []string) error { return runDoctor(cmd, s, f, args) },
	}
	flags := cmd.Flags()
	formats := []string{doctorText, doctorJSON, doctorGitHub}
	flags.StringVarP(&f.format, "output", "o", doctorText, "how to print the findings: "+strings.Join(formats, ", "))
	flags.Var(&f.from, "from", "start of the window; the default is the history's")
	flags.Var(&f.to, "to", "end of the window; the default is the history's")
	flags.StringVar(&f.least, "min-severity", string(doctor.Info), "leave out findings that are milder: error, warning, info")
	flags.StringVar(&f.explain, "explain", "", "explain the rule with this code, and do nothing else")
	flags.StringSliceVar(&f.disable, "disable", nil, "leave out the rules with these codes (repeatable)")
	var severities, codes []string
	for _, v := range doctor.Severities() {
		severities = append(severities, string(v))
	}
	for _, r := range doctor.Rules() {
		codes = append(codes, r.Code+"\t"+r.Title)
	}
	for name, values := range map[string][]string{"output": formats, "min-severity": severities, "explain": codes, "disable": codes} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	return cmd
}

func runDoctor(cmd *cobra.Command, s console.IO, f *doctorFlags, args []string) error {
	if f.explain != "" {
		if len(args) > 0 {
			return console.UsageErrorf(cmd, "--explain %s: it takes no file", f.explain)
		}
		rule, err := doctor.FindRule(f.explain)
		if err != nil {
			return console.UsageErrorf(cmd, "--explain: %v", err)
		}
		err = s.Page(rule.Explain())
		return err
	}
	if len(args) == 0 {
		return console.UsageErrorf(cmd, "%s: missing argument FILE.db", cmd.CommandPath())
	}
	if slices.Contains(args, "") {
		return console.UsageErrorf(cmd, "%s: FILE.db is empty", cmd.CommandPath())
	}
	if !slices.Contains([]string{doctorText, doctorJSON, doctorGitHub}, f.format) {
		return console.UsageErrorf(cmd, "--output %q: must be text, json or github", f.format)
	}
	least, err := doctor.ParseSeverity(f.least)
	if err != nil {
		return console.UsageErrorf(cmd, "--min-severity %q: %v", f.least, err)
	}
	for _, code := range f.disable {
		if _, err := doctor.FindRule(code); err != nil {
			return console.UsageErrorf(cmd, "--disable: %v", err)
		}
	}
	options := doctor.Options{Disable: f.disable, MinSeverity: least, Window: func(first, last time.Time) (from, to time.Time, err error) {
		if from, err = f.from.Resolve(first, last, first); err != nil {
			return from, to, fmt.Errorf("--from: %w", err)
		}
		if to, err = f.to.Resolve(first, last, last); err != nil {
			return from, to, fmt.Errorf("--to: %w", err)
		}
		return from, to, nil
	}}
	reports := make([]*doctor.Report, 0, len(args))
	var failed []error // of files that could not be checked; the others still are
	for _, path := range args {
		r, err := doctor.Check(cmd.Context(), path, options)
		if err != nil && cmd.Context().Err() != nil {
			return err
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		reports = append(reports, r)
		switch f.format {
		case doctorGitHub:
			err = r.GitHub(s.Commands(s.Out))
		case doctorText:
			if len(reports) > 1 {
				s.Printf("\n")
			}
			err = r.Text(s.Out, doctorPaint(s))
		}
		if err != nil {
			return err
		}
	}
	if f.format == doctorJSON {
		if err := s.PrintJSON(reports); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return errors.Join(failed...)
	}
	return doctorExit(reports)
}

// doctorPaint colours severities where the output may have escape sequences.
func doctorPaint(s console.IO) doctor.Paint {
	if !s.Color(s.Out) {
		return nil
	}
	colors := map[doctor.Severity]text.Colors{doctor.Error: {text.FgRed, text.Bold}, doctor.Warning: {text.FgYellow, text.Bold}, doctor.Info: {text.Bold}}
	return func(severity doctor.Severity, words string) string {
		return colors[severity].EscapeSeq() + words + text.Reset.EscapeSeq()
	}
}

// doctorExit is the exit code of the worst finding; the findings are printed already.
func doctorExit(reports []*doctor.Report) error {
	code := console.ExitOK
	for _, r := range reports {
		worst, found := r.Worst()
		switch {
		case !found || worst == doctor.Info:
		case worst == doctor.Warning:
			code = max(code, console.ExitDiffered)
		default:
			code = max(code, console.ExitFailed)
		}
	}
	if code == console.ExitOK {
		return nil
	}
	return &console.ExitError{Code: code}
}
