package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/prices"
)

// someEngines stands for package engines, which is above this one: two names, and flags that begin with "--".
type someEngines struct{}

func (someEngines) Names() []string { return []string{"virtualca", "recommender"} }

func (someEngines) Engine(name string) (harness.Option, error) {
	if name != "virtualca" && name != "recommender" && name != "exec:ca" {
		return nil, fmt.Errorf("unknown autoscaler %q", name)
	}
	return harness.WithAutoscaler(func(harness.Env) (scalehist.Autoscaler, error) { return nil, errors.New("no autoscaler in this test") }), nil
}

func (someEngines) RealTime(name string) bool { return strings.HasPrefix(name, "exec:") }

func (someEngines) CheckFlags(_ string, flags []string) error {
	for _, f := range flags {
		if !strings.HasPrefix(f, "--") {
			return fmt.Errorf("%q is no flag", f)
		}
	}
	return nil
}

func (someEngines) Controls(*harness.Settings, func(string) string) ([]harness.Option, error) {
	return nil, nil
}
func (someEngines) JudgeScaleUps(context.Context, *scalehist.ReplayReport, *prices.Table) error {
	return nil
}

// everything has every key, those that exclude each other apart.
const everything = `# yaml-language-server: $schema=x
- &base
  name: everything
  description: all keys
  history: recording.db
  window: {from: +10s, to: -10s}
  for: 5m
  playback: continuous
  autoscaler: virtualca
  flags: [--expander=most-pods, "--max-nodes-total=10"]
  seed: 7
  ties: creation
  scheduler: bin-packing
  controlPlane: memory
  batchInterval: 0s
  provisionDelay: 90s
  deletionDelay: 5s
  gpuLabel: example.com/gpu
  signs: true
  skipUnsupported: true
  fullSnapshots: true
  optimal: true
  nodeGroups:
    std: {minSize: 1, maxSize: 20, provisionDelay: 2m, priceModel: spot}
    std2: {provisionDelay: 1s}
  faults:
  - stock-out:std@+1m..+2m,count=1
  - {kind: spot-reclaim, nodeGroup: std, from: +90s, count: 2}
  recordedFaults: false
  prices: {table: public, region: aws/us-east-1, model: on-demand}
  expect:
    scaledUp: {std: 4, std2: ">= 2", "*": any}
    scaledDown: {}
    finalSizes: {std: 2..4}
    unschedulable: [web-1, other/web-2]
    recording: differs
    decisions:
    - {first: scale-up, at: +20s, nodeGroup: std, nodes: 3}
    - {last: scale-down, at: +20s..+1m}
    - {loop: 3, outcome: ScaleUpNotNeeded, because: max size}
    keepNodes: {std-0: NotEnoughPdb, std-1: }
    metrics:
      pending.max: <= 90s
      nodes.peak: "<= 5 or <= 7"
    cost: <= 3.2
    golden: want.txt
- <<: *base
  name: merged
  unused: 1
`

func written(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"x.yaml": text, "recording.db": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "x.yaml")
}

func problems(t *testing.T, file string) []string {
	t.Helper()
	_, err := Load(file, someEngines{})
	var wrong *FileError
	if !errors.As(err, &wrong) {
		t.Fatalf("%v is not a *FileError", err)
	}
	var out []string
	for _, p := range wrong.Problems {
		out = append(out, fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message))
	}
	return out
}

