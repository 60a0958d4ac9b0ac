package report_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/report"
)

var update = flag.Bool("update", false, "rewrite docs/report.schema.json and the golden files of this package")

// sample is a small report with one of everything.
func sample() *scalehist.ReplayReport {
	start := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	final, up, down := 2, 1, 0
	empty := scalehist.ClusterSnapshot{UnscheduledPods: []scalehist.PodInfo{}, ScheduledPods: []scalehist.PodInfo{}, Nodes: []scalehist.NodeInfo{}, NodeGroups: []scalehist.NodeGroup{}}
	sizes := []scalehist.SizeAt{{Size: 1}}
	return &scalehist.ReplayReport{
		Version: scalehist.ReportVersion, Scenario: "sample", Autoscaler: "virtualca", Playback: scalehist.PlaybackContinuous,
		StartTime: start, EndTime: start.Add(time.Minute), BatchInterval: scalehist.Duration(10 * time.Second),
		NodeGroups: []scalehist.NodeGroupResult{
			{Name: "a-small", MachineType: "m5.large", MinSize: 1, MaxSize: 3, Initial: 1, Final: 1, Peak: 1, Sizes: sizes, RecordedFinal: &final, RecordedScaledUp: &up, RecordedScaledDown: &down},
			{Name: "b-large", MachineType: "m5.4xlarge", MaxSize: 3, Final: 3, Peak: 3, ScaledUp: 3, Sizes: sizes, RecordedFinal: &down, RecordedScaledUp: &down, RecordedScaledDown: &down},
		},
		ScaledUpNodeGroups: map[string]int{"b-large": 3}, ScaledDownNodeGroups: map[string]int{},
		ScaledUpNodes: []scalehist.ScaledNode{{Name: "b-large-0", NodeGroup: "b-large", RequestedAt: start.Add(20 * time.Second), ReadyAt: start.Add(50 * time.Second), Pods: []string{"default/web-1"}}},
		Decisions: []scalehist.Decision{
			{At: start.Add(20 * time.Second), Loop: 2, Outcome: scalehist.ScaleUpSuccessful, UnschedulablePods: []string{"default/web-1", "default/web-2"},
				Options: []scalehist.Option{
					{NodeGroup: "a-small", NodeCount: 2, Pods: 2, Scores: map[string]float64{"least-waste": 0.41}, Reason: "wastes more"},
					{NodeGroup: "b-large", NodeCount: 3, Pods: 2, Scores: map[string]float64{"least-waste": 0.21}, Chosen: true, Reason: "best by least-waste"},
				},
				ScaleUps: []scalehist.ScaleUp{{NodeGroup: "b-large", From: 0, To: 3, Max: 3}}},
		},
		Loops: 6, Steps: []scalehist.SizeStep{}, Batches: []scalehist.Batch{},
		Pending:            scalehist.PendingStats{Pods: 2, PodSeconds: 60, P50: 30, P95: 30, Max: 30},
		UnschedulableAtEnd: []scalehist.UnschedulablePod{{Namespace: "default", Name: "web-7", Message: "0/4 nodes are available: 4 Insufficient cpu."}},
		Cost:               &scalehist.Cost{Currency: "USD", Total: 1.5, NodeGroups: map[string]float64{"b-large": 1.5}, NodeHours: map[string]float64{"b-large": 0.5}},
		Recorded: &scalehist.RecordedTruth{Source: "target sizes", ScaledUpNodeGroups: map[string]int{"a-small": 1}, ScaledDownNodeGroups: map[string]int{}, FinalSizes: map[string]int{"a-small": 2, "b-large": 0},
			Steps: []scalehist.RecordedStep{{At: start.Add(26 * time.Second), NodeGroup: "a-small", From: 1, To: 2}}},
		Agreement: &scalehist.Agreement{
			Questions: []scalehist.Answer{
				{Question: scalehist.QuestionScaledUp, Verdict: scalehist.AnswerDiffers, Recorded: "a-small +1", Replayed: "b-large +3", Text: "2 node groups grew by another number of nodes",
					Groups: []scalehist.GroupDifference{{NodeGroup: "a-small", Recorded: 1}, {NodeGroup: "b-large", Replayed: 3}}},
				{Question: scalehist.QuestionScaledDown, Verdict: scalehist.AnswerAgreed, Recorded: "nothing", Replayed: "nothing", Text: "each node group shrank by as many nodes"},
				{Question: scalehist.QuestionUnschedulable, Verdict: scalehist.AnswerDiffers, Recorded: "0 pods", Replayed: "1 pod", Text: "another number of pods has no node at the end"},
				{Question: scalehist.QuestionPeakSize, Verdict: scalehist.AnswerDiffers, Recorded: "a-small 2", Replayed: "b-large 3", Text: "2 node groups had another largest size",
					Groups: []scalehist.GroupDifference{{NodeGroup: "a-small", Recorded: 2, Replayed: 1}, {NodeGroup: "b-large", Replayed: 3}}},
				{Question: scalehist.QuestionSteps, Verdict: scalehist.AnswerDiffers, Recorded: "1 step", Replayed: "1 step", Text: "1 missing"},
				{Question: scalehist.QuestionWaits, Verdict: scalehist.AnswerUnknown, Replayed: "p50 30s, p95 30s", Text: "how long pods waited was not recorded"},
			},
			Groups: []scalehist.GroupDifference{{NodeGroup: "a-small", Recorded: 1}, {NodeGroup: "b-large", Replayed: 3}},
			Differences: []scalehist.Difference{{Kind: "missing", Reason: "at +20s the replay decided otherwise",
				Recorded: &scalehist.RecordedStep{At: start.Add(26 * time.Second), NodeGroup: "a-small", From: 1, To: 2}}, {Kind: "time", Within: true, Reason: "4s later than recorded"}},
		},
		Warnings: []string{"flag --x is not modelled"}, Inputs: []scalehist.InputHash{{Name: "history", SHA256: "ab"}},
		Start: empty, End: empty,
		Run: &scalehist.RunInfo{ControlPlane: "envtest", WallTime: map[string]float64{"boot": 1, "total": 2}, PeakMemory: map[string]int64{"etcd": 40 << 20},
			Rerun: "go test ./scenarios -ginkgo.focus=sample", Artifacts: "gen/sample"},
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	goldentest.Text(t, path, got, *update)
}

func TestText(t *testing.T)     { golden(t, "testdata/sample.txt", report.Text(sample())) }
func TestTimeline(t *testing.T) { golden(t, "testdata/timeline.txt", report.Timeline(sample())) }

func TestSchemaIsPublishedAndReportsFollowIt(t *testing.T) {
	schema, err := report.Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../docs/report.schema.json", string(schema))

	compiled := compile(t, schema)
	var b strings.Builder
	if err := report.JSON(&b, sample()); err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(instance); err != nil {
		t.Errorf("a report does not follow its schema: %v", err)
	}
	delete(instance.(map[string]any), "scaledUpNodeGroups")
	if err := compiled.Validate(instance); err == nil {
		t.Error("the schema accepts a report without scaledUpNodeGroups")
	}
}

func compile(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(report.SchemaID, parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(report.SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func TestCanonicalLeavesOutRunOnly(t *testing.T) {
	b, err := report.Canonical(sample())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if _, ok := got["run"]; ok {
		t.Error("canonical report has a run section")
	}
	if got["scenario"] != "sample" || got["cost"] == nil {
		t.Errorf("canonical report lost something: %v", got)
	}
}

func TestSaveAndRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "er")
	if err := report.Save(dir, sample()); err != nil {
		t.Fatal(err)
	}
	got, err := report.Read(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("read differs from saved (-want +got):\n%s", diff)
	}
}

func TestReadRefusesOtherFiles(t *testing.T) {
	for _, tc := range []struct{ name, content, want string }{
		{"not json", "hello", "is not a replay report"},
		{"newer", `{"version":"scalehist.io/report/v9"}`, `"scalehist.io/report/v9"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.json")
			if err := os.WriteFile(path, []byte(tc.content), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := report.Read(path); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestDiffTable(t *testing.T) {
	for _, tc := range []struct {
		name      string
		want      map[string]int
		dir       report.Direction
		wantEqual bool
		wantIn    []string
	}{
		{"equal", map[string]int{"b-large": 3}, report.Up, true, []string{"b-large"}},
		{"an unwanted group counts", map[string]int{}, report.Up, false, []string{"✗", "+3"}},
		{"short", map[string]int{"a-small": 2, "b-large": 3}, report.Up, false, []string{"-2"}},
		{"down", map[string]int{}, report.Down, true, nil},
		{"net", map[string]int{"a-small": 1}, report.Net, false, []string{"-1", "+3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table, equal, err := report.DiffTable(tc.want, sample(), tc.dir)
			if err != nil {
				t.Fatal(err)
			}
			if equal != tc.wantEqual {
				t.Errorf("equal: want %v, got %v\n%s", tc.wantEqual, equal, table)
			}
			for _, s := range tc.wantIn {
				if !strings.Contains(table, s) {
					t.Errorf("table lacks %q:\n%s", s, table)
				}
			}
		})
	}
}

func TestDiffTableNamesUnknownGroup(t *testing.T) {
	_, _, err := report.DiffTable(map[string]int{"typo": 1}, sample(), report.Up)
	if err == nil || !strings.Contains(err.Error(), `unknown node group "typo": scenario "sample" has a-small, b-large`) {
		t.Errorf("got %v", err)
	}
}

func TestDiverging(t *testing.T) {
	if d := report.Diverging(map[string]int{"a-small": 2}, sample()); d == nil || d.Loop != 2 {
		t.Errorf("want loop 2, which grew b-large, got %v", d)
	}
	if d := report.Diverging(map[string]int{"a-small": 1, "b-large": 3}, sample()); d == nil || d.Loop != 2 {
		t.Errorf("want loop 2, which passed a-small by, got %v", d)
	}
}

// TestTimelineNamesWhatChanged: whatever changes in a report, the golden's diff names the part, not a hash of all alone.
func TestTimelineNamesWhatChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*scalehist.ReplayReport)
		want   []string
	}{
		"a delta": {func(r *scalehist.ReplayReport) { r.NodeGroups[0].Final++; r.NodeGroups[0].ScaledUp++ }, []string{"group ", "part sizes and nodes "}},
		"a wait":  {func(r *scalehist.ReplayReport) { r.Pending.P95++ }, []string{"pending ", "part pods "}},
		"a pod": {func(r *scalehist.ReplayReport) {
			r.Batches = append(r.Batches, scalehist.Batch{Ended: []string{"d/x"}})
		}, []string{"part pods "}},
		"a pod that moved": {func(r *scalehist.ReplayReport) {
			r.Batches = append(r.Batches, scalehist.Batch{Returned: []string{"d/x"}})
		}, []string{"moved ", "part pods "}},
		"a decision":          {func(r *scalehist.ReplayReport) { r.Decisions[0].Options[0].NodeCount++ }, []string{"      option a-small: 3 nodes", "part decisions "}},
		"a loop":              {func(r *scalehist.ReplayReport) { r.Loops++ }, []string{"part decisions "}},
		"a flag":              {func(r *scalehist.ReplayReport) { r.Settings.Flags = append(r.Settings.Flags, "--x=1") }, []string{"part asked for "}},
		"the cost":            {func(r *scalehist.ReplayReport) { r.Cost.Total++ }, []string{"cost ", "part sizes and nodes "}},
		"the verdict":         {func(r *scalehist.ReplayReport) { r.Agreement = &scalehist.Agreement{Agreed: true} }, []string{"part against the recording "}},
		"a warning":           {func(r *scalehist.ReplayReport) { r.Warnings = append(r.Warnings, "new") }, []string{"warning ", "part other "}},
		"what never compares": {func(r *scalehist.ReplayReport) { r.Run = &scalehist.RunInfo{Machine: "other"} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := sample(), sample()
			tc.change(after)
			was := strings.Split(report.Timeline(before), "\n")
			var got []string
			for _, line := range strings.Split(report.Timeline(after), "\n") {
				if !slices.Contains(was, line) && !strings.HasPrefix(line, "report ") {
					got = append(got, line)
				}
			}
			if len(got) != len(tc.want) {
				t.Fatalf("changed: %q, want %q", got, tc.want)
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("changed: %q, want %q", got, tc.want)
				}
			}
		})
	}
}

// TestWideNames: the table aligns when names of node groups take two columns a character, or several code points a character.
func TestWideNames(t *testing.T) {
	r := &scalehist.ReplayReport{Scenario: "wide"}
	names := []string{"ノード群", "👩‍👩‍👧‍👦-family", "e\u0301tage", "plain"}
	for _, name := range names {
		r.NodeGroups = append(r.NodeGroups, scalehist.NodeGroupResult{Name: name, MachineType: "m5.large"})
	}
	at := map[int]bool{}
	for line := range strings.SplitSeq(report.Text(r), "\n") {
		if before, _, found := strings.Cut(line, "m5.large"); found {
			at[displaywidth.String(before)] = true
		}
	}
	if len(at) != 1 {
		t.Errorf("the second column begins at %v:\n%s", at, report.Text(r))
	}
}
