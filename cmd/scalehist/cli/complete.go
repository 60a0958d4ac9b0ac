package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder/history"
	reports "github.com/scalehist/scalehist/report"
)

// completeFlags gives every flag a completion that has none of its own: node groups where it is about them, files and
// directories where it takes one, and else nothing rather than the files of the working directory.
func completeFlags(root *cobra.Command) {
	console.WalkCommands(root, func(cmd *cobra.Command) {
		for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(flag *pflag.Flag) {
				if !completed(cmd, flag) {
					console.MustComplete(cmd, flag.Name, completionOf(flag))
				}
			})
		}
	})
}

func completed(cmd *cobra.Command, flag *pflag.Flag) bool {
	if _, ok := cmd.GetFlagCompletionFunc(flag.Name); ok {
		return true
	}
	_, file := flag.Annotations[cobra.BashCompFilenameExt]
	_, dir := flag.Annotations[cobra.BashCompSubdirsInDir]
	return file || dir
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
	case strings.Contains(kind, "|") && kind != new(console.TimeFlag).Type():
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
	for _, name := range groupsOf(cmd.Context(), console.ResolveFixture(args[0])) {
		out = append(out, name+"=")
	}
	return console.Printable(out), directive
}

// groupsOf are the node groups of a history at its end, or of a report; none when it is neither.
func groupsOf(ctx context.Context, path string) []string {
	if !console.IsHistory(path) {
		r, err := console.ReadReport(path)
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