func TestEverything(t *testing.T) {
	file := written(t, strings.Replace(everything, "  unused: 1\n", "", 1))
	all, err := Load(file, someEngines{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Name != "everything" || all[1].Name != "merged" || all[1].Expect.ScaledUp["std"].Min != 4 {
		t.Fatalf("%+v", all)
	}
	s := all[0]
	faults, err := s.AllFaults(s.Path)
	if err != nil || len(faults) != 2 || !slices.ContainsFunc(faults, func(f trace.Fault) bool { return f.String() == "spot-reclaim:std@+1m30s,count=2" }) {
		t.Errorf("faults %v (%v)", faults, err)
	}
	var got []string
	for _, x := range s.expectations(Judging{}) {
		p := s.pos(x.path)
		got = append(got, fmt.Sprintf("%d:%d %s %v", p.line, p.column, x.what(), x.not))
	}
	want := []string{
		"32:5 scaledUp false", "33:5 scaledDown false", "34:5 finalSizes false", "35:5 unschedulable false", "36:5 recording true",
		"38:7 decisions[0] false", "39:7 decisions[1] false", "40:7 decisions[2] false", "41:5 keepNodes false",
		"44:7 metrics.nodes.peak false", "43:7 metrics.pending.max false", "45:5 cost false", "46:5 golden false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, want := s.Rerun(), "scalehist test "+file+" --run '^everything$'"; got != want {
		t.Errorf("re-run %s, want %s", got, want)
	}
}

// TestRecordingQuestions: what is written below recording is what is judged.
func TestRecordingQuestions(t *testing.T) {
	r := &scalehist.ReplayReport{Scenario: "a", Recorded: &scalehist.RecordedTruth{}, Agreement: &scalehist.Agreement{Questions: []scalehist.Answer{
		{Question: scalehist.QuestionScaledUp, Verdict: scalehist.AnswerAgreed}, {Question: scalehist.QuestionSteps, Verdict: scalehist.AnswerDiffers},
		{Question: scalehist.QuestionWaits, Verdict: scalehist.AnswerAgreed},
	}}}
	for text, want := range map[string]bool{
		"agrees": true, "differs": false, "{agrees: [waits]}": true, "{agrees: [waits, steps]}": false, "{differs: [steps]}": true, "{differs: [steps, waits]}": false,
	} {
		all, err := Load(written(t, "history: recording.db\nexpect: {recording: "+text+"}\n"), someEngines{})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range all[0].Judge(r, Judging{}) {
			if v.Broken || (v.Message == "") != want {
				t.Errorf("recording: %s: want %t, got broken %t, %q", text, want, v.Broken, v.Message)
			}
		}
	}
}

// TestProblems: what is wrong is reported with its place, and what was meant.
func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"unknown keys", "history: recording.db\nfalts: []\nexpect:\n  scaledup: {}\n  decisions:\n  - {frist: scale-up}\n", []string{
			`2:1: unknown key "falts"; did you mean "faults"`, `4:3: unknown key "scaledup" in expect; did you mean "scaledUp"?`, `6:6: unknown key "frist" in expect.decisions[0]`,
		}},
		{"nothing near", "history: recording.db\nzzzzzzzz: 1\n", []string{`2:1: unknown key "zzzzzzzz": want one of autoscaler, batchInterval, `}},
		{"suggestions", "history: recording.db\nexpect:\n  unscheduleable: none\n", []string{`; did you mean "unschedulable"?`}},
		{"nothing expected", "history: recording.db\n", []string{"1:1: expect is missing or empty: it would pass whatever happens"}},
		{"no history", "expect: {recording: agrees}\n", []string{"1:1: history is missing"}},
		{"history not there", "history: no.db\nexpect: {recording: agrees}\n", []string{"1:1: history: stat "}},
		{"words", "history: recording.db\nties: hsh\nplayback: x\nexpect: {recording: agree}\n", []string{
			`2:1: ties: "hsh": want upstream, hash or creation; did you mean "hash"?`, `3:1: playback: "x"`, `4:21: expect.recording: "agree": want agrees or differs; did you mean "agrees"?`,
		}},
		{"questions", "history: recording.db\nexpect: {recording: {agrees: [step, waits]}}\n", []string{
			`2:31: expect.recording.agrees[0]: "step": want scaled-up, scaled-down, unschedulable, peak-size, steps or waits; did you mean "steps"?`,
		}},
		{"verdicts", "history: recording.db\nexpect: {recording: {agree: [steps]}}\n", []string{`2:22: expect.recording.agree: "agree": want agrees or differs; did you mean "agrees"?`}},
		{"both verdicts", "history: recording.db\nexpect: {recording: {agrees: [steps], differs: [waits]}}\n", []string{"2:39: expect.recording.differs: a replay cannot both agree and differ"}},
		{"no question", "history: recording.db\nexpect: {recording: {differs: []}}\n", []string{"2:31: expect.recording.differs: no question is given: write 'recording: differs'"}},
		{"no verdict", "history: recording.db\nexpect: {recording: {}}\n", []string{"expect.recording: want agrees, differs, or {agrees: [steps, waits]}"}},
		{"questions per event", "history: recording.db\nplayback: per-event\nexpect: {recording: {agrees: [scaled-up, waits]}}\n", []string{
			"3:10: expect.recording: no time passes in a per-event playback, so waits has no answer; it has one for scaled-up",
		}},
		{"types", "history: [a]\nfor: soon\nseed: many\nsigns: yes\nnodeGroups: 3\nflags: --a\nexpect: {scaledUp: 3, unschedulable: some}\n", []string{
			"1:10: history: want a text", `2:6: for: "soon" is not a duration`, `3:7: seed: "many" is not a whole number`, `4:8: signs: "yes": want true or false`,
			`5:13: nodeGroups: want "name: value" lines`, `6:8: flags: want a list`, `7:20: expect.scaledUp: want "name: value" lines`, `7:38: expect.unschedulable: "some" is neither none`,
		}},
		{"counts", "history: recording.db\nexpect:\n  scaledUp: {a: -1, b: 3..2, c: \"< 0\", d: 1.5}\n", []string{`3:17: expect.scaledUp.a: "-1" is no count`, `3:24: expect.scaledUp.b: "3..2": 3 is more than 2`, `"< 0": nothing is less`, `"1.5" is no count`}},
		{"limits", "history: recording.db\nexpect:\n  metrics: {pending.maxx: <= 3s, pending.max: +3s, nodes.peak: <= 3s}\n  cost: <= 3\n", []string{
			`3:27: expect.metrics.pending.maxx: unknown metric "pending.maxx"; did you mean "pending.max"`, `"+3s" is a change against a baseline`, `nodes.peak is in nodes`, "4:3: expect.cost goes with prices",
		}},
		{"faults", "history: recording.db\nfaults:\n- stok-out\n- {kind: quota, nod: a}\n- {kind: slow, nodeGroup: a}\nexpect: {recording: agrees}\n", []string{
			`3:3: faults[0]: fault "stok-out": unknown kind`, `4:17: unknown key "nod" in faults[1]`, `5:3: faults[2]: slow needs a delay`,
		}},
		{"engine", "history: recording.db\nautoscaler: virtualka\nexpect: {recording: agrees}\n", []string{`2:1: autoscaler: unknown autoscaler "virtualka"; did you mean "virtualca"?`}},
		{"flags", "history: recording.db\nflags: [a]\nexpect: {recording: agrees}\n", []string{`2:9: flags: "a" is no flag`}},
		{"groups", "history: recording.db\nnodeGroups:\n  a: {minSize: 1}\n  b: {minSize: 3, maxSize: 2}\n  c: {priceModel: spot}\nexpect: {recording: agrees}\n", []string{
			"3:3: nodeGroups.a: minSize and maxSize go together", "4:7: nodeGroups.b: minSize 3 and maxSize 2", "5:7: nodeGroups.c: priceModel goes with prices",
		}},
		{"per event", "history: recording.db\nplayback: per-event\nfor: 3m\nexpect: {unschedulable: none}\n", []string{"3:1: for: a per-event playback", "4:10: expect.unschedulable: each event"}},
		{"twice", "history: a\nhistory: b\nexpect: {recording: agrees}\n", []string{"history: ", "2:1: history is given twice"}},
		{"same name", "- {name: A b, history: recording.db, expect: {recording: agrees}}\n- {name: a-b, history: recording.db, expect: {recording: agrees}}\n", []string{`2:4: the name "a-b" is that of the scenario at `}},
		{"no name", "- {history: recording.db, expect: {recording: agrees}}\n- {name: b, history: recording.db, expect: {recording: agrees}}\n", []string{"1:3: scenario 1 of 2 has no name"}},
		{"decisions", "history: recording.db\nexpect:\n  decisions: [{}, {first: scale-up, last: scale-up}, {first: up}, {at: soon}]\n", []string{
			"3:15: expect.decisions[0] is empty", "3:19: expect.decisions[1]: first and last", `3:55: expect.decisions[2].first: "up"`, `3:72: expect.decisions[3].at: "soon" is neither`,
		}},
		{"not YAML", "history: \"a\nexpect: b\n", []string{"this is not YAML: "}},
		{"nothing", "# only a comment\n", []string{"1:1: there is no scenario in it"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(problems(t, written(t, tt.text)), "\n")
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("lacks %q:\n%s", w, got)
				}
			}
		})
	}
}

