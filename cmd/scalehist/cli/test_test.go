package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness/scenario"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/report/ci"
)

// took is the wall clock in what test prints.
var took = regexp.MustCompile(`(?m)^(passed|failed|error|not run) +[0-9.]+s`)

// golden compares with a file of testdata, and writes it when SCALEHIST_UPDATE is set.
func golden(t *testing.T, name, got string) {
	t.Helper()
	goldentest.Text(t, filepath.Join("testdata", name), got, os.Getenv("SCALEHIST_UPDATE") != "")
}

// historyOf is the absolute path of a fixture's recording.
func historyOf(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(fixture(name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// inDir makes a directory with files the working directory of the test.
func inDir(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// TestExampleScenarios: the examples pass, and the rest of that directory is passed over.
//
//scalehist:unraced
func TestExampleScenarios(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "test", root("examples", "scenarios"), "--artifacts", t.TempDir(), "--control-plane", "memory")
	if code != console.ExitOK || !strings.HasSuffix(stdout, "7 scenarios: 7 passed\n") {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
}

// broken on purpose: what a user reads, in a GitHub workflow too.
const wrongScenarios = `- name: as it is
  history: HISTORY
  expect: {scaledUp: {batch: 3}}
- name: "100%: too, many"
  history: HISTORY
  expect:
    scaledUp: {batch: 5}
    scaledDown: {batch: ">= 1"}
    finalSizes: {system: 1, "*": 0}
    unschedulable: [crunch-1]
    decisions:
    - {first: scale-up, at: +50s, nodeGroup: system}
    - {loop: 7}
    keepNodes: {system-0: NotEnoughPdb}
    metrics: {pending.max: <= 2s}
    golden: want.txt
- name: fine again
  history: HISTORY
  expect: {unschedulable: none}
`

//scalehist:unraced
func TestWhatAUserReads(t *testing.T) {
	text := strings.ReplaceAll(wrongScenarios, "HISTORY", historyOf(t, "from-zero"))
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	inDir(t, map[string]string{"scenarios/wrong.yaml": text, "scenarios/want.txt": "# something else\n", "summary.md": "before\n"})
	env := map[string]string{}
	call := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := Execute(t.Context(), append([]string{"test", "scenarios/wrong.yaml"}, args...), console.IO{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(k string) string { return env[k] }})
		return code, took.ReplaceAllString(out.String(), "$1 0.00s"), errs.String()
	}
	code, stdout, stderr := call("--junit", "out/junit.xml")
	if code != console.ExitDiffered || stderr != "" {
		t.Errorf("exit %d, %s", code, stderr)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	env = map[string]string{ci.GitHubActions: "true", ci.Workspace: filepath.Dir(here), ci.StepSummary: "summary.md"}
	code, annotated, _ := call()
	if code != console.ExitDiffered {
		t.Errorf("exit %d", code)
	}
	junit, err := os.ReadFile("out/junit.xml")
	if err != nil {
		t.Fatal(err)
	}
	summary, err := os.ReadFile("summary.md")
	if err != nil {
		t.Fatal(err)
	}
	seconds := regexp.MustCompile(` time="[0-9.]+"|\| [0-9.]+ \|`)
	var files []string
	entries, err := os.ReadDir(filepath.Join("gen", "100-too-many"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		files = append(files, e.Name())
	}
	if diff := cmp.Diff([]string{"autoscaler.log", "history.db", "report.html", "report.json", "report.txt", "timeline.txt"}, files); diff != "" {
		t.Error(diff)
	}
	if code, stdout, stderr := run(t, t.Context(), "replay", "gen/fine-again/history.db", "--control-plane", "memory"); code != console.ExitOK {
		t.Errorf("the window that was kept: exit %d, %s\n%s", code, stderr, stdout)
	}
	var result struct {
		Failures int `xml:"failures,attr"`
	}
	if err := xml.Unmarshal(junit, &result); err != nil || result.Failures != 1 {
		t.Errorf("JUnit: %v, %d failures", err, result.Failures)
	}
	base := filepath.Base(here)
	t.Chdir(wd)
	golden(t, "test.txt", stdout)
	golden(t, "test.github", strings.ReplaceAll(annotated, base+"/", "REPOSITORY/"))
	golden(t, "test.junit.xml", seconds.ReplaceAllString(string(junit), ""))
	golden(t, "test.md", seconds.ReplaceAllString(string(summary), "| 0.00 |"))
}

//scalehist:unraced
func TestTestErrors(t *testing.T) {
	db := historyOf(t, "from-zero")
	inDir(t, map[string]string{
		"typo.yaml":        "name: a\nhistory: " + db + "\nexpext:\n  recording: agrees\n",
		"also.yaml":        "history: no.db\nexpect: {recording: agrees}\n",
		"good.yaml":        "history: " + db + "\nexpect: {unschedulable: none}\n",
		"same.yaml":        "name: good\nhistory: " + db + "\nexpect: {recording: agrees}\n",
		"group.yaml":       "history: " + db + "\nexpect: {scaledUp: {bach: 3}}\n",
		"window.yaml":      "history: " + db + "\nwindow: {from: +5h}\nexpect: {recording: agrees}\n",
		"fault.yaml":       "history: " + db + "\nfaults: [quota:bach]\nexpect: {recording: agrees}\n",
		"prices/list.yaml": "currency: EUR\nmachineTypes: {a: 1}\n",
		"empty/readme.txt": "",
		"both/prices.yml":  "currency: EUR\n", "both/good.yml": "history: " + db + "\nexpect: {unschedulable: none}\n",
	})
	for name, tt := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"no argument": {nil, console.ExitFailed, []string{"test: missing argument FILE.yaml, DIR or GLOB"}},
		"not there":   {[]string{"nothing.yaml"}, console.ExitFailed, []string{"nothing.yaml: there is no such file or directory, and nothing matches it"}},
		"typo":        {[]string{"typo.yaml", "also.yaml"}, console.ExitFailed, []string{`typo.yaml:3:1: unknown key "expext"; did you mean "expect"?`, "typo.yaml:1:1: expect is missing", "also.yaml:1:1: history: stat no.db"}},
		"same name":   {[]string{"good.yaml", "same.yaml"}, console.ExitFailed, []string{`same.yaml:1:1: the name "good" is that of the scenario at good.yaml:1`}},
		"other file":  {[]string{"prices/list.yaml"}, console.ExitFailed, []string{"prices/list.yaml:1:1: this is not a scenario"}},
		"other files": {[]string{"prices"}, console.ExitFailed, []string{"prices/list.yaml is passed over: it is no scenario", "there is no scenario in what was given"}},
		"nothing":     {[]string{"empty"}, console.ExitFailed, []string{"empty: there is no *.yaml in it: 'scalehist new scenario FILE.db -f empty/NAME.yaml' writes one"}},
		"passed over": {[]string{"both"}, console.ExitOK, []string{"both/prices.yml is passed over", "1 scenario: 1 passed"}},
		"glob":        {[]string{"go*.yaml", "good.yaml"}, console.ExitOK, []string{"1 scenario: 1 passed"}},
		"run":         {[]string{"good.yaml", "--run", "^god$"}, console.ExitFailed, []string{`--run ^god$ matches none of the scenarios good; did you mean "good"?`}},
		"bad run":     {[]string{"good.yaml", "--run", "("}, console.ExitFailed, []string{"--run: error parsing regexp"}},
		"plane":       {[]string{"good.yaml", "--control-plane", "x"}, console.ExitFailed, []string{`--control-plane "x": want memory or envtest`}},
		"group":       {[]string{"group.yaml"}, console.ExitFailed, []string{`group.yaml:2:10: scaledUp`, `unknown node group "bach": scenario "group" has batch, system; did you mean "batch"?`, "1 could not be judged"}},
		"window":      {[]string{"window.yaml"}, console.ExitFailed, []string{"window.yaml:2:10\n", "window.from: time +5h"}},
		"fault":       {[]string{"fault.yaml"}, console.ExitFailed, []string{"fault.yaml:2:1\n", `fault quota:bach: `}},
		"fail fast":   {[]string{"group.yaml", "good.yaml", "--fail-fast", "--jobs", "1"}, console.ExitFailed, []string{"not run", "1 not run"}},
		"list":        {[]string{".", "--run", "good|a", "--list"}, console.ExitFailed, []string{"typo.yaml:3:1"}},
		"listed":      {[]string{"good.yaml", "group.yaml", "--list"}, console.ExitOK, []string{"SCENARIO", "good      good.yaml:1", db}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), append([]string{"test", "--artifacts", t.TempDir()}, tt.args...)...)
			for _, want := range tt.want {
				if !strings.Contains(stdout+stderr, want) {
					t.Errorf("lacks %q:\n%s\n%s", want, stdout, stderr)
				}
			}
			if code != tt.code {
				t.Errorf("exit %d, want %d\n%s\n%s", code, tt.code, stdout, stderr)
			}
		})
	}
	t.Run("a wrong file in a workflow", func(t *testing.T) {
		var out, errs bytes.Buffer
		dir := t.TempDir()
		code := Execute(t.Context(), []string{"test", "typo.yaml", "--junit", filepath.Join(dir, "j.xml")},
			console.IO{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(k string) string { return map[string]string{ci.GitHubActions: "true"}[k] }})
		junit, err := os.ReadFile(filepath.Join(dir, "j.xml"))
		if code != console.ExitFailed || err != nil || !strings.Contains(out.String(), "::error file=typo.yaml,line=3,col=1,title=typo.yaml::unknown key") || !strings.Contains(string(junit), `errors="1"`) {
			t.Errorf("exit %d, %v\n%s\n%s", code, err, out.String(), junit)
		}
	})
}

// TestInterrupted: what was stopped is not run, nothing is said to have failed, and the exit code is that of an interrupt.
func TestInterruptedTest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, stdout, stderr := run(t, ctx, "test", root("examples", "scenarios", "basic.yaml"), "--artifacts", t.TempDir())
	if code != console.ExitInterrupted || !strings.Contains(stdout, "1 scenario: 0 passed, 1 not run") || !strings.Contains(stderr, "interrupted") {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
}

// TestOnARealAPIServer: the same scenario on envtest leaves the logs of its processes too.
func TestOnARealAPIServer(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := run(t, t.Context(), "test", root("examples", "scenarios", "basic.yaml"), "--control-plane", "envtest", "--artifacts", dir, "-o", "json")
	if code != console.ExitOK {
		t.Fatalf("exit %d, %s\n%s", code, stderr, stdout)
	}
	var got struct {
		Passed    bool
		Scenarios []struct{ Name, Status, Artifacts string }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || !got.Passed || len(got.Scenarios) != 1 {
		t.Fatalf("%v\n%s", err, stdout)
	}
	for _, log := range []string{"kube-apiserver.log", "etcd.log", "scheduler.log"} {
		if _, err := os.Stat(filepath.Join(got.Scenarios[0].Artifacts, "logs", log)); err != nil {
			t.Error(err)
		}
	}
}

//scalehist:unraced
func TestUpdateGolden(t *testing.T) {
	t.Setenv("CI", "")
	db := historyOf(t, "from-zero")
	inDir(t, map[string]string{"g.yaml": "history: " + db + "\nexpect: {golden: g.txt}\n"})
	code, stdout, _ := run(t, t.Context(), "test", "g.yaml")
	if code != console.ExitFailed || !strings.Contains(stdout, "g.txt is missing: write it with `scalehist test g.yaml --run '^g$' --update`") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	for _, args := range [][]string{{"--update"}, nil} {
		if code, stdout, stderr := run(t, t.Context(), append([]string{"test", "g.yaml"}, args...)...); code != console.ExitOK {
			t.Errorf("%v: exit %d, %s\n%s", args, code, stderr, stdout)
		}
	}
	t.Setenv("CI", "true")
	if code, stdout, _ := run(t, t.Context(), "test", "g.yaml", "--update"); code != console.ExitFailed || !strings.Contains(stdout, "golden files are not written in CI") {
		t.Errorf("exit %d\n%s", code, stdout)
	}
}

func TestCompleteTest(t *testing.T) {
	for want, args := range map[string][]string{
		"yaml\nyml\n":              {"test", ""},
		"from-zero\n":              {"test", root("examples", "scenarios", "basic.yaml"), "--run", ""},
		"least-waste\nmost-pods\n": {"test", root("examples", "scenarios"), "--run", ""},
		"memory\nenvtest\n":        {"test", "--control-plane", ""},
		"yaml\ngo\n":               {"new", "scenario", "--form", ""},
	} {
		if _, stdout, _ := run(t, t.Context(), append([]string{"__complete"}, args...)...); !strings.Contains(stdout, want) {
			t.Errorf("%v: %s", args, stdout)
		}
	}
}

// TestEveryReplayFlagIsAKey: what replay can do, a scenario file can say.
func TestEveryReplayFlagIsAKey(t *testing.T) {
	keys := map[string]string{
		"autoscaler": "autoscaler", "autoscaler-flag": "flags", "from": "window", "to": "window", "for": "for", "batch-interval": "batchInterval",
		"playback": "playback", "scheduler": "scheduler", "prices": "prices", "region": "prices", "price-model": "prices", "price-model-of": "nodeGroups",
		"recorded-faults": "recordedFaults", "fault": "faults", "faults": "faultFile", "provision-delay": "provisionDelay", "deletion-delay": "deletionDelay",
		"provision-delay-of": "nodeGroups", "bounds": "nodeGroups", "seed": "seed", "ties": "ties", "signs": "signs", "skip-unsupported": "skipUnsupported",
		"full-snapshots": "fullSnapshots", "control-plane": "controlPlane", "truth": "expect", "agree": "expect", "optimal": "optimal",
		"no-scale-down": "noScaleDown", "gpu-label": "gpuLabel", "termination": "termination",
		"vertical": "vertical", "vertical-flag": "verticalFlags", "speed": "speed", "horizontal": "horizontal", "objects": "objects", "load": "load",
	}
	// These say where results go, which test decides for all scenarios; and several seeds are several replays.
	elsewhere := []string{"output", "report-dir", "log-dir", "html", "event-reports", "seeds", "min-agreement"}
	var known []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[scenario.Scenario]()) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		known = append(known, name)
	}
	var replay *cobra.Command
	for _, c := range newRootCommand(console.IO{}, &console.LogFlags{}, &console.ProfileFlags{}).Commands() {
		if c.Name() == "replay" {
			replay = c
		}
	}
	replay.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || slices.Contains(elsewhere, f.Name) {
			return
		}
		if key, ok := keys[f.Name]; !ok || !slices.Contains(known, key) {
			t.Errorf("--%s of replay has no key in scenario files (%q): give scenario.Scenario one", f.Name, key)
		}
	})
}

