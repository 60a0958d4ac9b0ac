package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// truthOf is a truth file about the fixture max-size-reached, in which std grows to a size in one step.
func truthOf(size string) string {
	return strings.ReplaceAll(`{
 "scenario": "max-size-reached", "what": "the only group stops at its max size", "recordedWith": {"clusterAutoscaler": "1.36.1"},
 "flags": ["--scan-interval=10s"], "sameSizeHistoryInAllRuns": true,
 "nodeGroups": [{"name": "std", "machineType": "std-4", "zone": "z1", "minSize": 1, "maxSize": 3, "initialSize": 1, "provisionDelaySeconds": 20}],
 "firstStepsInAllRuns": [{"at": 26.5, "sizes": {"std": [1, SIZE]}}],
 "outcomes": [{"scaledUp": {"std": 2}, "scaledDown": {"std": 0}, "finalSizes": {"std": 3}, "unschedulableAtEnd": 6}],
 "runs": [{"run": 1, "start": "2026-01-05T08:00:00Z", "durationSeconds": 115, "workloadStartSeconds": 16, "loops": [], "targetSizes": {},
  "providerCalls": [], "scaledUp": {}, "scaledDown": {}, "finalSizes": {}, "peakSizes": {}, "unschedulableAtEnd": [], "scheduledAtEnd": 9, "nodesAtEnd": 3}]
}`, "SIZE", size)
}

// TestReplayTruth: the truth decides the exit code, and its verdict is in the text and in the JSON.
func TestReplayTruth(t *testing.T) {
	file := written(t, "agreed.truth.json", []byte(truthOf("3")))
	code, stdout, stderr := run(t, t.Context(), "replay", fixture("max-size-reached"), "--truth", file)
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s\n%s", code, stderr, stdout)
	}
	for _, want := range []string{"truth: agrees with what the autoscaler was seen to do in 1 run", "outcome: number 1 of those seen: std +2 =3; 6 unschedulable"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, stdout)
		}
	}
	file = written(t, "differs.truth.json", []byte(truthOf("2")))
	code, stdout, stderr = run(t, t.Context(), "replay", fixture("max-size-reached"), "--truth", file, "-o", "json")
	if code != console.ExitDiffered {
		t.Fatalf("exit %d: %s\n%s", code, stderr, stdout)
	}
	var r scalehist.ReplayReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if v := r.Truth; v == nil || v.Agreed || v.Outcome != 1 || v.FirstDifference == nil || v.FirstDifference.Kind != "sizes" ||
		v.FirstDifference.Decision == nil || len(v.FirstDifference.Decision.Options) != 1 {
		t.Errorf("verdict %+v, want the first step to part, with our decision", v)
	}
}

func TestReplayTruthErrors(t *testing.T) {
	good := fixture("max-size-reached")
	file := written(t, "a.truth.json", []byte(truthOf("3")))
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"no file", []string{good, "--truth", "no/a.truth.json"}, []string{"--truth: truth file no/a.truth.json does not exist"}},
		{"another file", []string{good, "--truth", written(t, "x.json", []byte("{}"))}, []string{"x.json is not a truth file", `field "scenario" is missing`}},
		{"a part of the recording", []string{good, "--truth", file, "--from", "+10s"}, []string{"--truth is of the whole recording: leave out --from"}},
		{"single events", []string{good, "--truth", file, "--playback", "per-event"}, []string{"a per-event playback has no outcome"}},
		{"of another recording", []string{fixture("from-zero"), "--truth", file}, []string{"a.truth.json: truth of max-size-reached: it has the node groups std, the recording has batch, system"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), append([]string{"replay"}, tt.args...)...)
			if code != console.ExitFailed || stdout != "" {
				t.Errorf("exit %d, printed %q; want %d", code, stdout, console.ExitFailed)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("error %q lacks %q", stderr, want)
				}
			}
		})
	}
}

// TestTruthHint: a truth file beside the recording is named, and used only when it is asked for.
func TestTruthHint(t *testing.T) {
	history := fixture("ca-pdb-blocks-drain")
	beside := filepath.Join(filepath.Dir(history), "truth.json")
	hint := "hint: " + beside + " has what the autoscaler did with this load in several runs; judge the replay by it with --truth " + beside
	tests := []struct {
		name string
		args []string
		want bool
	}{
		{"beside", []string{history}, true},
		{"asked for", []string{history, "--truth", beside}, false},
		{"a part of the recording", []string{history, "--to", "+1m"}, false},
		{"none beside", []string{fixture("max-size-reached")}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), append([]string{"replay"}, tt.args...)...)
			if code > console.ExitDiffered {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			if got := strings.Contains(stderr, hint); got != tt.want {
				t.Errorf("hint: %t, want %t; printed %q", got, tt.want, stderr)
			}
			if got, want := strings.Contains(stdout, "\ntruth: "), tt.name == "asked for"; got != want {
				t.Errorf("verdict of the truth file: %t, want %t", got, want)
			}
		})
	}
}
