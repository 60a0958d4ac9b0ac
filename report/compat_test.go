package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/compare"
	"github.com/scalehist/scalehist/report/gate"
	"github.com/scalehist/scalehist/report/metrics"
)

// oldReports were written by earlier versions of scalehist, oldest first, all of fixtures/two-machine-sizes. They are never
// changed: docs/versions.md promises that they load.
func oldReports(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "compat", "v1-*.json"))
	if err != nil || len(files) < 3 {
		t.Fatalf("only the old reports %v (%v)", files, err)
	}
	return files
}

func reportSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	b, err := report.Schema()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(report.SchemaID, parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(report.SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOldReportsLoad: each old report is valid under today's schema, and everything that reads reports makes sense of it.
func TestOldReportsLoad(t *testing.T) {
	schema := reportSchema(t)
	for _, file := range oldReports(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(instance); err != nil {
				t.Errorf("today's schema refuses it: a key that is new must not be required: %v", err)
			}
			r, err := report.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			for group, want := range map[string]int{"large": 3, "small": 2} {
				if got := r.ScaledUpNodeGroups[group]; got != want {
					t.Errorf("%s grew by %d, the replay's %d", group, got, want)
				}
			}
			if text := report.Text(r); !strings.Contains(text, "large") {
				t.Errorf("the text does not show the group that grew:\n%s", text)
			}
			if line := report.Timeline(r); !strings.Contains(line, "large 0->3") {
				t.Errorf("the timeline does not show the scale-up:\n%s", line)
			}
			explainAll(t, r)
			if set := metrics.Of(r); len(set) == 0 {
				t.Error("no metric can be measured")
			}
		})
	}
}

func explainAll(t *testing.T, r *scalehist.ReplayReport) {
	t.Helper()
	for _, name := range report.PodNames(r) {
		if _, err := report.ExplainPod(r, name); err != nil {
			t.Errorf("explain pod %s: %v", name, err)
		}
	}
	for _, name := range report.NodeGroupNames(r) {
		if _, err := report.ExplainNodeGroup(r, name, nil); err != nil {
			t.Errorf("explain node group %s: %v", name, err)
		}
	}
	for _, name := range report.NodeNames(r) {
		if _, err := report.ExplainNode(r, name); err != nil {
			t.Errorf("explain node %s: %v", name, err)
		}
	}
}

// TestOldReportsCompare: reports of different versions of scalehist stand side by side, and a gate judges one by the other.
func TestOldReportsCompare(t *testing.T) {
	policy, err := gate.ParsePolicy([]byte("limits:\n  pending.max: +0s\n  unschedulable: +0\n"), "gate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files := oldReports(t)
	var sides []compare.Side
	for _, file := range files {
		r, err := report.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		sides = append(sides, compare.Side{Label: filepath.Base(file), Report: r})
	}
	if _, err := compare.Reports(sides, compare.Options{}); err != nil {
		t.Error(err)
	}
	oldest, newest := sides[0].Report, sides[len(sides)-1].Report
	v, err := gate.Judge(policy, []gate.Scenario{{Name: "two", Report: oldest}}, []gate.Scenario{{Name: "two", Report: newest}})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Scenarios) != 1 || len(v.Scenarios[0].Checks) == 0 {
		t.Errorf("nothing was judged: %+v", v)
	}
}

// TestNewerReportsLoad: keys that a later scalehist adds are passed over, wherever they are.
func TestNewerReportsLoad(t *testing.T) {
	files := oldReports(t)
	b, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	var whole any
	if err := json.Unmarshal(b, &whole); err != nil {
		t.Fatal(err)
	}
	if b, err = json.Marshal(fromTheFuture(whole)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := report.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := report.Read(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	if report.Text(got) != report.Text(want) {
		t.Error("unknown keys change what is read")
	}
}

// fromTheFuture adds an unknown key to the report, its decisions and its node groups: to objects of ours, not to maps of names.
func fromTheFuture(v any) any {
	whole, ok := v.(map[string]any)
	if !ok {
		return v
	}
	whole["futureKey"] = map[string]any{"a": 1}
	for _, list := range []string{"decisions", "nodeGroups", "batches", "deployedPods"} {
		items, _ := whole[list].([]any)
		for _, item := range items {
			if o, ok := item.(map[string]any); ok {
				o["futureKey"] = "b"
			}
		}
	}
	return whole
}
