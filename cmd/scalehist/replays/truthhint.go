package replays

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// truthBeside is the truth file that lies beside a history, "" if there is none: truth.json beside a fixture's recording.db,
// NAME.truth.json beside any NAME.db.
func truthBeside(history string) string {
	names := []string{strings.TrimSuffix(history, filepath.Ext(history)) + ".truth.json"}
	if filepath.Base(history) == "recording.db" {
		names = append(names, filepath.Join(filepath.Dir(history), "truth.json"))
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// partOnly is the flag that chooses a part of the recording, "" if all of it is replayed.
func (f *ReplayFlags) partOnly(cmd *cobra.Command) string {
	for _, name := range []string{"from", "to", "for"} {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

// hintTruth names a truth file that was not asked for, where it could have been. A replay is judged by it only with the flag,
// which says what the verdict is about.
func (f *ReplayFlags) hintTruth(cmd *cobra.Command, s console.IO, history string) {
	if f.truth != "" || scalehist.Playback(f.Playback).SingleMoments() || f.partOnly(cmd) != "" {
		return
	}
	if beside := truthBeside(history); beside != "" {
		s.Errf("hint: %s has what the autoscaler did with this load in several runs; judge the replay by it with --truth %s\n", beside, beside)
	}
}
