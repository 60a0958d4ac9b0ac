package cli

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/report/ci"
)

// workbench is a directory in which the scripts of CI run as they are written: with scenarios, prices and a policy as a
// calling repository has them, and with stand-ins for what would build or download.
type workbench struct {
	t   *testing.T
	dir string
	env []string
}

func newWorkbench(t *testing.T) *workbench {
	t.Helper()
	w := &workbench{t: t, dir: t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tools := filepath.Join(w.dir, "tools")
	source, err := filepath.Abs(root())
	if err != nil {
		t.Fatal(err)
	}
	command := fmt.Sprintf("#!/bin/sh\n%s=1 %s exec '%s' \"$@\"\n", mainVariable, exitAtOnce, self)
	w.write("tools/scalehist", command, 0o755)
	// go install -trimpath PACKAGE@VERSION; or go -C SOURCE build -trimpath -o OUT ./cmd/scalehist, where the source is a checkout of this repository.
	w.write("tools/go", fmt.Sprintf(`#!/bin/sh
set -eu
[ "$*" = "install -trimpath github.com/scalehist/scalehist/cmd/scalehist@main" ] && exit 0
[ "$1 $3 $4 $5 $7" = "-C build -trimpath -o ./cmd/scalehist" ] || { echo "go $*: not what is expected" >&2; exit 1; }
[ -d '%s/cmd/scalehist' ]
mkdir -p "$(dirname "$6")" && cp '%s/scalehist' "$6"
`, source, tools), 0o755)
	w.write("tools/make", "#!/bin/sh\n[ \"$*\" = build ] && mkdir -p bin && cp '"+tools+"/scalehist' bin/scalehist\n", 0o755)
	for _, name := range []string{"two-machine-sizes", "zonal-spread"} {
		w.copy(fixture(name), filepath.Join("scenarios", name, "recording.db"))
	}
	w.copy(root("examples", "gate", "prices.yaml"), "prices.yaml")
	w.copy(root("examples", "gate", "gate.yaml"), "gate.yaml")
	w.env = append(os.Environ(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"), ci.StepSummary+"="+filepath.Join(w.dir, "step.md"))
	return w
}

func (w *workbench) write(name, text string, mode os.FileMode) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workbench) copy(from, to string) {
	w.t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(to, string(b), 0o600)
}

func (w *workbench) read(name string) string {
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Error(err)
	}
	return string(b)
}

// sh runs a script and returns its exit code and output.
func (w *workbench) sh(script string, env ...string) (int, string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "bash", "-c", script)
	cmd.Dir, cmd.Env = w.dir, append(w.env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatalf("this test needs bash: %v", err)
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// gateWorkflow is .github/workflows/gate.yml, to be played with inputs over its defaults; the first step that fails ends it, as on GitHub.
func gateWorkflow(t *testing.T) func(w *workbench, inputs map[string]string) (failed string, code int, out string) {
	t.Helper()
	var workflow struct {
		On struct {
			Call struct {
				Inputs map[string]struct {
					Type    string `yaml:"type"`
					Default string `yaml:"default"`
				} `yaml:"inputs"`
			} `yaml:"workflow_call"`
		} `yaml:"on"`
		Jobs map[string]struct {
			Steps []struct {
				Name string            `yaml:"name"`
				Run  string            `yaml:"run"`
				Env  map[string]string `yaml:"env"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	b, err := os.ReadFile(root(".github", "workflows", "gate.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, &workflow); err != nil {
		t.Fatal(err)
	}
	input := regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`)
	return func(w *workbench, inputs map[string]string) (failed string, code int, out string) {
		for name := range inputs {
			if _, ok := workflow.On.Call.Inputs[name]; !ok {
				t.Fatalf("%s is no input of the workflow", name)
			}
		}
		for _, step := range workflow.Jobs["gate"].Steps {
			if step.Run == "" {
				continue
			}
			var env []string
			for name, value := range step.Env {
				m := input.FindStringSubmatch(value)
				if m == nil {
					t.Fatalf("step %q: %s is no input", step.Name, value)
				}
				given, ok := inputs[m[1]]
				if !ok {
					given = workflow.On.Call.Inputs[m[1]].Default
				}
				env = append(env, name+"="+given)
			}
			code, text := w.sh(step.Run, env...)
			out += text
			if code != 0 {
				return step.Name, code, out
			}
		}
		return "", 0, out
	}
}

// TestReusableWorkflow runs the steps of .github/workflows/gate.yml as they are written.
//
//scalehist:unraced
func TestReusableWorkflow(t *testing.T) {
	play := gateWorkflow(t)
	prices := "--prices prices.yaml"
	for name, tc := range map[string]struct {
		inputs map[string]string
		failed string
		code   int
		says   []string
	}{
		"no change": {map[string]string{"replay-args": prices}, "", 0, []string{"verdict: passed in 2 scenarios"}},
		"another expander": {map[string]string{"replay-args": prices, "candidate-args": "--autoscaler-flag=--expander=most-pods"}, "Judge", 1,
			[]string{"::error file=gate.yaml,line=9,title=gate two-machine-sizes::cost.per-pod-hour went from", "verdict: FAILED"}},
		"without a repeat": {map[string]string{"replay-args": prices, "repeat": "false"}, "", 0, []string{"verdict: passed in 2 scenarios"}},
		"no scenarios":     {map[string]string{"scenarios": "nowhere"}, "Replay", 2, []string{"::error::there is no nowhere/*.db and no nowhere/*/recording.db"}},
		"a replay that fails": {map[string]string{"replay-args": prices, "candidate-args": "--autoscaler-flag=--expander=dice"}, "Replay", 2,
			[]string{"::error::candidate: the replay of scenarios/"}},
		"no prices": {map[string]string{}, "Judge", 2, []string{"cost could be judged in no scenario"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkbench(t)
			failed, code, out := play(w, tc.inputs)
			if failed != tc.failed || code != tc.code {
				t.Errorf("failed in %q with %d, want %q with %d", failed, code, tc.failed, tc.code)
			}
			for _, want := range tc.says {
				if !strings.Contains(out, want) {
					t.Errorf("lacks %q", want)
				}
			}
			if code < 2 {
				if summary, step := w.read(".gate/summary.md"), w.read("step.md"); summary != step || !strings.Contains(w.read(".gate/junit.xml"), "<testsuite") {
					t.Errorf("summary:\n%s\nstep:\n%s", summary, step)
				}
				if _, err := os.Stat(filepath.Join(w.dir, ".gate", "repeat")); (err == nil) != (tc.inputs["repeat"] != "false") {
					t.Errorf("repeat: %v", err)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// TestOwnGate plays this repository's own gate of the recommender: it passes what changes nothing, and fails what waits longer.
//
//scalehist:unraced
func TestOwnGate(t *testing.T) {
	b, err := os.ReadFile(root(".github", "workflows", "recommender.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var caller struct {
		Jobs map[string]struct {
			With map[string]string `yaml:"with"`
		} `yaml:"jobs"`
	}
	if err := yaml.Unmarshal(b, &caller); err != nil {
		t.Fatal(err)
	}
	play := gateWorkflow(t)
	for name, tc := range map[string]struct {
		candidate, failed string
		code              int
		says              string
	}{
		"no change":    {"", "", 0, "verdict: passed in 2 scenarios"},
		"waits longer": {"--autoscaler-flag=--new-pods-wait=2m", "Judge", 1, "pending.p95"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkbench(t)
			w.copy(root(".github", "gate.yaml"), ".github/gate.yaml")
			inputs := maps.Clone(caller.Jobs["gate"].With)
			inputs["scenarios"] = "scenarios" // some of them
			inputs["replay-args"] = strings.ReplaceAll(inputs["replay-args"], "${{ matrix.strategy }}", "greedy")
			inputs["candidate-args"] = tc.candidate
			failed, code, out := play(w, inputs)
			if failed != tc.failed || code != tc.code || !strings.Contains(out, tc.says) {
				t.Errorf("failed in %q with %d, want %q with %d and %q:\n%s", failed, code, tc.failed, tc.code, tc.says, out)
			}
		})
	}
}

// TestGitLabJob runs the script of examples/gate/gitlab-ci.yml as it is written, as GitLab does: in one shell.
//
//scalehist:unraced
func TestGitLabJob(t *testing.T) {
	b, err := os.ReadFile(root("examples", "gate", "gitlab-ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]struct {
		Variables map[string]string `yaml:"variables"`
		Script    []string          `yaml:"script"`
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	job := file["autoscaling-gate"]
	for candidate, want := range map[string]string{"": "verdict: passed in 2 scenarios", job.Variables["CANDIDATE_ARGS"]: "verdict: FAILED: 2 violations"} {
		w := newWorkbench(t)
		var env []string
		for name, value := range job.Variables {
			env = append(env, name+"="+value)
		}
		code, out := w.sh("set -eo pipefail\n"+strings.Join(job.Script, "\n"), append(env, "CANDIDATE_ARGS="+candidate)...)
		if code != map[bool]int{true: console.ExitOK, false: console.ExitDiffered}[candidate == ""] || !strings.Contains(out, want) {
			t.Errorf("candidate %q: exit %d, lacks %q:\n%s", candidate, code, want, out)
		}
		if !strings.Contains(w.read("gate/junit.xml"), "deterministic") || !strings.Contains(w.read("gate/summary.md"), "## Autoscaling gate") {
			t.Error("no JUnit or summary")
		}
	}
}

// TestGateReadme runs the commands of examples/gate/README.md as they are written, in a checkout.
//
//scalehist:unraced
func TestGateReadme(t *testing.T) {
	page, err := os.ReadFile(root("examples", "gate", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "## Try it here\n")
	_, rest, _ = strings.Cut(rest, "\n```sh\n")
	script, _, ok := strings.Cut(rest, "\n```\n")
	if !ok {
		t.Fatal("there is no block of commands under 'Try it here'")
	}
	w := newWorkbench(t)
	for _, name := range []string{"two-machine-sizes", "zonal-spread", "max-size-reached"} {
		w.copy(fixture(name), filepath.Join("fixtures", name, "recording.db"))
	}
	for _, name := range []string{"gate.yaml", "prices.yaml"} {
		w.copy(root("examples", "gate", name), filepath.Join("examples", "gate", name))
	}
	code, out := w.sh(script) // a person has no set -e: a replay that differs from its recording exits with 1, and so does the gate
	for _, want := range []string{"verdict: FAILED: 1 violation", "cost.per-pod-hour went from 0.162715 EUR to 0.176017 EUR (+0.013301 EUR, +8.17 %), limit +2%", "comparison of 2 replays"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, lacks %q:\n%s", code, want, out)
		}
	}
}
