package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// unbounded is a fixture as it would have been recorded without flags and status of its autoscaler: the limit of a group is the
// most nodes seen so far.
func unbounded(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	log, out := filepath.Join(dir, "log.jsonl"), filepath.Join(dir, "unbounded.db")
	if code, _, errs := run(t, t.Context(), "export", fixture(name), "-o", log); code != console.ExitOK {
		t.Fatal(errs)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var edited bytes.Buffer
	most := 0.0
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if o, ok := line["object"].(map[string]any); ok && o["kind"] == "NodeGroup" {
			spec := o["spec"].(map[string]any)
			size, _ := spec["targetSize"].(float64)
			most = max(most, size)
			spec["minSize"], spec["maxSize"] = 0, most
			o["metadata"].(map[string]any)["annotations"] = map[string]string{v1alpha1.BoundsFromAnnotation: v1alpha1.BoundsFromNodes}
		}
		if err := json.NewEncoder(&edited).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(log, edited.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := run(t, t.Context(), "import", log, "-o", out); code != console.ExitOK {
		t.Fatal(errs)
	}
	return out
}

// TestGuessedBounds: where the limit of a group is a guess, everything that shows the limit or says that it decided says so; and
// a group may grow to its guessed limit before the recording shows that it did.
func TestGuessedBounds(t *testing.T) {
	path, dir := unbounded(t, "max-size-reached"), t.TempDir()
	const guess = "(the limit 3 is a guess: the most nodes seen)"
	code, text, errs := run(t, t.Context(), "replay", path, "--control-plane", "memory", "--report-dir", dir)
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s%s", code, text, errs)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	answer := func(args ...string) string {
		code, out, errs := run(t, t.Context(), args...)
		if code == console.ExitFailed {
			t.Fatal(errs)
		}
		return out
	}
	for _, tt := range []struct{ what, in, want string }{
		{"node group table", text, "    0   3?  "},
		{"estimate", text, "estimate for std stopped at 2 nodes: limit reached " + guess},
		{"decision", text, "skipped std: max node group size reached " + guess},
		{"warning", text, "the most nodes seen: std 3; where one decides, the real autoscaler may have gone on (--bounds std=MIN:MAX)"},
		{"explain the group", answer("explain", dir, "--node-group", "std"), "It may have 0 to 3 nodes " + guess},
		{"explain a pod", answer("explain", dir, "--pod", "web-13"), "std could not grow: max node group size reached " + guess},
		{"JSON, the result and both snapshots", strings.Repeat("x", strings.Count(read("report.json"), `"guessedMax": true`)), "xxx"},
		{"an event is upstream's text", read("report.json"), `"pod didn't trigger scale-up: 1 max node group size reached"`},
		{"page", read("report.html"), `"max":3,"guessed":true`},
		{"compare", answer("compare", dir, keep(t, path, "--bounds", "std=0:3")), "0:3?"},
		{"recommend", answer("recommend", "--history", path, "--at", "+1m"), "max size 3 reached " + guess},
	} {
		if !strings.Contains(tt.in, tt.want) {
			t.Errorf("%s: no %q in\n%s", tt.what, tt.want, tt.in[:min(len(tt.in), 4000)])
		}
	}
	if code, text, errs = run(t, t.Context(), "replay", path, "--control-plane", "memory", "--bounds", "std=0:3"); code != console.ExitOK || strings.Contains(text, "guess") {
		t.Errorf("exit %d, with bounds that were given there is nothing to guess: %s%s", code, text, errs)
	}
}

// keep replays a history and gives where its report is.
func keep(t *testing.T, path string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "other")
	if code, _, errs := run(t, t.Context(), append([]string{"replay", path, "--control-plane", "memory", "--report-dir", dir}, args...)...); code == console.ExitFailed {
		t.Fatal(errs)
	}
	return dir
}
