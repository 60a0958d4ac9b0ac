package truth_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/report"
)

const sample = `{
 "scenario": "two-sizes", "what": "a burst", "recordedWith": {"clusterAutoscaler": "1.36.1"},
 "flags": ["--scan-interval=10s"],
 "nodeGroups": [
  {"name": "big", "machineType": "std-8", "zone": "z1", "minSize": 0, "maxSize": 4, "initialSize": 0, "provisionDelaySeconds": 25},
  {"name": "std", "machineType": "std-4", "zone": "z1", "minSize": 1, "maxSize": 8, "initialSize": 1, "provisionDelaySeconds": 20}
 ],
 "sameSizeHistoryInAllRuns": false,
 "firstStepsInAllRuns": [{"at": 26.8, "sizes": {"big": [0, 2]}}, {"at": 26.9, "sizes": {"std": [1, 3]}}],
 "outcomes": [
  {"scaledUp": {"big": 2, "std": 2}, "scaledDown": {"big": 0, "std": 0}, "finalSizes": {"big": 2, "std": 3}, "unschedulableAtEnd": 0},
  {"scaledUp": {"big": 2, "std": 4}, "scaledDown": {"big": 1, "std": 0}, "finalSizes": {"big": 1, "std": 5}, "unschedulableAtEnd": 0}
 ],
 "runs": [{
  "run": 1, "log": "two-sizes.jsonl", "start": "2026-11-21T00:48:00.5Z", "durationSeconds": 120, "workloadStartSeconds": 16.1, "loops": [10.1],
  "targetSizes": {"big": [[0, 0], [26.8, 2]]}, "providerCalls": [{"at": 26.8, "what": "increase", "group": "big", "delta": 2}],
  "scaledUp": {}, "scaledDown": {}, "finalSizes": {}, "peakSizes": {}, "unschedulableAtEnd": [], "scheduledAtEnd": 9, "nodesAtEnd": 5
 }]
}`

var start = time.Date(2026, 11, 21, 0, 48, 0, 500_000_000, time.UTC)

func at(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }

// replayed is a report that the sample agrees with.
func replayed() *scalehist.ReplayReport {
	return &scalehist.ReplayReport{
		Playback: scalehist.PlaybackContinuous, StartTime: start, EndTime: at(120),
		NodeGroups: []scalehist.NodeGroupResult{
			{Name: "big", Initial: 0, Final: 2, ScaledUp: 2}, {Name: "std", Initial: 1, Final: 3, ScaledUp: 2},
		},
		Steps: []scalehist.SizeStep{
			{At: at(20), Loop: 2, Changes: []scalehist.SizeChange{{NodeGroup: "big", From: 0, To: 2}}},
			{At: at(20), Loop: 3, Changes: []scalehist.SizeChange{{NodeGroup: "std", From: 1, To: 3}}},
		},
		Decisions: []scalehist.Decision{
			{At: at(20), Loop: 2, Outcome: scalehist.ScaleUpSuccessful, ScaleUps: []scalehist.ScaleUp{{NodeGroup: "big", From: 0, To: 2, Max: 4}}},
			{At: at(20), Loop: 3, Outcome: scalehist.ScaleUpSuccessful, ScaleUps: []scalehist.ScaleUp{{NodeGroup: "std", From: 1, To: 3, Max: 8}},
				Options: []scalehist.Option{{NodeGroup: "std", NodeCount: 2, Pods: 5, Chosen: true, Reason: "the only option"}}},
		},
	}
}

