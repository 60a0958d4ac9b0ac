package replays

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/report/html"
)

func addEventReportsFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "event-reports", "", "write a report of each event of a per-event or snapshots playback there: DIR/event-0001/report.json and what --report-dir writes")
	if err := cmd.MarkFlagDirname("event-reports"); err != nil {
		panic(fmt.Sprintf("completion of --event-reports: %v", err)) // only an unknown flag fails
	}
}

// keepEvents writes the reports of events into directories that are numbered in their order.
func (f *ReplayFlags) keepEvents(cmd *cobra.Command) (harness.Option, error) {
	if !scalehist.Playback(f.Playback).SingleMoments() {
		return nil, console.UsageErrorf(cmd, "--event-reports: a %s playback has no events; add --playback %s or %s", f.Playback, scalehist.PlaybackPerEvent, scalehist.PlaybackSnapshots)
	}
	if err := os.MkdirAll(f.eventDir, 0o755); err != nil { // before anything is played
		return nil, fmt.Errorf("--event-reports: %w: choose a directory that can be written to", err)
	}
	return harness.WithEventReports(func(n int, r *scalehist.ReplayReport) error {
		dir := filepath.Join(f.eventDir, fmt.Sprintf("event-%04d", n))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("--event-reports: %w", err)
		}
		r.Run.Artifacts = dir
		return html.Save(dir, r)
	}), nil
}
