package histories

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder/history"
)

// compacted is one file's result in the JSON of compact.
type compacted struct {
	File string `json:"file"`
	history.CompactReport
}

func newCompactCommand(s console.IO) *cobra.Command {
	var format console.Format
	cmd := &cobra.Command{
		Use:   "compact FILE.db...",
		Short: "Make histories as small as their content allows",
		Long: `Rewrite histories without what nothing refers to any more and without empty pages, in today's format. What they say
stays the same, to the byte of an export.

Each file is replaced when its successor is complete, or stays as it was; readers that have it open go on. A history
that a recorder writes to is refused. The folder needs room for a second copy.`,
		Example: `  # After months of recording with --retain
  scalehist compact prod.db

  # All of them, for a script
  scalehist compact histories/*.db -o json`,
		Args:              someHistories,
		ValidArgsFunction: console.CompleteHistories,
		RunE: func(cmd *cobra.Command, args []string) error {
			results := []compacted{}
			for _, file := range args {
				report, err := history.Compact(cmd.Context(), file)
				if err != nil {
					return err
				}
				results = append(results, compacted{file, report})
				if format != console.FormatJSON {
					s.Printf("%s: %s, was %s\n", file, bytesText(report.After), bytesText(report.Before))
				}
			}
			if format == console.FormatJSON {
				return s.PrintJSON(results)
			}
			return nil
		},
	}
	console.AddFormatFlag(cmd, &format)
	return cmd
}

// someHistories wants at least one file.
func someHistories(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return console.UsageErrorf(cmd, "%s: missing argument FILE.db", cmd.CommandPath())
	}
	if slices.Contains(args, "") {
		return console.UsageErrorf(cmd, "%s: FILE.db is empty", cmd.CommandPath())
	}
	return nil
}
