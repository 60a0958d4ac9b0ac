package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// alsoCalled lets flags of a command be given by names they had before: earlier name to name. They are not shown.
func alsoCalled(cmd *cobra.Command, names map[string]string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if today, ok := names[name]; ok {
			name = today
		}
		return pflag.NormalizedName(name)
	})
}
