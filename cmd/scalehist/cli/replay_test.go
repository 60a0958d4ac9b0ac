package cli

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

func fixture(name string) string {
	return filepath.Join("..", "..", "..", "fixtures", name, "recording.db")
}

// patched copies a fixture with some of its bytes changed.
func patched(t *testing.T, name string, patch func([]byte) []byte) string {
	t.Helper()
	b, err := os.ReadFile(fixture("max-size-reached"))
	if err != nil {
		t.Fatal(err)
	}
	return written(t, name, patch(b))
}

func written(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReplayErrors: each bad input is one error that names the thing and what to do, and exit code 2.
func TestReplayErrors(t *testing.T) {
	good := fixture("max-size-reached")
	dir := t.TempDir()
	prices := func(text string) string { return written(t, "prices.yaml", []byte(text)) }
	tests := []struct {
		name string
		args []string
		// want are parts of the error.
		want []string
	}{
		{"no file", nil, []string{"missing argument FILE.db", "see 'scalehist replay --help'"}},
		{"missing", []string{"no/such.db"}, []string{"no/such.db does not exist", "scalehist record", "scalehist import"}},
		{"truncated", []string{patched(t, "cut.db", func(b []byte) []byte { return b[:len(b)/2] })}, []string{"cut.db is damaged or cut short", "copy it again"}},
		{"newer", []string{patched(t, "new.db", func(b []byte) []byte {
			binary.BigEndian.PutUint32(b[60:], 99) // user_version (https://www.sqlite.org/fileformat.html)
			return b
		})}, []string{"new.db has schema version 99", "use the scalehist that wrote it"}},
		{"another database", []string{patched(t, "other.db", func(b []byte) []byte {
			binary.BigEndian.PutUint32(b[68:], 0) // application_id
			return b
		})}, []string{"other.db is not a scalehist history but another SQLite database", "give a file written by"}},
		{"text", []string{written(t, "notes.db", []byte("to do: sleep"))}, []string{"notes.db is not a scalehist history but a file of another format"}},
		{"an object log", []string{written(t, "log.jsonl", []byte(`{"at":"2026-01-01T00:00:00Z"}`))}, []string{"log.jsonl is not a scalehist history but JSON", "scalehist import"}},
		{"a directory", []string{dir}, []string{dir + " is not a scalehist history but a directory"}},
		{"empty", []string{written(t, "empty.db", nil)}, []string{"empty.db"}},
		{"no instant", []string{good, "--from", "yesterday"}, []string{"--from", `"yesterday" is neither an instant`, "see 'scalehist replay --help'"}},
		{"outside", []string{good, "--from", "+2h"}, []string{"--from: time +2h", "the recording goes from"}},
		{"outside, for a file that is not there", []string{"no/such.db", "--from", "+2h"}, []string{"no/such.db does not exist"}},
		{"wrong way round", []string{good, "--from", "+20s", "--to", "+10s"}, []string{"max-size-reached", "window is empty"}},
		{"unknown group", []string{good, "--bounds", "sdt=1:2"}, []string{`unknown node group "sdt": there are std`}},
		{"bad bounds", []string{good, "--bounds", "std=5"}, []string{"--bounds std=5: want min:max"}},
		{"bounds the wrong way round", []string{good, "--bounds", "std=5:1"}, []string{"--bounds std=5:1: min 5 is above max 1: did you mean std=1:5?"}},
		{"bounds without a group", []string{good, "--bounds", "5:1"}, []string{"--bounds", "5:1"}},
		{"delay of an unknown group", []string{good, "--provision-delay-of", "sdt=90s"}, []string{`unknown node group "sdt": there are std`}},
		{"bad delay", []string{good, "--provision-delay-of", "std=soon"}, []string{"--provision-delay-of std=soon: want a duration"}},
		{"unknown autoscaler", []string{good, "--autoscaler", "karpenter"}, []string{`--autoscaler: unknown autoscaler "karpenter": choose one of `}},
		{"unknown playback", []string{good, "--playback", "backwards"}, []string{`--playback "backwards": want continuous, per-event or snapshots`}},
		{"no time passes per event", []string{good, "--playback", "per-event", "--for", "1m"}, []string{"--for: a per-event playback ends each event when its nodes have joined"}},
		{"unknown scheduler", []string{good, "--scheduler", "random"}, []string{`--scheduler "random": want default or bin-packing`}},
		{"unknown ties", []string{good, "--ties", "names"}, []string{`--ties "names": want upstream, hash or creation`}},
		{"negative", []string{good, "--for", "-1m"}, []string{"must not be negative"}},
		{"no price file", []string{good, "--prices", "no/prices.yaml"}, []string{"--prices", "no/prices.yaml", "no such file"}},
		{"unknown key in the prices", []string{good, "--prices", prices("currency: EUR\nmachinetypez: {a: 1}\n")}, []string{"--prices", "prices.yaml", "machinetypez"}},
		{"a machine type without a price", []string{good, "--prices", prices("currency: EUR\nmachineTypes: {std-2: 0.2}\n")}, []string{"max-size-reached", `machine type "std-4" is not in the price table`}},
		{"price of an unknown group", []string{good, "--prices", prices("currency: EUR\nnodeGroups: {sdt: 1}\n")}, []string{`"sdt"`}},
		{"a fault that is none", []string{good, "--fault", "flood:std"}, []string{`--fault: fault "flood:std": unknown kind "flood": choose one of stock-out`, "--help"}},
		{"a fault of an unknown group", []string{good, "--fault", "refuse:sdt"}, []string{`fault refuse:sdt: unknown node group "sdt": there are std`}},
		{"no fault file", []string{good, "--faults", "no/faults.yaml"}, []string{"--faults: open no/faults.yaml"}},
		{"a bad fault file", []string{good, "--faults", written(t, "faults.yaml", []byte("faults: [{kind: slow}]"))}, []string{"faults.yaml: faults[0]: slow needs a delay"}},
		{"unknown flag of the autoscaler", []string{good, "--autoscaler-flag=--expander=cheapest"}, []string{"cheapest"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), append([]string{"replay"}, tt.args...)...)
			if code != console.ExitFailed || stdout != "" || strings.Count(stderr, "scalehist: ") != 1 {
				t.Errorf("exit %d, printed %q; want %d, and one error:\n%s", code, stdout, console.ExitFailed, stderr)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("error %q lacks %q", stderr, want)
				}
			}
		})
	}
}

