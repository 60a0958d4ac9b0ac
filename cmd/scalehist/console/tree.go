package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// AllFlags are the flags of a command and those of all commands, in name order.
func AllFlags(cmd *cobra.Command) []*pflag.Flag {
	var out []*pflag.Flag
	seen := map[string]bool{}
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
		set.VisitAll(func(f *pflag.Flag) {
			if !seen[f.Name] {
				seen[f.Name] = true
				out = append(out, f)
			}
		})
	}
	slices.SortFunc(out, func(a, b *pflag.Flag) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// WalkCommands calls f for a command and all below it, without those that cobra adds for itself.
func WalkCommands(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && !strings.HasPrefix(sub.Name(), "__") {
			WalkCommands(sub, f)
		}
	}
}

// RequireFlag marks a flag of cmd as required.
func RequireFlag(cmd *cobra.Command, name string) {
	if err := cmd.MarkFlagRequired(name); err != nil {
		panic(fmt.Sprintf("%s: %v", cmd.Name(), err)) // only an unknown flag fails
	}
}

func MustComplete(cmd *cobra.Command, name string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
		panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
	}
}
