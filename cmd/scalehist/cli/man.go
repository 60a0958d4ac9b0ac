package cli

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// epochVariable is the time of a build that gives the same bytes again (https://reproducible-builds.org/specs/source-date-epoch/).
const epochVariable = "SOURCE_DATE_EPOCH"

func newManCommand(s console.IO) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "man --dir DIR",
		Short: "Write the manual pages",
		Long: `Write the manual pages, one a command, in section 1. They have the date of the commit this program was built of, or that of
SOURCE_DATE_EPOCH, so that packages of one version have the same pages.`,
		Example: `  # For oneself
  scalehist man --dir ~/.local/share/man/man1 && man scalehist-replay`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			date, err := manDate(s)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return fmt.Errorf("--dir: %w: choose a directory that can be written to", err)
			}
			header := &doc.GenManHeader{Section: "1", Source: "scalehist " + console.CurrentVersion().Scalehist, Manual: "scalehist", Date: &date}
			if err := doc.GenManTree(cmd.Root(), header, dir); err != nil {
				return fmt.Errorf("--dir: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory to write to; it is made if it is not there")
	console.RequireFlag(cmd, "dir")
	return cmd
}

// manDate is the date on the pages.
func manDate(s console.IO) (time.Time, error) {
	if text := s.Env(epochVariable); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("%s %q: want seconds since 1970", epochVariable, text)
		}
		return time.Unix(seconds, 0).UTC(), nil
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if at, err := time.Parse(time.RFC3339, setting.Value); err == nil && setting.Key == "vcs.time" {
				return at.UTC(), nil
			}
		}
	}
	return time.Unix(0, 0).UTC(), nil
}
