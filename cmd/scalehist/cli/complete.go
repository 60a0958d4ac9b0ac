package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/recorder/history"
	reports "github.com/scalehist/scalehist/report"
)

// completeFlags gives every flag a completion that has none of its own: node groups where it is about them, files and
// directories where it takes one, and else nothing rather than the files of the working directory.
func completeFlags(root *cobra.Command) {
	walkCommands(root, func(cmd *cobra.Command) {
		for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(flag *pflag.Flag) {
				if !completed(cmd, flag) {
					mustComplete(cmd, flag.Name, completionOf(flag))
				}
			})
		}
	})
}

// printable leaves out names that nobody could type, such as those of two lines: a shell would take each line for a name.
func printable(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return plaintext.Escape(name) != name })
}

func completed(cmd *cobra.Command, flag *pflag.Flag) bool {
	if _, ok := cmd.GetFlagCompletionFunc(flag.Name); ok {
		return true
	}
	_, file := flag.Annotations[cobra.BashCompFilenameExt]
	_, dir := flag.Annotations[cobra.BashCompSubdirsInDir]
	return file || dir
}

func mustComplete(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
	}
}

// perGroup are flags of the form --bounds GROUP=VALUE.
var perGroup = []string{"bounds", "provision-delay-of", "price-model-of"}

func completionOf(flag *pflag.Flag) cobra.CompletionFunc {
	words := strings.FieldsFunc(strings.ToLower(flag.Usage), func(r rune) bool { return r < 'a' || r > 'z' })
	has := func(list ...string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return slices.Contains(words, w) })
	}
	kind := flag.Value.Type()
	switch {
	case slices.Contains(perGroup, flag.Name):
		return completeGroups
	case strings.Contains(kind, "|") && kind != new(TimeFlag).Type():
		return cobra.FixedCompletions(strings.Split(kind, "|"), cobra.ShellCompDirectiveNoFileComp)
	case kind != "string" && !strings.HasPrefix(kind, "string"):
		return cobra.NoFileCompletions
	case strings.HasSuffix(flag.Name, "dir") || has("directory") && !has("file"):
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	case has("file", "files", "history", "kubeconfig", "pem", "yaml", "json", "certificate", "certificates", "log"):
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		}
	}
	return cobra.NoFileCompletions
}

// completeGroups completes "GROUP=" by the node groups of the history or the report that is given.
func completeGroups(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	if len(args) == 0 {
		return nil, directive
	}
	var out []string
	for _, name := range groupsOf(cmd.Context(), resolveFixture(args[0])) {
		out = append(out, name+"=")
	}
	return printable(out), directive
}

// groupsOf are the node groups of a history at its end, or of a report; none when it is neither.
func groupsOf(ctx context.Context, path string) []string {
	if !isHistory(path) {
		r, err := readReport(path)
		if err != nil {
			return nil
		}
		return reports.NodeGroupNames(r)
	}
	if ctx == nil {
		ctx = context.Background()
	}
	db, err := history.Open(ctx, path)
	if err != nil {
		return nil
	}
	defer db.Close() // only read
	_, end := db.Span()
	snapshot, err := db.SnapshotAt(ctx, end)
	if err != nil {
		return nil
	}
	var out []string
	for _, g := range snapshot.NodeGroups {
		out = append(out, g.Name)
	}
	return out
}

// fixturesDir is where a repository of scenarios has its recordings: fixtures/NAME/recording.db. A name stands for the file.
const fixturesDir = "fixtures"

// fixtureNames are the recordings there are by name, sorted.
func fixtureNames() []string {
	paths, _ := filepath.Glob(filepath.Join(fixturesDir, "*", "recording.db")) // the pattern is well formed
	var out []string
	for _, p := range paths {
		out = append(out, filepath.Base(filepath.Dir(p)))
	}
	slices.Sort(out)
	return out
}

// resolveFixture is the recording of a fixture's name, or what it was given.
func resolveFixture(name string) string {
	path := filepath.Join(fixturesDir, name, "recording.db")
	if name == "" || strings.ContainsAny(name, `/\`) || exists(name) || !exists(path) {
		return name
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// resolveFixtures puts the recordings of fixtures in place of their names among the arguments of a command that reads histories.
func resolveFixtures(cmd *cobra.Command, args []string) error {
	if !readsHistories(cmd) {
		return nil
	}
	for i, arg := range args {
		args[i] = resolveFixture(arg)
		if names := fixtureNames(); len(names) > 0 && !exists(args[i]) && !strings.ContainsAny(arg, `/\.`) {
			return fmt.Errorf("there is no file %q, and no fixture of that name in %s/%s", arg, fixturesDir, near.Suggest(arg, names))
		}
	}
	return nil
}

// readsHistories says whether the arguments of a command are histories that it leaves as they are.
func readsHistories(cmd *cobra.Command) bool {
	return strings.Contains(cmd.Use, "FILE.db") && !slices.Contains([]string{"compact", "retain"}, cmd.Name())
}

// completeHistory completes the one history a command takes: files that end in .db, the names of fixtures, and nothing after it.
func completeHistory(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeHistories(cmd, args, toComplete)
}

// completeHistories completes as many histories as a command takes.
func completeHistories(cmd *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
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