func TestMergeBringsUnknownKeys(t *testing.T) {
	got := strings.Join(problems(t, written(t, everything)), "\n")
	if !strings.Contains(got, `49:3: unknown key "unused"`) {
		t.Error(got)
	}
}

func TestOtherFiles(t *testing.T) {
	_, err := Load(written(t, "currency: EUR\nmachineTypes: {}\n"), someEngines{})
	if !errors.Is(err, ErrNoScenario) || !strings.Contains(err.Error(), "x.yaml:1:1: this is not a scenario") {
		t.Error(err)
	}
	if _, err := Load("no/such.yaml", someEngines{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestAliasesAreBounded: a small file does not become a large one.
func TestAliasesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("- &s\n  name: a\n  history: recording.db\n  expect: {unschedulable: [" + strings.Repeat("x,", 2000) + "x]}\n")
	for range 2000 {
		b.WriteString("- *s\n")
	}
	got := problems(t, written(t, b.String()))
	if len(got) > 3 || !strings.Contains(strings.Join(got, "\n"), "its aliases multiply") {
		t.Errorf("%d problems, the first %s", len(got), got[0])
	}
}

// TestSchema holds the published schema, and that it takes what Parse takes and refuses unknown keys.
func TestSchema(t *testing.T) {
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Text(t, filepath.Join("..", "..", "docs", "scenario.schema.json"), string(got), os.Getenv("SCALEHIST_UPDATE") != "")
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(got)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(SchemaID, parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	// Editors resolve aliases before they validate; keys that only merges bring are given here.
	whole := strings.Replace(everything, "  unused: 1\n", "  history: recording.db\n  expect: {recording: agrees}\n", 1)
	for text, right := range map[string]bool{
		strings.Replace(strings.Replace(whole, "- <<: *base\n", "-\n", 1), "std-1: }", "std-1: \"\"}", 1): true,
		"history: a\nexpect: {unschedulable: none}\n":                                                     true,
		"history: a\nexpect: {unschedulable: \">= 2\"}\n":                                                 true,
		"history: a\nprices: public\nexpect: {keepNodes: [a]}\n":                                          true,
		"history: a\nfalts: []\nexpect: {unschedulable: none}\n":                                          false,
		"history: a\nexpect: {metrics: {pending.maxx: <= 3s}}\n":                                          false,
		"history: a\nexpect: {metrics: {pending.max: +3s}}\n":                                             false,
		"history: a\nfaults: [{kind: nothing}]\nexpect: {}\n":                                             false,
		"expect: {unschedulable: none}\n":                                                                 false,
	} {
		var value any
		data, err := sigsyaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != right {
			t.Errorf("valid %t, want %t: %v\n%s", err == nil, right, err, text)
		}
	}
}