func TestCompare(t *testing.T) {
	f, err := truth.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*scalehist.ReplayReport)
		// wantOutcome is the number of the outcome, wantDifference kind and reason of the first step that parts.
		wantAgreed     bool
		wantOutcome    int
		wantNearest    int
		wantParts      []scalehist.Part
		wantDifference string
		wantDecision   int
	}{
		{name: "the first outcome", change: func(*scalehist.ReplayReport) {}, wantAgreed: true, wantOutcome: 1},
		{name: "the second outcome", wantAgreed: true, wantOutcome: 2, change: func(r *scalehist.ReplayReport) {
			r.NodeGroups[0].Final, r.NodeGroups[0].ScaledDown = 1, 1
			r.NodeGroups[1].Final, r.NodeGroups[1].ScaledUp = 5, 4
		}},
		{name: "another outcome", wantNearest: 1, change: func(r *scalehist.ReplayReport) {
			r.NodeGroups[1].Final, r.NodeGroups[1].ScaledUp = 4, 3
			r.UnschedulableAtEnd = []scalehist.UnschedulablePod{{Name: "web-1"}}
		}, wantParts: []scalehist.Part{
			{What: "scaled up", NodeGroup: "std", Seen: 2, Replayed: 3}, {What: "final size", NodeGroup: "std", Seen: 3, Replayed: 4},
			{What: "unschedulable at end", Seen: 0, Replayed: 1},
		}},
		{name: "in two loops instead of one", wantOutcome: 1, wantDecision: 3, wantDifference: "sizes: all runs went std 1->3, the replay std 1->2",
			change: func(r *scalehist.ReplayReport) {
				r.Steps[1].Changes[0].To = 2
				r.Steps = append(r.Steps, scalehist.SizeStep{At: at(30), Loop: 4, Changes: []scalehist.SizeChange{{NodeGroup: "std", From: 2, To: 3}}})
			}},
		{name: "in one loop instead of two", wantOutcome: 1, wantDecision: 2, wantDifference: "sizes: all runs went big 0->2, the replay std 1->3, big 0->2",
			change: func(r *scalehist.ReplayReport) {
				r.Steps = []scalehist.SizeStep{{At: at(20), Loop: 2, Changes: []scalehist.SizeChange{{NodeGroup: "std", From: 1, To: 3}, {NodeGroup: "big", From: 0, To: 2}}}}
			}},
		{name: "too late", wantOutcome: 1, wantDecision: 3, wantDifference: "time: 13.1s later than in any run, more than the scan interval 10s",
			change: func(r *scalehist.ReplayReport) { r.Steps[1].At = at(40) }},
		{name: "too early", wantOutcome: 1, wantDecision: 2, wantDifference: "time: 16.8s earlier than in any run",
			change: func(r *scalehist.ReplayReport) { r.Steps[0].At = at(10) }},
		{name: "not at all", wantOutcome: 1, wantDecision: 2, wantDifference: "missing: the replay took no step after 1 step",
			change: func(r *scalehist.ReplayReport) { r.Steps = r.Steps[:1] }},
		{name: "nothing at all", wantOutcome: 1, wantDifference: "missing: the replay took no step after 0 steps, and no loop by then had anything to explain",
			change: func(r *scalehist.ReplayReport) { r.Steps, r.Decisions = nil, nil }},
		{name: "by a drain", wantOutcome: 1, wantDecision: 3, wantDifference: "sizes:", change: func(r *scalehist.ReplayReport) {
			r.Decisions[1].Deleting = []scalehist.NodeDeletion{{NodeGroup: "std", Node: "std-1"}}
			r.Steps[1] = scalehist.SizeStep{At: at(25), Changes: []scalehist.SizeChange{{NodeGroup: "std", From: 1, To: 0}}}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := replayed()
			tt.change(r)
			v, err := f.Compare(r)
			if err != nil {
				t.Fatal(err)
			}
			if v.Agreed != tt.wantAgreed || v.Outcome != tt.wantOutcome || v.Outcomes != 2 || v.Runs != 1 {
				t.Errorf("verdict %+v, want agreed %t with outcome %d", v, tt.wantAgreed, tt.wantOutcome)
			}
			if tt.wantNearest > 0 {
				if v.Nearest == nil || v.Nearest.Number != tt.wantNearest {
					t.Fatalf("nearest %+v, want number %d", v.Nearest, tt.wantNearest)
				}
				if diff := cmp.Diff(tt.wantParts, v.Nearest.Parts); diff != "" {
					t.Errorf("parts (-want +got):\n%s", diff)
				}
			}
			got := ""
			if d := v.FirstDifference; d != nil {
				got = d.Kind + ": " + d.Reason
				if loop := 0; d.Decision != nil {
					loop = d.Decision.Loop
					if loop != tt.wantDecision {
						t.Errorf("decision of loop %d, want %d", loop, tt.wantDecision)
					}
				} else if tt.wantDecision != 0 {
					t.Errorf("no decision, want that of loop %d", tt.wantDecision)
				}
			}
			if !strings.HasPrefix(got, tt.wantDifference) || got != "" && tt.wantDifference == "" {
				t.Errorf("first difference %q, want %q", got, tt.wantDifference)
			}
		})
	}
}

