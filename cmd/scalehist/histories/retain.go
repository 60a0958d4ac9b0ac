package histories

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder/history"
)

// retained is the JSON of retain.
type retained struct {
	File string `json:"file"`
	history.RetainReport
	history.CompactReport
}

func newRetainCommand(s console.IO) *cobra.Command {
	var format console.Format
	var keep KeepFlag
	cmd := &cobra.Command{
		Use:   "retain FILE.db --keep 30d",
		Short: "Forget what ended long ago",
		Long: `Forget what ended longer ago than a time before the end of a history, and compact the file. Every instant that is left
reads as before; the history begins at the first of them.

The file is replaced when its successor is complete, or stays as it was. A history that a recorder writes to is
refused: that recorder can be told how much to keep.`,
		Example: `  # The last 30 days
  scalehist retain prod.db --keep 30d

  # The last day and a half, what was forgotten as JSON
  scalehist retain prod.db --keep 1d12h -o json`,
		Args:              console.ExactArgs("FILE.db"),
		ValidArgsFunction: console.CompleteHistory,
		RunE: func(cmd *cobra.Command, args []string) error {
			if keep <= 0 {
				return console.UsageErrorf(cmd, "retain: nothing says how much to keep: give --keep, for example --keep 30d")
			}
			db, err := history.Open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			first, last := db.Span()
			if err := db.Close(); err != nil {
				return err
			}
			cut := last.Add(-time.Duration(keep))
			if cut.Before(first) {
				cut = first
			}
			forgot, packed, err := history.Retain(cmd.Context(), args[0], cut)
			if err != nil {
				return err
			}
			if format == console.FormatJSON {
				return s.PrintJSON(retained{args[0], forgot, packed})
			}
			s.Printf("%s: begins at %s; forgot %d versions of objects, %d sightings of events, %d usages and %d samples: %s, was %s\n", args[0],
				stamp(forgot.From), forgot.Versions, forgot.Events, forgot.Usages, forgot.Samples, bytesText(packed.After), bytesText(packed.Before))
			return nil
		},
	}
	cmd.Flags().Var(&keep, "keep", "how much of the end to keep (30d, 12h, 1d12h)")
	console.RequireFlag(cmd, "keep")
	console.AddFormatFlag(cmd, &format)
	return cmd
}

// KeepFlag is a length of time on the command line that may have days: "30d", "1d12h", "90m".
type KeepFlag time.Duration

// String implements pflag.Value.
func (k *KeepFlag) String() string {
	if *k == 0 {
		return ""
	}
	return time.Duration(*k).String()
}

// Type implements pflag.Value; help shows it.
func (k *KeepFlag) Type() string { return "duration" }

var keepDays = regexp.MustCompile(`^(\d{1,5})d(.*)$`)

// Set implements pflag.Value.
func (k *KeepFlag) Set(v string) error {
	total, rest := time.Duration(0), v
	if m := keepDays.FindStringSubmatch(v); m != nil {
		days, err := strconv.Atoi(m[1])
		if err != nil {
			return fmt.Errorf("%q: %w", v, err)
		}
		total, rest = time.Duration(days)*24*time.Hour, m[2]
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil {
			return fmt.Errorf("%q is no length of time such as 30d, 12h or 1d12h", v)
		}
		total += d
	}
	if total <= 0 || total > 100*365*24*time.Hour {
		return fmt.Errorf("%q is not between nothing and a hundred years", v)
	}
	*k = KeepFlag(total)
	return nil
}
