package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/scenario"
	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/report/ci"
)

// testFlags are the flags of test.
type testFlags struct {
	format           string
	plane            string
	run              string
	junit, artifacts string
	jobs             int
	failFast         bool
	list, update     bool
}

func newTestCommand(s console.IO) *cobra.Command {
	f := &testFlags{}
	cmd := &cobra.Command{
		Use:   "test FILE.yaml|DIR|GLOB...",
		Short: "Run scenario files: replay histories, and say what is not as expected",
		Long: `test runs the scenarios of YAML files: each names a history, how to replay it, and what should come of it. Of a directory it runs
all *.yaml and *.yml files, those below it too; files there that are no scenarios are passed over, with a note.

What is not as expected is told with the line of the expectation, the table of node groups, the first decision that went another way,
and the command that runs just this scenario. Each leaves its report, timeline, log and the replayed part of the history under
gen/NAME. docs/scenarios.md has all keys; 'scalehist new scenario' writes a file to begin with.

In a GitHub workflow (GITHUB_ACTIONS=true) it prints annotations at the lines of the expectations, and writes the job summary.

The exit code is 0 when everything is as expected, 1 when something is not, 2 when a file is wrong or a replay failed.`,
		Example: `  # A file to begin with, and run it
  scalehist new scenario prod.db -f scenarios/prod.yaml
  scalehist test scenarios

  # One scenario of a file, on a real API server
  scalehist test scenarios/prod.yaml --run '^night$' --control-plane envtest

  # For CI
  scalehist test scenarios/*.yaml --junit gen/scenarios.xml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return console.UsageErrorf(cmd, "%s: missing argument FILE.yaml, DIR or GLOB", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runTest(cmd, s, f, args) },
	}
	replays.AddPageFlag(cmd, &f.format, replays.PageText, replays.PageMarkdown, replays.PageJSON)
	flags := cmd.Flags()
	flags.StringVar(&f.run, "run", "", "run the scenarios whose name matches this regular expression")
	flags.BoolVar(&f.list, "list", false, "list the scenarios, and run none")
	flags.BoolVar(&f.failFast, "fail-fast", false, "begin no other scenario when one did not pass")
	flags.BoolVar(&f.update, "update", false, "write golden files instead of comparing with them; read their diff before you commit it")
	flags.IntVar(&f.jobs, "jobs", 0, "scenarios at once; changes no result (default: the processors, half of them where one runs on "+harness.EnvTest+")")
	flags.StringVar(&f.plane, "control-plane", "", "run all scenarios on "+strings.Join(harness.ControlPlanes, " or ")+", whatever they say")
	flags.StringVar(&f.junit, "junit", "", "write the result to this file as JUnit")
	flags.StringVar(&f.artifacts, "artifacts", "gen", "directory for what the scenarios leave, each in its own")
	for name, complete := range map[string]cobra.CompletionFunc{
		"control-plane": cobra.FixedCompletions(harness.ControlPlanes, cobra.ShellCompDirectiveNoFileComp),
		"run":           completeScenario,
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	return cmd
}

// completeScenario completes names out of the files that are given, or of ./scenarios.
func completeScenario(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		args = []string{"scenarios"}
	}
	var out []string
	if files, err := scenarioFiles(args); err == nil {
		for _, file := range files {
			all, err := scenario.Load(file.path, scenarioEngines{})
			if err != nil {
				continue
			}
			for _, one := range all {
				out = append(out, one.Name)
			}
		}
	}
	return console.Printable(out), cobra.ShellCompDirectiveNoFileComp
}

// scenarioEngines are the engines as scenarios name them.
type scenarioEngines struct{}

func (scenarioEngines) Names() []string                            { return engines.Names() }
func (scenarioEngines) Engine(name string) (harness.Option, error) { return engines.Engine(name) }
func (scenarioEngines) RealTime(name string) bool                  { return engines.IsExec(name) }
func (scenarioEngines) Controls(s *harness.Settings, path func(string) string) ([]harness.Option, error) {
	return engines.Controls(s, path)
}

func (scenarioEngines) CheckFlags(name string, flags []string) error {
	return engines.CheckFlags(name, flags)
}
func (scenarioEngines) JudgeScaleUps(ctx context.Context, r *scalehist.ReplayReport, prices *prices.Table) error {
	return engines.JudgeScaleUps(ctx, r, prices)
}

// scenarioEnv is what scenarios run in.
func scenarioEnv(cmd *cobra.Command, s console.IO, override string) scenario.Env {
	return scenario.Env{
		Engines: scenarioEngines{}, DefaultPlane: harness.DefaultControlPlane(), Override: override,
		Plane: func(name, logs string) (harness.Option, error) {
			if name != harness.EnvTest {
				logs = "" // there are no processes that log
			}
			return replays.ControlPlane(cmd, s, name, logs)
		},
	}
}

func runTest(cmd *cobra.Command, s console.IO, f *testFlags, args []string) error {
	if !slices.Contains([]string{replays.PageText, replays.PageMarkdown, replays.PageJSON}, f.format) {
		return console.UsageErrorf(cmd, "--output %q: must be text, markdown or json", f.format)
	}
	if f.plane != "" && !slices.Contains(harness.ControlPlanes, f.plane) {
		return console.UsageErrorf(cmd, "--control-plane %q: want %s", f.plane, strings.Join(harness.ControlPlanes, " or "))
	}
	if f.jobs < 0 {
		return console.UsageErrorf(cmd, "--jobs must not be negative")
	}
	match, err := regexp.Compile(f.run)
	if err != nil {
		return console.UsageErrorf(cmd, "--run: %v", err)
	}
	files, err := scenarioFiles(args)
	if err != nil {
		return err
	}
	all, err := loadScenarios(s, files)
	if err != nil {
		return errors.Join(err, f.publish(s, ci.Run{Title: testTitle, Outcomes: broken(err)}))
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(one *scenario.Scenario) bool { return !match.MatchString(one.Name) })
	if len(chosen) == 0 {
		var names []string
		for _, one := range all {
			names = append(names, one.Name)
		}
		return fmt.Errorf("--run %s matches none of the scenarios %s%s", f.run, strings.Join(names, ", "), near.Suggest(strings.Trim(f.run, "^$"), names))
	}
	if f.list {
		return f.printList(s, chosen)
	}
	return f.play(cmd, s, chosen)
}

// scenarioFile is a file to read; sought says that a directory brought it, so it may be about something else.
type scenarioFile struct {
	path   string
	sought bool
}

// scenarioFiles are the files that arguments mean, each once: those of a directory in the order of their names.
func scenarioFiles(args []string) ([]scenarioFile, error) {
	var out []scenarioFile
	seen := map[string]bool{}
	add := func(path string, sought bool) {
		key, err := filepath.Abs(path)
		if err != nil {
			key = path
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, scenarioFile{path, sought})
		}
	}
	for _, arg := range args {
		paths := []string{arg}
		if _, err := os.Stat(arg); err != nil {
			if paths, _ = filepath.Glob(arg); len(paths) == 0 { // a bad pattern is a path that is not there
				return nil, fmt.Errorf("%s: there is no such file or directory, and nothing matches it", arg)
			}
		}
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil {
				return nil, err
			}
			if !info.IsDir() {
				add(path, false)
				continue
			}
			before := len(out)
			if err := walkYAML(path, func(file string) { add(file, true) }); err != nil {
				return nil, err
			}
			if len(out) == before && len(paths) == 1 {
				return nil, fmt.Errorf("%s: there is no *.yaml in it: 'scalehist new scenario FILE.db -f %s' writes one", arg, filepath.Join(arg, "NAME.yaml"))
			}
		}
	}
	return out, nil
}

func walkYAML(dir string, each func(file string)) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !d.IsDir() && slices.Contains([]string{".yaml", ".yml"}, strings.ToLower(filepath.Ext(path))):
			each(path)
		}
		return nil
	})
}

// loadScenarios reads the files, and reports everything that is wrong in any of them.
func loadScenarios(s console.IO, files []scenarioFile) ([]*scenario.Scenario, error) {
	var all []*scenario.Scenario
	var wrong []scenario.Problem
	for _, file := range files {
		one, err := scenario.Load(file.path, scenarioEngines{})
		var problems *scenario.FileError
		switch {
		case err == nil:
			all = append(all, one...)
		case file.sought && errors.Is(err, scenario.ErrNoScenario):
			s.Errf("%s is passed over: it is no scenario\n", file.path)
		case errors.As(err, &problems):
			wrong = append(wrong, problems.Problems...)
		default:
			return nil, err
		}
	}
	if len(wrong) == 0 {
		wrong = scenario.Twice(all)
	}
	if len(wrong) > 0 {
		return nil, &scenario.FileError{Problems: wrong}
	}
	if len(all) == 0 {
		return nil, errors.New("there is no scenario in what was given: 'scalehist new scenario FILE.db' writes one")
	}
	return all, nil
}

// broken are the files that could not be read as outcomes, so that a CI shows them too.
func broken(err error) []ci.Outcome {
	var wrong *scenario.FileError
	if !errors.As(err, &wrong) {
		return []ci.Outcome{{Name: testTitle, Status: ci.Broken, Problems: []ci.Problem{{Message: err.Error()}}}}
	}
	var out []ci.Outcome
	for _, p := range wrong.Problems {
		if n := len(out); n == 0 || out[n-1].File != p.File {
			out = append(out, ci.Outcome{Name: filepath.Base(p.File), Status: ci.Broken, File: p.File})
		}
		last := &out[len(out)-1]
		last.Problems = append(last.Problems, ci.Problem{File: p.File, Line: p.Line, Column: p.Column, Message: plaintext.Escape(p.Message)})
	}
	return out
}

func (f *testFlags) printList(s console.IO, all []*scenario.Scenario) error {
	type row struct {
		Name        string `json:"name"`
		File        string `json:"file"`
		Line        int    `json:"line"`
		History     string `json:"history"`
		Description string `json:"description,omitempty"`
	}
	rows := make([]row, 0, len(all))
	table := console.Table{Columns: []console.Column{{Name: "scenario"}, {Name: "file"}, {Name: "history"}, {Name: "description"}}}
	for _, one := range all {
		description := strings.Join(strings.Fields(one.Description), " ")
		rows = append(rows, row{one.Name, one.File, one.Line, one.Path(one.History), description})
		table.Rows = append(table.Rows, []string{one.Name, fmt.Sprintf("%s:%d", one.File, one.Line), one.Path(one.History), description})
	}
	if f.format == replays.PageJSON {
		return s.PrintJSON(rows)
	}
	s.PrintTable(table, console.FormatTable)
	return nil
}
