package replays

import "github.com/spf13/cobra"

func addNoScaleDownFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "no-scale-down", false, "keep the autoscaler from removing nodes, whatever was recorded or --autoscaler-flag says")
}
