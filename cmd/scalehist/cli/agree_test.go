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

// TestFrozenAutoscalerDiffers: an autoscaler that may not resize anything scales nothing and leaves nine pods. Every group ends
// as it began, as in the recording, and that is no agreement.
func TestFrozenAutoscalerDiffers(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "replay", fixture("full-day"), "--bounds", "std=1:1", "--bounds", "batch=0:0", "--control-plane", "memory")
	if code != console.ExitDiffered {
		t.Errorf("exit %d, want %d: %s", code, console.ExitDiffered, stderr)
	}
	for _, want := range []string{
		"\nverdict: differs in scaled-up, scaled-down, unschedulable\n", "  unschedulable  differs  0 pods ", " 9 pods\n", "  scaled-up      differs  batch +3, std +4 ",
		"\ndifferences from the recording:\n  missing recorded std 1->2 at +8h1m20s\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, stdout)
		}
	}
}

// TestReplayAgree: asked for steps, a replay whose steps differ does not agree any more, in the report that is kept too.
func TestReplayAgree(t *testing.T) {
	// Nodes are removed a minute later than recorded, and as many.
	args := []string{"replay", fixture("empty-nodes-in-bulk"), "--control-plane", "memory", "--autoscaler-flag=--scale-down-unneeded-time=2m"}
	if code, stdout, stderr := run(t, t.Context(), args...); code != console.ExitOK || !strings.Contains(stdout, "\nverdict: agrees\n") || !strings.Contains(stdout, "  steps          differs ") {
		t.Errorf("exit %d: %s\n%s", code, stderr, stdout)
	}
	dir := t.TempDir()
	code, stdout, stderr := run(t, t.Context(), append(args, "--agree", "waits,steps", "--report-dir", dir)...)
	if code != console.ExitDiffered || !strings.Contains(stdout, "\nverdict: differs in steps") {
		t.Errorf("with --agree: exit %d: %s\n%s", code, stderr, stdout)
	}
	data, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r scalehist.ReplayReport
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if a := r.Agreement; a.Agreed || len(a.Asked) != 2 {
		t.Errorf("kept: agreed %t, asked %v", a.Agreed, a.Asked)
	}
}

func TestReplayAgreeErrors(t *testing.T) {
	good := fixture("from-zero")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"unknown":   {[]string{good, "--agree", "stepps"}, `--agree "stepps": want scaled-up, scaled-down, unschedulable, peak-size, steps, waits; did you mean "steps"?`},
		"per event": {[]string{good, "--agree", "steps", "--playback", "per-event"}, "--agree steps: no time passes in a per-event playback"},
		"truth":     {[]string{good, "--agree", "steps", "--truth", written(t, "a.truth.json", []byte(truthOf("3")))}, "with --truth the truth file decides"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := run(t, t.Context(), append([]string{"replay"}, tt.args...)...)
			if code != console.ExitFailed || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d: %s, want %q", code, stderr, tt.want)
			}
		})
	}
}

func TestCompleteQuestions(t *testing.T) {
	for given, want := range map[string]string{"": "peak-size\nsteps\nwaits\n", "steps,": "steps,peak-size\nsteps,waits\n:"} {
		if _, stdout, _ := run(t, t.Context(), "__complete", "replay", "a.db", "--agree", given); !strings.Contains(stdout, want) {
			t.Errorf("%q: %s", given, stdout)
		}
	}
}
