package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

func TestExplain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	if code, _, stderr := run(t, t.Context(), "replay", fixture("max-size-reached"), "--report-dir", dir); code != console.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	scaled := filepath.Join("..", "..", "..", "report", "testdata", "explain", "hpa60.json")
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"a pod", []string{dir, "--pod", "web-15"}, []string{"pod default/web-15 in max-size-reached:", "std could not grow: max node group size reached", "At the end it is still pending"}},
		{"a node group", []string{filepath.Join(dir, "report.json"), "--node-group", "std", "--at", "+35s"}, []string{"node group std", "it grew 1->3"}},
		{"a node", []string{dir, "--node", "std-1"}, []string{"node std-1", "It was asked for, of node group std.", "At the end it stands"}},
		{"a workload", []string{scaled, "--workload", "default/web", "--at", "+20m"}, []string{"workload ReplicaSet/default/web", "It has 16 wanted, 16 ready; hpa scales it.", "scaled it 14->16"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), append([]string{"explain"}, tt.args...)...)
			if code != console.ExitOK {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			for _, want := range tt.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("explanation lacks %q:\n%s", want, stdout)
				}
			}
			code, stdout, stderr = run(t, t.Context(), append([]string{"explain", "-o", "json"}, tt.args...)...)
			var out struct{ Sentences []struct{ Text string } }
			if err := json.Unmarshal([]byte(stdout), &out); code != console.ExitOK || err != nil || len(out.Sentences) == 0 {
				t.Errorf("exit %d, %v: %s%s", code, err, stdout, stderr)
			}
		})
	}
	for flag, want := range map[string]string{"--pod": "default/web-15\n", "--node-group": "std\n", "--node": "std-2\n"} {
		_, stdout, _ := run(t, t.Context(), "__complete", "explain", dir, flag, "")
		if !strings.Contains(stdout, want) {
			t.Errorf("completion of %s: %q lacks %q", flag, stdout, want)
		}
	}
	if _, stdout, _ := run(t, t.Context(), "__complete", "explain", scaled, "--workload", ""); !strings.Contains(stdout, "ReplicaSet/default/web\n") {
		t.Errorf("completion of --workload: %q", stdout)
	}
	errors := []struct {
		name string
		args []string
		want string
	}{
		{"nothing to explain", []string{dir}, "give one of --pod, --node-group, --node and --workload"},
		{"two things", []string{dir, "--pod", "a", "--node", "b"}, "give one of --pod, --node-group, --node and --workload"},
		{"a time for a pod", []string{dir, "--pod", "a", "--at", "+1s"}, "--at goes with --node-group and --workload"},
		{"a time outside", []string{dir, "--node-group", "std", "--at", "+1h"}, "--at: time +1h"},
		{"no report", []string{"no/report", "--pod", "a"}, "report no/report does not exist: keep one with 'scalehist replay FILE.db --report-dir DIR'"},
		{"an empty directory", []string{t.TempDir(), "--pod", "a"}, "there is no "},
		{"no JSON", []string{written(t, "r.json", []byte("x")), "--pod", "a"}, "r.json is not a replay report"},
		{"unknown pod", []string{dir, "--pod", "nope"}, `unknown pod "default/nope": max-size-reached has default/web-`},
		{"unknown group", []string{dir, "--node-group", "nope"}, `unknown node group "nope": max-size-reached has std`},
		{"unknown workload", []string{scaled, "--workload", "nope"}, `unknown workload "nope": full-day has ReplicaSet/default/db, ReplicaSet/default/web`},
	}
	for _, tt := range errors {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), append([]string{"explain"}, tt.args...)...)
			if code != console.ExitFailed || stdout != "" || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d, printed %q, error %q; want %q", code, stdout, stderr, tt.want)
			}
		})
	}
}
