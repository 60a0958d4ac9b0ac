package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// TestEventReports: both playbacks of single events write a report of each, which other commands read.
func TestEventReports(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
	}{
		{"per-event", []string{fixture("two-machine-sizes"), "--playback", "per-event", "--control-plane", "memory"}},
		{"snapshots", []string{keeping(t, "two-machine-sizes"), "--playback", "snapshots"}},
	} {
		dir := filepath.Join(t.TempDir(), "events")
		code, stdout, stderr := run(t, t.Context(), append([]string{"replay", "--event-reports", dir}, c.args...)...)
		if code != console.ExitOK || !strings.Contains(stdout, "PODS PLACED") {
			t.Fatalf("%s: exit %d, %s\n%s", c.name, code, stderr, stdout)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 || entries[0].Name() != "event-0001" || entries[1].Name() != "event-0002" {
			t.Fatalf("%s: %v, %v", c.name, entries, err)
		}
		for _, e := range entries {
			var r scalehist.ReplayReport
			b, err := os.ReadFile(filepath.Join(dir, e.Name(), "report.json"))
			if err == nil {
				err = json.Unmarshal(b, &r)
			}
			if err != nil || string(r.Playback) != c.name || len(r.Events) != 1 || len(r.Events[0].Placed) == 0 || len(r.ScaledUpNodes) == 0 {
				t.Errorf("%s %s: %v, playback %s, events %+v", c.name, e.Name(), err, r.Playback, r.Events)
			}
		}
		if code, stdout, stderr = run(t, t.Context(), "compare", filepath.Join(dir, "event-0001"), filepath.Join(dir, "event-0001")); code != console.ExitOK {
			t.Errorf("%s compared: exit %d, %s\n%s", c.name, code, stderr, stdout)
		}
	}
	code, _, stderr := run(t, t.Context(), "replay", fixture("from-zero"), "--event-reports", t.TempDir())
	if code != console.ExitFailed || !strings.Contains(stderr, "--event-reports: a continuous playback has no events; add --playback per-event or snapshots") {
		t.Errorf("continuous: exit %d, %s", code, stderr)
	}
}

// TestNoScaleDown: the option is in the settings a report shows, behind what was recorded and given.
func TestNoScaleDown(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "replay", fixture("idle-after-burst"), "--no-scale-down", "--autoscaler-flag=--scale-down-enabled=true",
		"--control-plane", "memory", "-o", "json")
	var r scalehist.ReplayReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit %d, %s: %v", code, stderr, err)
	}
	flags := r.Settings.Flags
	if len(r.ScaledDownNodeGroups) > 0 || len(r.Recorded.ScaledDownNodeGroups) == 0 || flags[len(flags)-1] != "--scale-down-enabled=false" {
		t.Errorf("scaled down %v, recorded %v, flags %v", r.ScaledDownNodeGroups, r.Recorded.ScaledDownNodeGroups, flags)
	}
}

// TestNoScaleDownOfScenarios: the same in a scenario file.
func TestNoScaleDownOfScenarios(t *testing.T) {
	for text, want := range map[string]int{
		"noScaleDown: true\nexpect: {scaledDown: {}}\n":  console.ExitOK,
		"noScaleDown: false\nexpect: {scaledDown: {}}\n": console.ExitDiffered,
	} {
		history, err := filepath.Abs(fixture("idle-after-burst"))
		if err != nil {
			t.Fatal(err)
		}
		file := written(t, "x.yaml", []byte("name: x\nhistory: "+history+"\nflags: [--scale-down-enabled=true]\n"+text))
		if code, stdout, stderr := run(t, t.Context(), "test", file, "--artifacts", t.TempDir()); code != want {
			t.Errorf("%q: exit %d, want %d: %s\n%s", text, code, want, stderr, stdout)
		}
	}
}
