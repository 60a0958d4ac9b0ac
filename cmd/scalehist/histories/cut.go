package histories

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// cutResult is the JSON of cut.
type cutResult struct {
	File  string    `json:"file"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	Bytes int64     `json:"bytes"`
}

func newCutCommand(s console.IO) *cobra.Command {
	var format console.Format
	var from, until console.TimeFlag
	var to string
	cmd := &cobra.Command{
		Use:   "cut FILE.db --from TIME --to TIME -f OUT.db",
		Short: "Copy a window of a history into a history of its own",
		Long: `Copy a window of a history into a history of its own: the objects that lived at its start, and what happened until
its end. Every instant in it reads as in the original. The original may be recorded into meanwhile.

The new file appears complete or not at all; an existing one is never replaced.`,
		Example: `  # The ten minutes around an incident
  scalehist cut prod.db --from 2024-05-28T10:00:00Z --to 2024-05-28T10:10:00Z -f incident.db

  # The last hour
  scalehist cut prod.db --from -1h -f last-hour.db`,
		Args:              console.ExactArgs("FILE.db"),
		ValidArgsFunction: console.CompleteHistory,
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return console.UsageErrorf(cmd, "cut: no file to make: give -f OUT.db")
			}
			start, end, err := cutWindow(cmd, args[0], &from, &until)
			if err != nil {
				return err
			}
			err = transfer.Cut(cmd.Context(), args[0], to, start, end)
			var exists *dbfile.ExistsError
			if errors.As(err, &exists) {
				return fmt.Errorf("cut: %s exists already: remove it, or choose another name", exists.Path)
			}
			if err != nil {
				return err
			}
			info, err := os.Stat(to)
			if err != nil {
				return fmt.Errorf("cut: %w", err)
			}
			if format == console.FormatJSON {
				return s.PrintJSON(cutResult{File: to, From: start, To: end, Bytes: info.Size()})
			}
			s.Printf("%s: %s to %s, %s\n", to, stamp(start), stamp(end), bytesText(info.Size()))
			return nil
		},
	}
	cmd.Flags().Var(&from, "from", "start of the window (default: start of the history)")
	cmd.Flags().Var(&until, "to", "end of the window (default: end of the history)")
	cmd.Flags().StringVarP(&to, "out", "f", "", "the history to make (OUT.db)")
	console.RequireFlag(cmd, "out")
	console.AddFormatFlag(cmd, &format)
	return cmd
}

func cutWindow(cmd *cobra.Command, file string, from, until *console.TimeFlag) (start, end time.Time, err error) {
	db, err := history.Open(cmd.Context(), file)
	if err != nil {
		return start, end, err
	}
	start, end, err = resolveWindow(db, from, until)
	return start, end, errors.Join(err, db.Close())
}
