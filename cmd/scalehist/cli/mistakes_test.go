package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// TestMistakes: what people get wrong first. Every error says what, where, and what to do about it.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	text, report := filepath.Join(dir, "notes.txt"), explained("idle")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	history := filepath.Join("..", "..", "..", "fixtures", "full-day", "recording.db")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	t.Setenv("KUBECONFIG", filepath.Join(dir, "nowhere"))
	t.Setenv("HOME", dir)
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"a text for a history", []string{"replay", text}, []string{text, "not a scalehist history", "'scalehist record' or 'scalehist import'"}},
		{"a report for a history", []string{"inspect", report}, []string{report, "JSON"}},
		{"a directory for a history", []string{"replay", dir}, []string{dir, "a directory", "'scalehist record'"}},
		{"no history", []string{"replay", "nowhere.db"}, []string{"nowhere.db does not exist", "check the path"}},
		{"a history for a report", []string{"view", history}, []string{history + " is a history", "replay " + history + " --report-dir"}},
		{"a text for a report", []string{"explain", text, "--pod", "x"}, []string{text, "not a replay report", "give a report.json"}},
		{"no report", []string{"view", "nowhere"}, []string{"nowhere does not exist", "--report-dir DIR"}},
		{"a directory without a report", []string{"view", dir}, []string{"report.json", "--report-dir"}},
		{"a history for a log", []string{"import", history, "-o", filepath.Join(dir, "x.db")}, []string{"needs no import", "'scalehist export'"}},
		{"no kubeconfig", []string{"record", "-o", filepath.Join(dir, "x.db")}, []string{"kubeconfig", "--kubeconfig"}},
		{"kubeconfig that is not there", []string{"record", "-o", filepath.Join(dir, "x.db"), "--kubeconfig", "nowhere"}, []string{"nowhere", "--kubeconfig"}},
		{"a port that is taken", []string{"recommender", "serve", "--listen", taken.Addr().String()}, []string{taken.Addr().String(), "choose another --listen"}},
		{"a flag with a slip", []string{"replay", history, "--autoscalar", "virtualca"}, []string{"replay: unknown flag: --autoscalar", `did you mean "--autoscaler"`, "see 'scalehist replay --help'"}},
		{"a command with a slip", []string{"reply", history}, []string{`unknown command "reply"`, "replay"}},
		{"a command that is none", []string{"dance"}, []string{`unknown command "dance"`, "see 'scalehist --help'"}},
		{"a command below one", []string{"gate", "dance"}, []string{`unknown command "dance" for "scalehist gate"`, "see 'scalehist gate --help'"}},
		{"nothing given", []string{"replay"}, []string{"missing argument FILE.db", "see 'scalehist replay --help'"}},
		{"a required flag", []string{"man"}, []string{`"dir" not set`, "see 'scalehist man --help'"}},
		{"an autoscaler's flag with a slip", []string{"replay", history, "--autoscaler-flag=--expnder=x"}, []string{"--expnder", "did you mean --expander"}},
		{"an autoscaler that is none", []string{"replay", history, "--autoscaler", "karpenter"}, []string{`"karpenter"`, "choose one of virtualca"}},
		{"an instant", []string{"replay", history, "--from", "yesterday"}, []string{"--from", "2024-05-28T10:00:00Z", "+90s"}},
		{"an instant outside", []string{"replay", history, "--from", "+100h"}, []string{"--from", "the recording goes from"}},
		{"a seed", []string{"replay", history, "--seed", "abc"}, []string{"replay: --seed abc: want a whole number, such as 7: see 'scalehist replay --help'"}},
		{"a duration without unit", []string{"replay", history, "--for", "5"}, []string{"--for 5: the unit is missing: 5s, 5m or 5h"}},
		{"no duration", []string{"replay", history, "--for", "long"}, []string{"--for long: want a duration, such as 90s, 5m or 1h30m"}},
		{"a group without bounds", []string{"replay", history, "--bounds", "std"}, []string{"--bounds std: std without its value: want such as workers=1:20"}},
		{"bounds the wrong way round", []string{"replay", history, "--bounds", "std=6:1"}, []string{"--bounds std=6:1: min 6 is above max 1: did you mean std=1:6?"}},
		{"a switch", []string{"replay", history, "--recorded-faults=maybe"}, []string{"--recorded-faults maybe: want true or false"}},
		{"cut into a folder that is not there", []string{"cut", history, "-f", filepath.Join(dir, "no", "x.db")}, []string{"write " + filepath.Join(dir, "no", "x.db") + ": folder " + filepath.Join(dir, "no") + ": no such file or directory: choose one that exists"}},
		{"a price table", []string{"replay", history, "--prices", "nowhere.yaml"}, []string{"--prices", "nowhere.yaml", `"public"`}},
		{"a report directory that is a file", []string{"replay", history, "--control-plane", "memory", "--report-dir", text}, []string{"--report-dir", text, "choose a directory"}},
		{"a policy", []string{"gate", "--baseline", dir, "--candidate", dir, "--policy", "nowhere.yaml"}, []string{"nowhere.yaml", "'scalehist gate init'"}},
		{"what explain is about", []string{"explain", report}, []string{"--pod", "--node-group", "see 'scalehist explain --help'"}},
		{"a pod", []string{"explain", report, "--pod", "wbe-1"}, []string{`unknown pod "default/wbe-1"`, "default/"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), tt.args...)
			if code != console.ExitFailed || stdout != "" {
				t.Errorf("exit %d, printed %q; want %d and nothing", code, stdout, console.ExitFailed)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("error %q, want %q in it", stderr, want)
				}
			}
		})
	}
}

// TestNoBinaries: without the binaries of a control plane the error says where they were looked for.
func TestNoBinaries(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", filepath.Join(t.TempDir(), "nowhere"))
	code, _, stderr := run(t, t.Context(), "replay", filepath.Join("..", "..", "..", "fixtures", "full-day", "recording.db"), "--control-plane", "envtest")
	if code != console.ExitFailed || !strings.Contains(stderr, "KUBEBUILDER_ASSETS is ") || !strings.Contains(stderr, "unset it") || !strings.Contains(stderr, "--control-plane memory needs no processes") {
		t.Errorf("exit %d, error %q", code, stderr)
	}
}