// TestStepTimes: a step is in time when it is within a scan interval of its time in some run, or between two runs.
func TestStepTimes(t *testing.T) {
	second := strings.Replace(sample, `"runs": [`, `"runs": [{"run": 2, "start": "2026-11-21T00:49:00Z", "durationSeconds": 120, "workloadStartSeconds": 16.1, "loops": [10.1],
  "targetSizes": {"big": [[0, 0], [26.9, 1], [27, 2]], "std": [[0, 1], [57, 3]]}, "providerCalls": [],
  "scaledUp": {}, "scaledDown": {}, "finalSizes": {}, "peakSizes": {}, "unschedulableAtEnd": [], "scheduledAtEnd": 9, "nodesAtEnd": 5},`, 1)
	// The recorded run stays the first.
	second = strings.Replace(second, `"start": "2026-11-21T00:49:00Z"`, `"start": "2026-11-21T00:48:00.5Z"`, 1)
	f, err := truth.Parse([]byte(second))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[float64]string{40: "", 66: "", 68: "11s later than in any run, more than the scan interval 10s"} {
		r := replayed()
		r.Steps[1].At = start.Add(time.Duration(at) * time.Second)
		v, err := f.Compare(r)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if v.FirstDifference != nil {
			got = v.FirstDifference.Reason
		}
		if got != want {
			t.Errorf("at %gs: difference %q, want %q", at, got, want)
		}
	}
}

