package cli

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/scenario"
)

// The forms of a scaffold.
const (
	formYAML = "yaml"
	formGo   = "go"
)

type newFlags struct {
	out, form, pkg, name string
	overwrite            bool
	plane                string
	replays.SettingsFlags
}

func newNewCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "new",
		Short: "Write a file to begin with",
		Long:  "new writes a file to begin with. 'scalehist gate init' prints a policy to begin with.",
		Example: `  # A scenario of what a history shows
  scalehist new scenario prod.db -f scenarios/prod.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return console.UsageErrorf(cmd, "%s: there is nothing called %q to begin with: want scenario", cmd.CommandPath(), args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return console.UsageErrorf(cmd, "%s: missing subcommand: want \"scenario\"", cmd.CommandPath())
		},
	}
	cmd.AddCommand(newScenarioCommand(s))
	return cmd
}

func newScenarioCommand(s console.IO) *cobra.Command {
	f := &newFlags{}
	cmd := &cobra.Command{
		Use:   "scenario FILE.db",
		Short: "Replay a history, and write what happens as a scenario to change",
		Long: `scenario replays a history and writes a scenario that expects just that: what scaled, what was decided first, which pods had no node
at the end, how long pods waited. Comments say what to change. The file is a scenario file (YAML) for 'scalehist test', or with --form go
the file of a Go test, which compiles by itself.`,
		Example: `  # A scenario file, to read on the terminal
  scalehist new scenario fixtures/from-zero/recording.db

  # Twenty minutes of a recording, with other flags, as a file
  scalehist new scenario prod.db -f scenarios/night.yaml --from +2h --to +2h20m --autoscaler-flag=--expander=most-pods
  scalehist test scenarios/night.yaml

  # As a Go test
  scalehist new scenario prod.db -f specs/night_test.go --package specs`,
		Args:              console.ExactArgs("FILE.db"),
		ValidArgsFunction: console.CompleteHistory,
		RunE:              func(cmd *cobra.Command, args []string) error { return runNewScenario(cmd, s, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "f", "", "the file to write; one that ends in .go is a Go test (default: standard output)")
	flags.StringVar(&f.form, "form", "", "yaml, or go (default: as the file ends, else yaml)")
	flags.StringVar(&f.pkg, "package", "scenarios", "package of a Go test")
	flags.StringVar(&f.name, "name", "", "name of the scenario (default: as the file or the history)")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the file, if it is there")
	f.NoSnapshot = true
	f.SettingsFlags.Add(cmd)
	flags.StringVar(&f.plane, "control-plane", harness.DefaultControlPlane(), "what the replay runs on; the scenario is the same")
	for name, complete := range map[string]cobra.CompletionFunc{
		"form":          cobra.FixedCompletions([]string{formYAML, formGo}, cobra.ShellCompDirectiveNoFileComp),
		"control-plane": cobra.FixedCompletions(harness.ControlPlanes, cobra.ShellCompDirectiveNoFileComp),
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	return cmd
}

func runNewScenario(cmd *cobra.Command, s console.IO, f *newFlags, history string) error {
	if f.form == "" {
		f.form = formYAML
		if filepath.Ext(f.out) == ".go" {
			f.form = formGo
		}
	}
	switch {
	case !slices.Contains([]string{formYAML, formGo}, f.form):
		return console.UsageErrorf(cmd, "--form %q: want yaml or go", f.form)
	case f.form == formGo && !token.IsIdentifier(f.pkg):
		return console.UsageErrorf(cmd, "--package %q is no name of a Go package", f.pkg)
	case f.form == formGo && f.out != "" && !strings.HasSuffix(f.out, "_test.go"):
		return console.UsageErrorf(cmd, "-f %s: a Go test is in a file that ends in _test.go", f.out)
	}
	if _, err := os.Stat(f.out); err == nil && !f.overwrite {
		return fmt.Errorf("new scenario: %s exists already: choose another name, or replace it with --overwrite", f.out)
	}
	one, err := f.scenario(cmd, history)
	if err != nil {
		return err
	}
	r, err := scenario.Scaffold(cmd.Context(), one, f.file(one.Name), scenarioEnv(cmd, s, f.plane))
	if err != nil {
		return fmt.Errorf("new scenario: %w", err)
	}
	text := ""
	if f.form == formYAML {
		text = one.YAML(r)
	} else if text, err = one.Go(r, f.pkg); err != nil {
		return fmt.Errorf("new scenario: %w", err)
	}
	if f.out == "" {
		err := s.Page(text)
		return err
	}
	err = os.MkdirAll(filepath.Dir(f.out), 0o755)
	if err == nil {
		err = os.WriteFile(f.out, []byte(text), 0o644)
	}
	if err != nil {
		return fmt.Errorf("new scenario: %w", err)
	}
	next := "scalehist test " + f.out
	if f.form == formGo {
		next = "go test " + goPackage(f.out)
	}
	s.Errf("wrote %s; run it: %s\n", f.out, next)
	return nil
}

// goPackage is the directory of a file as the go command takes it.
func goPackage(file string) string {
	dir := filepath.ToSlash(filepath.Dir(file))
	if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, ".") {
		dir = "./" + dir
	}
	return dir
}

// file is where the scenario will be, as far as its paths are concerned.
func (f *newFlags) file(name string) string {
	if f.out != "" {
		return f.out
	}
	return scenario.Slug(name) + ".yaml"
}

// scenario is what the flags say, without expectations.
func (f *newFlags) scenario(cmd *cobra.Command, history string) (*scenario.Scenario, error) {
	if _, err := os.Stat(history); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("new scenario: %s does not exist: give a history (.db)", history)
	}
	settings, err := f.Resolve(cmd)
	if err != nil {
		return nil, err
	}
	settings.Name = f.scenarioName(history)
	return &scenario.Scenario{Settings: settings, History: history}, nil
}

func (f *newFlags) scenarioName(history string) string {
	if f.name != "" {
		return f.name
	}
	if base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f.out), filepath.Ext(f.out)), "_test"); f.out != "" {
		return base
	}
	base := strings.TrimSuffix(filepath.Base(history), filepath.Ext(history))
	if dir := filepath.Base(filepath.Dir(history)); base == "recording" && dir != "." && dir != string(filepath.Separator) {
		return dir // as fixtures are kept
	}
	return base
}
