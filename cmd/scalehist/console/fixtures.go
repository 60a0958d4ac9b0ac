package console

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/internal/plaintext"
)

// Printable leaves out names that nobody could type, such as those of two lines: a shell would take each line for a name.
func Printable(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return plaintext.Escape(name) != name })
}

// FixturesDir is where a repository of scenarios has its recordings: fixtures/NAME/recording.db. A name stands for the file.
const FixturesDir = "fixtures"

// fixtureNames are the recordings there are by name, sorted.
func fixtureNames() []string {
	paths, _ := filepath.Glob(filepath.Join(FixturesDir, "*", "recording.db")) // the pattern is well formed
	var out []string
	for _, p := range paths {
		out = append(out, filepath.Base(filepath.Dir(p)))
	}
	slices.Sort(out)
	return out
}

// ResolveFixture is the recording of a fixture's name, or what it was given.
func ResolveFixture(name string) string {
	path := filepath.Join(FixturesDir, name, "recording.db")
	if name == "" || strings.ContainsAny(name, `/\`) || FileExists(name) || !FileExists(path) {
		return name
	}
	return path
}

func FileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ResolveFixtures puts the recordings of fixtures in place of their names among the arguments of a command that reads histories.
func ResolveFixtures(cmd *cobra.Command, args []string) error {
	if !readsHistories(cmd) {
		return nil
	}
	for i, arg := range args {
		if i < before(cmd) {
			continue
		}
		args[i] = ResolveFixture(arg)
		if names := fixtureNames(); len(names) > 0 && !FileExists(args[i]) && !strings.ContainsAny(arg, `/\.`) {
			return fmt.Errorf("there is no file %q, and no fixture of that name in %s/%s", arg, FixturesDir, near.Suggest(arg, names))
		}
	}
	return nil
}

// readsHistories says whether the arguments of a command are histories that it leaves as they are.
func readsHistories(cmd *cobra.Command) bool {
	return strings.Contains(cmd.Use, "FILE.db") && !slices.Contains([]string{"compact", "retain"}, cmd.Name())
}

// before is how many arguments of a command come before its histories: 1 of "train NAME [FILE.db]...".
func before(cmd *cobra.Command) int {
	if words := strings.Fields(cmd.Use); len(words) > 1 && words[1] == "NAME" {
		return 1
	}
	return 0
}

// CompleteHistory completes the one history a command takes: files that end in .db, the names of fixtures, and nothing after it.
func CompleteHistory(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return CompleteHistories(cmd, args, toComplete)
}

// CompleteHistories completes as many histories as a command takes.
func CompleteHistories(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if readsHistories(cmd) {
		names = slices.DeleteFunc(fixtureNames(), func(n string) bool { return !strings.HasPrefix(n, toComplete) })
	}
	if len(names) == 0 || strings.ContainsAny(toComplete, `/\~`) {
		return []string{"db"}, cobra.ShellCompDirectiveFilterFileExt
	}
	entries, _ := os.ReadDir(".") // none: then there are only fixtures
	for _, e := range entries {
		switch name := e.Name(); {
		case !strings.HasPrefix(name, toComplete) || strings.HasPrefix(name, "."):
		case e.IsDir():
			names = append(names, name+"/")
		case strings.HasSuffix(name, ".db"):
			names = append(names, name)
		}
	}
	slices.Sort(names)
	directive := cobra.ShellCompDirectiveNoFileComp
	if len(names) == 1 && strings.HasSuffix(names[0], "/") {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return names, directive
}