// TestScenariosPage: the commands of docs/scenarios.md print what the page says. A file that is not there yet is the one the page shows.
func TestScenariosPage(t *testing.T) {
	page, err := os.ReadFile(root("docs", "scenarios.md"))
	if err != nil {
		t.Fatal(err)
	}
	fixtures, err := filepath.Abs(root("fixtures"))
	if err != nil {
		t.Fatal(err)
	}
	inDir(t, nil)
	if err := os.Symlink(fixtures, "fixtures"); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, block := range strings.Split(string(page), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			want = strings.TrimSuffix(want, "\n") + "\n"
			args := strings.Fields(line)
			commands++
			if args[0] == "cat" {
				got, err := os.ReadFile(args[1])
				if os.IsNotExist(err) {
					got, err = []byte(want), os.WriteFile(args[1], []byte(want), 0o644)
				}
				if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
					t.Errorf("$ %s: %v (-page +file):\n%s", line, err, diff)
				}
				continue
			}
			_, stdout, stderr := run(t, t.Context(), args[1:]...)
			scrub := func(s string) string { return took.ReplaceAllString(s, "$1 0.00s") }
			if diff := cmp.Diff(scrub(want), scrub(stderr+stdout)); diff != "" {
				t.Errorf("$ %s (-page +now):\n%s", line, diff)
			}
		}
	}
	if commands < 5 {
		t.Errorf("only %d commands in the page", commands)
	}
}