// TestText: the text names the outcome, the parts, and both sides of the step with the decision behind ours.
func TestText(t *testing.T) {
	f, err := truth.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	r := replayed()
	if r.Truth, err = f.Compare(r); err != nil {
		t.Fatal(err)
	}
	want := `truth: agrees with what the autoscaler was seen to do in 1 run (2 outcomes of two-sizes)
  outcome: number 1 of those seen: big +2 =2, std +2 =3; none unschedulable
  steps: 2 first steps that every run took alike, taken
`
	if diff := cmp.Diff(want, report.TruthText(r)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	r.Steps[1].Changes[0].To = 4
	r.NodeGroups[1].Final, r.NodeGroups[1].ScaledUp = 4, 3
	if r.Truth, err = f.Compare(r); err != nil {
		t.Fatal(err)
	}
	want = `truth: differs with what the autoscaler was seen to do in 1 run (2 outcomes of two-sizes)
  outcome: none of those seen: big +2 =2, std +3 =4; none unschedulable
  nearest: number 1: big +2 =2, std +2 =3; none unschedulable
    scaled up of std: seen 2, replayed 3
    final size of std: seen 3, replayed 4
  steps: step 2 of the 2 that every run took alike parts (sizes): all runs went std 1->3, the replay std 1->4
    seen     std 1->3 at +26.9s
    replayed std 1->4 at +20s
    decided  +20s loop 3: ScaleUpSuccessful {std 1->3 (max: 8)}
      * option std: 2 nodes for 5 pods (the only option)
`
	if diff := cmp.Diff(want, report.TruthText(r)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

// TestParseErrors: what is wrong with a file is said, and where.
func TestParseErrors(t *testing.T) {
	swap := func(old, next string) string { return strings.Replace(sample, old, next, 1) }
	tests := []struct{ name, text, want string }{
		{"no JSON", "truth", "want one JSON object"},
		{"a list", "[]", "want one JSON object"},
		{"a missing field", swap(`"outcomes"`, `"outcome"`), `field "outcomes" is missing`},
		{"an empty field", swap(`"flags": ["--scan-interval=10s"]`, `"flags": null`), `field "flags" is missing`},
		{"an unknown field", swap(`"what"`, `"whatever"`), `unknown field "whatever"`},
		{"an unknown field within", swap(`"delta"`, `"delta2"`), `unknown field "runs[0].providerCalls[0].delta2"`},
		{"the wrong type", swap(`"maxSize": 4`, `"maxSize": "4"`), "nodeGroups.maxSize: string where a whole number is due"},
		{"two objects", sample + "{}", "invalid character"},
		{"no name", swap(`"two-sizes"`, `""`), `field "scenario" is empty`},
		{"a group twice", swap(`"name": "big"`, `"name": "std"`), `"std" is empty or comes twice`},
		{"a group missing in an outcome", swap(`"finalSizes": {"big": 2, "std": 3}`, `"finalSizes": {"std": 3}`), "outcomes[0].finalSizes: want an entry for each of big, std, got std"},
		{"no start", swap(`"start": "2026-11-21T00:48:00.5Z", `, ""), `runs[0]: field "start" is missing`},
		{"no duration", swap(`"durationSeconds": 120`, `"durationSeconds": 0`), `runs[0]: field "durationSeconds" is missing or not positive`},
		{"an unknown group in a step", swap(`{"std": [1, 3]}`, `{"sdt": [1, 3]}`), `firstStepsInAllRuns[1]: unknown node group "sdt": there are big, std`},
		{"steps out of order", swap(`"at": 26.9`, `"at": 2`), "firstStepsInAllRuns[1]"},
		{"a bad scan interval", swap("--scan-interval=10s", "--scan-interval=often"), "--scan-interval=often is no positive duration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := truth.Parse([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := truth.Read("no/such.truth.json"); err == nil || err.Error() != "truth file no/such.truth.json does not exist" {
		t.Errorf("error %v", err)
	}
}

// TestCompareErrors: a report of something else is an error, not a difference.
func TestCompareErrors(t *testing.T) {
	f, err := truth.Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*scalehist.ReplayReport)
		want   string
	}{
		{"other groups", func(r *scalehist.ReplayReport) { r.NodeGroups[0].Name = "huge" }, "it has the node groups big, std, the recording has huge, std"},
		{"another start", func(r *scalehist.ReplayReport) { r.StartTime = at(60) }, "its run began at 2026-11-21T00:48:00Z, the replay at 2026-11-21T00:49:00Z"},
		{"an early end", func(r *scalehist.ReplayReport) { r.EndTime = at(60) }, "its run ended at 2026-11-21T00:50:00Z"},
		{"single events", func(r *scalehist.ReplayReport) { r.Playback = scalehist.PlaybackPerEvent }, "a per-event playback has no outcome"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := replayed()
			tt.change(r)
			if _, err := f.Compare(r); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := f.Compare(nil); err == nil {
		t.Error("no error for no report")
	}
}

// TestRealFiles: every truth file of a fixture is read to its last field.
func TestRealFiles(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "*", "truth.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures with a truth.json (%v)", err)
	}
	for _, path := range paths {
		f, err := truth.Read(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if want := filepath.Base(filepath.Dir(path)); f.Scenario != want {
			t.Errorf("%s is of %s", path, f.Scenario)
		}
	}
}

// FuzzParse: any input is a truth that can be compared, or an error.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"scenario": "a", "flags": [], "nodeGroups": [{"name": "b"}], "firstStepsInAllRuns": [], "outcomes": [], "runs": []}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := truth.Parse(b)
		if err != nil {
			return
		}
		_, _ = file.Compare(replayed()) // of another recording as a rule; must not panic
	})
}

// TestAlike: a run that ended as no other did is alike to none, whatever the outcomes of the file say.
func TestAlike(t *testing.T) {
	run := func(up, pending int) truth.Run {
		return truth.Run{ScaledUp: map[string]int{"std": up}, FinalSizes: map[string]int{"std": 1 + up}, UnschedulableAtEnd: make([]string, pending)}
	}
	for _, tt := range []struct {
		runs []truth.Run
		want int
	}{
		{nil, 0},
		{[]truth.Run{run(1, 0)}, 0},
		{[]truth.Run{run(1, 0), run(1, 0), run(2, 0), run(1, 1)}, 2},
		{[]truth.Run{run(1, 0), run(2, 0), run(1, 0), run(2, 0)}, 4},
	} {
		f := truth.File{Runs: tt.runs}
		if got := f.Alike(); got != tt.want {
			t.Errorf("%d of %v alike, want %d", got, tt.runs, tt.want)
		}
	}
}