// TestReplayAgrees: exit code 0, the report as JSON and as files, costs.
func TestReplayAgrees(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	prices := written(t, "prices.yaml", []byte("currency: EUR\nmachineTypes: {std-4: 0.2}\n"))
	code, stdout, stderr := run(t, t.Context(), "replay", fixture("max-size-reached"), "-o", "json", "--report-dir", dir, "--prices", prices)
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal([]byte(stdout), &keys); err != nil {
		t.Fatalf("%v in %q", err, stdout)
	}
	for _, want := range []string{"scaledUpNodeGroups", "scaledDownNodeGroups", "decisions", "unschedulableAtEnd", "recorded", "agreement", "cost", "run"} {
		if _, ok := keys[want]; !ok {
			t.Errorf("the report has no %q", want)
		}
	}
	for key := range keys {
		if strings.ToLower(key[:1]) != key[:1] {
			t.Errorf("key %q is not camelCase", key)
		}
	}
	var r scalehist.ReplayReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"std": 2}, r.ScaledUpNodeGroups); diff != "" {
		t.Errorf("scaled up (-want +got):\n%s", diff)
	}
	if !r.Agreement.Agreed || r.Cost == nil || r.Cost.Total <= 0 {
		t.Errorf("agreement %+v, cost %+v", r.Agreement, r.Cost)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"report.html", "report.json", "report.txt", "timeline.txt"}, slices.Sorted(slices.Values(names))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if stderr != "" { // short work without a terminal shows no progress
		t.Errorf("standard error has %q, want nothing", stderr)
	}
}

// TestReplayDiffers: exit code 1, and the text says what differs.
func TestReplayDiffers(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "replay", fixture("max-size-reached"), "--bounds", "std=1:6")
	if code != console.ExitDiffered {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, want := range []string{"std", "differ"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(stderr, "scalehist: ") {
		t.Errorf("an error is printed beside the report: %s", stderr)
	}
}

// TestReplayFaults: faults from flags and a file are in the report, and do what they say.
func TestReplayFaults(t *testing.T) {
	file := written(t, "faults.yaml", []byte("faults:\n- {kind: spot-reclaim, nodeGroup: std, from: +50s}\n"))
	code, stdout, stderr := run(t, t.Context(), "replay", fixture("max-size-reached"), "--fault", "refuse:std@..+1m", "--faults", file, "-o", "json")
	if code == console.ExitFailed {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var r scalehist.ReplayReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"spot-reclaim:std@+50s", "refuse:std@..+1m0s"}, r.Faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(r.Batches, func(b scalehist.Batch) bool { return slices.Contains(b.NodesGone, "std-0") }) {
		t.Error("node std-0 was not reclaimed")
	}
	if len(r.Steps) > 0 && r.Steps[0].At.Before(r.StartTime.Add(time.Minute)) {
		t.Errorf("steps %v, want none while the group refuses", r.Steps)
	}
}

func TestReplayWindow(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "replay", fixture("two-machine-sizes"), "--from", "+90s", "--to", "-10s", "-o", "json")
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s\n%s", code, stderr, stdout)
	}
	var r scalehist.ReplayReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"small": 2}, r.ScaledUpNodeGroups); diff != "" {
		t.Errorf("scaled up (-want +got):\n%s", diff)
	}
}

func TestReplayInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, stderr := run(t, ctx, "replay", fixture("max-size-reached"))
	if code != console.ExitInterrupted || !strings.HasSuffix(stderr, "scalehist: interrupted\n") {
		t.Errorf("exit %d and %q, want %d and that it was interrupted", code, stderr, console.ExitInterrupted)
	}
}

// TestReplayWithoutBinaries: no kube-apiserver, no etcd and nothing to build them with.
func TestReplayWithoutBinaries(t *testing.T) {
	t.Setenv("PATH", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	for _, tt := range []struct {
		name, assets string
		want         []string
	}{
		{"nothing set", "", []string{"kube-apiserver and etcd are missing", "set KUBEBUILDER_ASSETS", "or install Go"}},
		{"an empty directory", t.TempDir(), []string{"KUBEBUILDER_ASSETS is ", "there is no kube-apiserver", "unset it to have both binaries built"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KUBEBUILDER_ASSETS", tt.assets)
			code, stdout, stderr := run(t, t.Context(), "replay", fixture("max-size-reached"), "--control-plane", "envtest")
			if code != console.ExitFailed || stdout != "" {
				t.Errorf("exit %d, printed %q, want %d", code, stdout, console.ExitFailed)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("error %q lacks %q", stderr, want)
				}
			}
		})
	}
}
