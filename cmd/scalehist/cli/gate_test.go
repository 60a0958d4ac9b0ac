package cli

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/report/ci"
	"github.com/scalehist/scalehist/report/gate"
)

func root(elements ...string) string {
	return filepath.Join(append([]string{"..", "..", ".."}, elements...)...)
}

// TestGate: a change of the expander is caught by the example's policy, and no change is not.
func TestGate(t *testing.T) {
	const name = "two-machine-sizes"
	baseline, candidate := filepath.Dir(replayed(t, name)), filepath.Dir(replayed(t, name, "--autoscaler-flag=--expander=most-pods"))
	policy := root("examples", "gate", "gate.yaml")
	dir := t.TempDir()
	junit, summary, step := filepath.Join(dir, "junit.xml"), filepath.Join(dir, "summary.md"), filepath.Join(dir, "step.md")
	if err := os.WriteFile(step, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := Execute(t.Context(), []string{"gate", "--baseline", baseline, "--candidate", candidate, "--policy", policy, "-o", "github", "--junit", junit, "--summary", summary},
		console.IO{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(k string) string { return map[string]string{ci.StepSummary: step}[k] }})
	if code != console.ExitDiffered || errs.String() != "" || !strings.Contains(out.String(), "::error file="+policy+",line=9,title=gate two-machine-sizes::cost.per-pod-hour went from ") {
		t.Errorf("exit %d, %s\n%s", code, errs.String(), out.String())
	}
	b, err := os.ReadFile(junit)
	var suite struct {
		Failures int `xml:"failures,attr"`
	}
	if err != nil || xml.Unmarshal(b, &suite) != nil || suite.Failures == 0 {
		t.Errorf("JUnit: %v\n%s", err, b)
	}
	for file, want := range map[string]string{summary: "## Autoscaling gate: ❌ failed", step: "before\n## Autoscaling gate: ❌ failed"} {
		if b, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(b), want) {
			t.Errorf("%s: %v\n%s", file, err, b)
		}
	}
	for format, want := range map[string]string{"text": "verdict: passed in 1 scenario", "markdown": "✅ passed", "json": `"passed": true`, "github": "verdict: passed"} {
		code, stdout, stderr := run(t, t.Context(), "gate", "--baseline", baseline, "--candidate", baseline, "--policy", policy, "-o", format)
		if code != console.ExitOK || !strings.Contains(stdout, want) {
			t.Errorf("-o %s of equal directories: exit %d, %s\n%s", format, code, stderr, stdout)
		}
	}
	bad := written(t, "bad.yaml", []byte("limits:\n  pending.p59: +5s\n"))
	never := written(t, "never.yaml", []byte("limits:\n  events.differing: +0\n"))
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"--baseline is missing", nil},
		{"--policy is missing", []string{"--baseline", baseline, "--candidate", candidate}},
		{`bad.yaml: line 2: limits: unknown metric "pending.p59"; did you mean "pending.p50" or "pending.p99"`, []string{"--baseline", baseline, "--candidate", candidate, "--policy", bad}},
		{"line 2: events.differing could be judged in no scenario", []string{"--baseline", baseline, "--candidate", candidate, "--policy", never}},
		{"--candidate: no/dir does not exist", []string{"--baseline", baseline, "--candidate", "no/dir", "--policy", policy}},
		{"policy: open no.yaml", []string{"--baseline", baseline, "--candidate", candidate, "--policy", "no.yaml"}},
		{`--output "xml": must be text, markdown, json or github`, []string{"-o", "xml"}},
		{"--junit: open no/dir/x.xml", []string{"--baseline", baseline, "--candidate", baseline, "--policy", policy, "--junit", "no/dir/x.xml"}},
	} {
		code, _, stderr := run(t, t.Context(), append([]string{"gate"}, tt.args...)...)
		if code != console.ExitFailed || !strings.Contains(stderr, tt.want) {
			t.Errorf("gate %v: exit %d, error %q, want %q", tt.args, code, stderr, tt.want)
		}
	}
	if code, stdout, _ := run(t, t.Context(), "gate", "init"); code != console.ExitOK || stdout != gate.Example() {
		t.Errorf("gate init: exit %d\n%s", code, stdout)
	}
	if code, stdout, _ := run(t, t.Context(), "gate", "--explain-metrics"); code != console.ExitOK || !strings.Contains(stdout, "formula:") {
		t.Errorf("gate --explain-metrics: exit %d\n%s", code, stdout)
	}
}

// TestGateExamples: the files that show the gate in CI are YAML, name inputs that there are, and use flags that there are.
func TestGateExamples(t *testing.T) {
	if _, err := gate.ReadPolicy(root("examples", "gate", "gate.yaml")); err != nil {
		t.Error(err)
	}
	parsed := func(path string) map[string]any {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := yaml.Unmarshal(b, &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		checkCommands(t, path, string(b))
		return v
	}
	at := func(v any, keys ...string) map[string]any {
		for _, k := range keys {
			v = v.(map[string]any)[k]
		}
		return v.(map[string]any)
	}
	reusable := root(".github", "workflows", "gate.yml")
	inputs := at(parsed(reusable), "on", "workflow_call", "inputs")
	text, err := os.ReadFile(reusable)
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(string(text), -1) {
		used[m[1]] = true
		if inputs[m[1]] == nil {
			t.Errorf("%s uses inputs.%s, which is not declared", reusable, m[1])
		}
	}
	for name := range inputs {
		if !used[name] {
			t.Errorf("%s: input %s is not used", reusable, name)
		}
	}
	if regexp.MustCompile(`(?m)^\s+run:[^\n]*\$\{\{`).Match(text) {
		t.Errorf("%s: an input in a script is code: pass it by env", reusable)
	}
	caller := at(parsed(root("examples", "gate", "github-pull-request.yml")), "jobs", "gate", "with")
	for name := range caller {
		if inputs[name] == nil {
			t.Errorf("the example gives %s, which the workflow does not take", name)
		}
	}
	if job := at(parsed(root("examples", "gate", "gitlab-ci.yml")), "autoscaling-gate"); job["script"] == nil {
		t.Error("the GitLab job has no script")
	}
}

// checkCommands looks for flags of replay and gate that do not exist.
func checkCommands(t *testing.T, path, text string) {
	t.Helper()
	cmd := newRootCommand(console.IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, &console.LogFlags{}, &console.ProfileFlags{})
	for line := range strings.SplitSeq(text, "\n") {
		for _, name := range []string{"replay", "gate"} {
			if !regexp.MustCompile(`scalehist"? ` + name + ` `).MatchString(line) {
				continue
			}
			i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
			for _, m := range regexp.MustCompile(` --([a-z-]+)`).FindAllStringSubmatch(line, -1) {
				if cmd.Commands()[i].Flags().Lookup(m[1]) == nil {
					t.Errorf("%s: scalehist %s has no flag --%s", path, name, m[1])
				}
			}
		}
	}
}
