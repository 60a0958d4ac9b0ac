package replays

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/near"
)

// scenarioFlags name a history by its scenario: NAME of fixtures/NAME/recording.db or fixtures/NAME.db.
type scenarioFlags struct {
	name, dir string
}

func (f *scenarioFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "scenario", "", "replay this scenario in place of FILE.db: the name of a directory of --fixtures")
	flags.StringVar(&f.dir, "fixtures", "", "where scenarios are: DIR/NAME/recording.db or DIR/NAME.db (default: the nearest "+console.FixturesDir+" at or above the working directory)")
	if err := errors.Join(cmd.RegisterFlagCompletionFunc("scenario", f.complete), cmd.MarkFlagDirname("fixtures")); err != nil {
		panic(fmt.Sprintf("completion of --scenario: %v", err)) // only a second registration of the same flag fails
	}
}

// history is the path of the history to replay: the one argument, or that of the scenario.
func (f *scenarioFlags) history(cmd *cobra.Command, args []string) (string, error) {
	switch {
	case f.name == "" && f.dir != "":
		return "", console.UsageErrorf(cmd, "--fixtures goes with --scenario")
	case f.name == "":
		return args[0], nil
	case len(args) > 0:
		return "", console.UsageErrorf(cmd, "%s and --scenario %s: give one history, by its file or by its scenario", strings.Join(args, " "), f.name)
	}
	dir, err := f.fixtures()
	if err != nil {
		return "", err
	}
	scenarios, err := scenariosIn(dir)
	if err != nil {
		return "", err
	}
	if path, ok := scenarios[f.name]; ok {
		return path, nil
	}
	names := slices.Sorted(maps.Keys(scenarios))
	if len(names) == 0 {
		return "", fmt.Errorf("--scenario %s: %s has no scenarios: want NAME/recording.db or NAME.db in it", f.name, dir)
	}
	if hint := near.Suggest(f.name, names); hint != "" {
		return "", fmt.Errorf("--scenario %s: %s has no such scenario%s", f.name, dir, hint)
	}
	return "", fmt.Errorf("--scenario %s: %s has no such scenario: want one of %s", f.name, dir, strings.Join(names, ", "))
}

// fixtures is the directory with scenarios: the one given, else the nearest of that name, as go finds its module.
func (f *scenarioFlags) fixtures() (string, error) {
	if f.dir != "" {
		return f.dir, nil
	}
	at, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := at; ; dir = filepath.Dir(dir) {
		candidate := filepath.Join(dir, console.FixturesDir)
		if info, err := os.Stat(candidate); err == nil && info.IsDir() {
			if short, err := filepath.Rel(at, candidate); err == nil {
				candidate = short
			}
			return candidate, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("there is no directory %s here or above: say where scenarios are (--fixtures DIR), or give a history (FILE.db)", console.FixturesDir)
		}
	}
}

// scenariosIn are the histories of a directory by the name of their scenario.
func scenariosIn(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--fixtures: %s does not exist", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("--fixtures: %w", err)
	}
	out := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if name, isFile := strings.CutSuffix(e.Name(), ".db"); isFile {
			out[name] = path
			continue
		}
		path = filepath.Join(path, "recording.db")
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			out[e.Name()] = path
		}
	}
	return out, nil
}

func (f *scenarioFlags) complete(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	dir, err := f.fixtures()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	scenarios, err := scenariosIn(dir)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return console.Printable(slices.Sorted(maps.Keys(scenarios))), cobra.ShellCompDirectiveNoFileComp
}
