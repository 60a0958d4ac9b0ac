package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recommender/api"
)

// keeping replays a fixture with whole objects, and returns where the report is.
func keeping(t *testing.T, name string) string {
	t.Helper()
	return replayed(t, name, "--full-snapshots")
}

// TestReplaySnapshots: a report is decided again by another engine, with a verdict, as text and as JSON.
func TestReplaySnapshots(t *testing.T) {
	dir := keeping(t, "two-machine-sizes")
	code, stdout, stderr := run(t, t.Context(), "replay", dir, "--playback", "snapshots")
	if code != console.ExitOK || !strings.Contains(stdout, "2 of 2 agree") {
		t.Errorf("its own engine: exit %d, %s\n%s", code, stderr, stdout)
	}
	prices := written(t, "prices.yaml", []byte(stdPrices))
	args := []string{"replay", dir, "--playback", "snapshots", "--autoscaler", "recommender:optimal", "--prices", prices, "--optimal"}
	again := filepath.Join(t.TempDir(), "again")
	code, stdout, stderr = run(t, t.Context(), append(args, "-o", "json", "--report-dir", again)...)
	var r scalehist.ReplayReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || len(r.Events) != 2 || r.Playback != scalehist.PlaybackSnapshots || r.Moments != nil {
		t.Fatalf("exit %d, %s, %v: %d events", code, stderr, err, len(r.Events))
	}
	if want := map[bool]int{true: console.ExitOK, false: console.ExitDiffered}[r.Agreement.Agreed]; code != want {
		t.Errorf("exit %d, agreed %t", code, r.Agreement.Agreed)
	}
	for _, d := range r.Decisions {
		if len(d.ScaleUps) > 0 && (d.Optimality == nil || !d.Optimality.Optimal || !strings.HasPrefix(d.Optimality.Unit, "EUR")) {
			t.Errorf("optimality %+v", d.Optimality)
		}
	}
	if code, stdout, stderr = run(t, t.Context(), "compare", again, again); code != console.ExitOK || !strings.Contains(stdout, "optimal.distance") {
		t.Errorf("compared: exit %d, %s\n%s", code, stderr, stdout)
	}
}

// TestRecommendFromDecision: the cluster of one decision, with all that the engine of a replay saw.
func TestRecommendFromDecision(t *testing.T) {
	dir := keeping(t, "from-zero")
	var got api.Response
	if err := json.Unmarshal([]byte(recommended(t, "--report", dir, "--at", "+26.54s", "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	if ups := got.Recommendation.ScaleUps; len(ups) != 1 || ups[0].NodeGroup != "batch" || ups[0].Count != 3 || len(got.Warnings) > 0 {
		t.Errorf("scale-ups %+v, warnings %v", ups, got.Warnings)
	}
	code, _, stderr := run(t, t.Context(), "recommend", "--report", dir, "--at", "+21s")
	if code != console.ExitFailed || !strings.Contains(stderr, "choose one of +26.54s") {
		t.Errorf("no such decision: exit %d, %s", code, stderr)
	}
}

func TestReplaySnapshotsErrors(t *testing.T) {
	dir, db := replayed(t, "from-zero"), fixture("from-zero")
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"the report keeps no clusters to decide about: make it with 'scalehist replay --full-snapshots'", []string{dir, "--playback", "snapshots"}},
		{"reads a report, and " + db + " is a history", []string{db, "--playback", "snapshots"}},
		{"is a report, not a history: replay its decisions again with --playback snapshots", []string{dir}},
		{"--from has no effect on --playback snapshots", []string{dir, "--playback", "snapshots", "--from", "+1s"}},
		{"--fault has no effect on --playback snapshots", []string{dir, "--playback", "snapshots", "--fault", "refuse:batch"}},
		{"--truth: a snapshots playback has no outcome", []string{dir, "--playback", "snapshots", "--truth", "x.truth.json"}},
		{"report no/report does not exist", []string{"no/report", "--playback", "snapshots"}},
		{`--playback "snapshot": want continuous, per-event or snapshots`, []string{dir, "--playback", "snapshot"}},
	} {
		code, stdout, stderr := run(t, t.Context(), append([]string{"replay"}, tt.args...)...)
		if code != console.ExitFailed || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("replay %v: exit %d, error %q, want %q", tt.args, code, stderr, tt.want)
		}
	}
}

// TestOptimal: every engine's scale-ups are judged alike, in a replay, a comparison and a sweep.
func TestOptimal(t *testing.T) {
	prices := written(t, "prices.yaml", []byte("currency: EUR\nmachineTypes: {std-2: 0.2, std-8: 0.3}\n"))
	code, stdout, stderr := run(t, t.Context(), "replay", fixture("two-machine-sizes"), "--control-plane", "memory", "--prices", prices, "--optimal", "-o", "json")
	var r scalehist.ReplayReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != console.ExitOK {
		t.Fatalf("exit %d, %s, %v", code, stderr, err)
	}
	var gaps []int
	for _, d := range r.Decisions {
		if d.Optimality != nil {
			gaps = append(gaps, int(100*d.Optimality.Gap))
		}
	}
	if diff := cmp.Diff([]int{0, 33}, gaps); diff != "" || r.Moments != nil {
		t.Errorf("gaps in %% (-want +got):\n%s, moments %v", diff, r.Moments != nil)
	}
	code, stdout, stderr = run(t, t.Context(), "compare", fixture("two-machine-sizes"), "--engine", "virtualca", "--engine", "recommender:optimal", "--prices", prices, "--optimal")
	if line := lineWith(stdout, "optimal.distance"); code != console.ExitOK || !strings.Contains(line, "8.33 %") || !strings.Contains(line, "0 %") {
		t.Errorf("compare: exit %d, %s: %s", code, stderr, line)
	}
	code, _, stderr = run(t, t.Context(), "compare", t.TempDir(), t.TempDir(), "--optimal")
	if code != console.ExitFailed || !strings.Contains(stderr, "--optimal says how to replay") {
		t.Errorf("compare of reports: exit %d, %s", code, stderr)
	}
}

func lineWith(text, part string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}
