package replays

import (
	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// Commands are the constructors of the commands of this package.
func Commands() []func(console.IO) *cobra.Command {
	return []func(console.IO) *cobra.Command{
		newBacktestCommand, newEnvCommand, newTrainCommand, newReplayCommand, newSweepCommand, newCompareCommand, newConformanceCommand,
	}
}
