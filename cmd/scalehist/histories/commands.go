package histories

import (
	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// Commands are the constructors of the commands of this package.
func Commands() []func(console.IO) *cobra.Command {
	return []func(console.IO) *cobra.Command{
		newCompactCommand, newCutCommand, newEmulateCommand, newExportCommand, newGenerateCommand, newImportCommand, newInspectCommand, newPrometheusCommand, newRecordCommand, newRedactCommand, newRetainCommand, newServeCommand,
	}
}
