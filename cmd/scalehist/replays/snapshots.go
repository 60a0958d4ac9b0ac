package replays

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
)

// timeFlags are the flags of replay that say how time passes, what happens in it, and where: a playback of snapshots has
// none of that but what nodes need to join.
var timeFlags = []string{
	"from", "to", "for", "batch-interval", "scheduler", "recorded-faults", "fault", "faults", "provision-delay", "provision-delay-of",
	"deletion-delay", "bounds", "signs", "skip-unsupported", "control-plane", "log-dir",
}

func addOptimalFlag(cmd *cobra.Command, to *bool) {
	cmd.Flags().BoolVar(to, "optimal", false, "say of each scale-up how far it was from the cheapest one for the same pods (metric optimal.distance); needs time for each")
}

// checkSnapshots refuses flags that would have no effect on a playback of snapshots.
func (f *ReplayFlags) checkSnapshots(cmd *cobra.Command, path string) error {
	for _, name := range timeFlags {
		if cmd.Flags().Changed(name) {
			return console.UsageErrorf(cmd, "--%s has no effect on --playback snapshots: the clusters are those of the report, and time passes only until nodes have joined", name)
		}
	}
	if console.IsHistory(path) {
		return console.UsageErrorf(cmd, "--playback snapshots reads a report, and %s is a history: make one with 'scalehist replay %s --full-snapshots --report-dir DIR'", path, path)
	}
	return nil
}

// isReport says whether a path is a report: report.json, or the directory of one.
func isReport(path string) bool {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		_, err = os.Stat(filepath.Join(path, "report.json"))
		return err == nil
	}
	return err == nil && filepath.Ext(path) == ".json"
}

func replaySnapshots(ctx context.Context, path string, opts []harness.Option) (*scalehist.ReplayReport, error) {
	from, err := console.ReadReport(path)
	if err != nil {
		return nil, err
	}
	r, err := harness.ReplaySnapshots(ctx, from, opts...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// judge adds to a report how far its scale-ups were from the cheapest; the clusters stay in it only where they were asked for.
func (f *ReplayFlags) judge(ctx context.Context, cmd *cobra.Command, r *scalehist.ReplayReport) error {
	table, err := f.prices.Table(cmd)
	if err != nil {
		return err
	}
	if err := engines.JudgeScaleUps(ctx, r, table); err != nil {
		return err
	}
	if !f.FullSnapshots {
		r.Moments = nil
	}
	return nil
}

// completeHistoryOrReport completes what replay takes.
func completeHistoryOrReport(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	if f := cmd.Flags().Lookup("playback"); f != nil && scalehist.Playback(f.Value.String()) == scalehist.PlaybackSnapshots {
		return console.CompleteReport(cmd, args, toComplete)
	}
	return console.CompleteHistory(cmd, args, toComplete)
}
