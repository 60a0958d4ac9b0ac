package expect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/expect"
)

func sample() *scalehist.ReplayReport {
	start := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	return &scalehist.ReplayReport{
		Scenario: "zonal-spread", StartTime: start,
		NodeGroups: []scalehist.NodeGroupResult{
			{Name: "a-small", MinSize: 1, MaxSize: 3, Initial: 1, Final: 1, Peak: 1},
			{Name: "b-large", MaxSize: 3, Final: 3, Peak: 3, ScaledUp: 3},
		},
		Decisions: []scalehist.Decision{{
			At: start.Add(20 * time.Second), Loop: 2, Outcome: scalehist.ScaleUpSuccessful, UnschedulablePods: []string{"default/web-1"},
			Options: []scalehist.Option{
				{NodeGroup: "a-small", NodeCount: 2, Pods: 2, Scores: map[string]float64{"least-waste": 0.41}},
				{NodeGroup: "b-large", NodeCount: 3, Pods: 2, Scores: map[string]float64{"least-waste": 0.21}, Chosen: true, Reason: "best by least-waste"},
			},
			ScaleUps: []scalehist.ScaleUp{{NodeGroup: "b-large", From: 0, To: 3, Max: 3}},
		}},
		UnschedulableAtEnd: []scalehist.UnschedulablePod{{Namespace: "default", Name: "web-7", Message: "0/4 nodes are available: 4 Insufficient cpu."}},
		End:                scalehist.ClusterSnapshot{ScheduledPods: []scalehist.PodInfo{{Namespace: "default", Name: "web-1", NodeName: "b-large-0"}}},
		Recorded:           &scalehist.RecordedTruth{ScaledUpNodeGroups: map[string]int{"a-small": 2}},
		Agreement:          &scalehist.Agreement{Differences: []scalehist.Difference{{Kind: "missing", Reason: "the replay chose b-large"}}},
		Run:                &scalehist.RunInfo{Rerun: "go test ./scenarios -ginkgo.focus='zonal'", Artifacts: "gen/zonal-spread"},
	}
}

func TestFailuresShowWhatAReaderNeeds(t *testing.T) {
	for _, tc := range []struct {
		name    string
		matcher types.GomegaMatcher
		want    []string
	}{
		{"sizes", expect.HaveScaledUp(expect.ScaleUps{"a-small": 2, "b-large": 1}), []string{
			`scenario "zonal-spread": node group sizes differ`, "NODE GROUP", "✗  a-small", "✗  b-large", "+2",
			"first diverging decision: +20s loop 2: ScaleUpSuccessful {b-large 0->3 (max: 3)}", "* option b-large: 3 nodes for 2 pods, least-waste 0.2100 (best by least-waste)",
			"unschedulable at end: default/web-7", "artifacts: gen/zonal-spread", "look: gen/zonal-spread/report.html#loop=2", "re-run: go test ./scenarios -ginkgo.focus='zonal'",
		}},
		{"down", expect.HaveScaledDown(expect.ScaleDowns{"b-large": 1}), []string{"scaled down", "✗  b-large"}},
		{"pods", expect.LeaveUnschedulable("web-1"), []string{
			"default/web-7 should have a node: 0/4 nodes are available", "default/web-1 should have none, it runs on b-large-0",
		}},
		{"recording", expect.AgreeWithRecording(), []string{"differs from the recording", "✗  a-small", "missing: the replay chose b-large", "re-run:"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ok, err := tc.matcher.Match(sample())
			if err != nil || ok {
				t.Fatalf("want a mismatch, got %v, %v", ok, err)
			}
			message := tc.matcher.FailureMessage(nil)
			for _, s := range tc.want {
				if !strings.Contains(message, s) {
					t.Errorf("message lacks %q:\n%s", s, message)
				}
			}
		})
	}
}

func TestMatches(t *testing.T) {
	agreed := answered(map[scalehist.Question]scalehist.AnswerVerdict{scalehist.QuestionScaledUp: scalehist.AnswerAgreed})
	for name, tc := range map[string]struct {
		matcher types.GomegaMatcher
		report  any
	}{
		"sizes":      {expect.HaveScaledUp(expect.ScaleUps{"b-large": 3}), sample()},
		"by value":   {expect.HaveScaledUp(expect.ScaleUps{"b-large": 3}), *sample()},
		"no removal": {expect.HaveScaledDown(expect.ScaleDowns{}), sample()},
		"pods":       {expect.LeaveUnschedulable("default/web-7"), sample()},
		"recording":  {expect.AgreeWithRecording(), agreed},
	} {
		t.Run(name, func(t *testing.T) {
			ok, err := tc.matcher.Match(tc.report)
			if err != nil || !ok {
				t.Fatalf("want a match, got %v, %v\n%s", ok, err, tc.matcher.FailureMessage(nil))
			}
			if tc.matcher.NegatedFailureMessage(nil) == "" {
				t.Error("no message for the negation")
			}
		})
	}
}

func TestWrongInputsAreErrors(t *testing.T) {
	bare := sample()
	bare.Recorded, bare.Agreement = nil, nil
	scripted := sample()
	scripted.Origin = scalehist.OriginScripted
	for name, tc := range map[string]struct {
		matcher types.GomegaMatcher
		actual  any
		want    string
	}{
		"type":          {expect.HaveScaledUp(nil), 7, "want a *scalehist.ReplayReport, got int"},
		"nil":           {expect.LeaveUnschedulable(), (*scalehist.ReplayReport)(nil), "the report is nil"},
		"unknown group": {expect.HaveScaledUp(expect.ScaleUps{"typo": 1}), sample(), `unknown node group "typo"`},
		"no truth":      {expect.AgreeWithRecording(), bare, "no recorded truth"},
		"scripted":      {expect.AgreeWithRecording(), scripted, "was recorded from scalehist's own autoscaler"},
		"no golden":     {expect.MatchGolden(filepath.Join(t.TempDir(), "want.txt")), sample(), "make golden"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.matcher.Match(tc.actual); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

// TestAgreeWithTruth: the matcher reads the truth file and shows what parts.
func TestAgreeWithTruth(t *testing.T) {
	r := sample()
	r.EndTime = r.StartTime.Add(2 * time.Minute)
	r.Steps = []scalehist.SizeStep{{At: r.StartTime.Add(20 * time.Second), Loop: 2, Changes: []scalehist.SizeChange{{NodeGroup: "b-large", From: 0, To: 3}}}}
	path := filepath.Join(t.TempDir(), "zonal.truth.json")
	write := func(to string) {
		text := `{"scenario": "zonal", "what": "", "recordedWith": {}, "flags": [], "sameSizeHistoryInAllRuns": true,
 "nodeGroups": [{"name": "a-small", "maxSize": 3}, {"name": "b-large", "maxSize": 3}],
 "firstStepsInAllRuns": [{"at": 26, "sizes": {"b-large": [0, TO]}}],
 "outcomes": [{"scaledUp": {"a-small": 0, "b-large": TO}, "scaledDown": {"a-small": 0, "b-large": 0}, "finalSizes": {"a-small": 1, "b-large": TO}, "unschedulableAtEnd": 1}],
 "runs": [{"run": 1, "start": "2026-01-05T08:00:00Z", "durationSeconds": 120}]}`
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "TO", to)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("3")
	m := expect.AgreeWithTruth(path)
	if ok, err := m.Match(r); !ok || err != nil {
		t.Errorf("no match, %v", err)
	}
	if got := m.NegatedFailureMessage(nil); !strings.Contains(got, "agrees with "+path+", and should not") {
		t.Errorf("negated message:\n%s", got)
	}
	write("2")
	if ok, err := m.Match(r); ok || err != nil {
		t.Fatalf("matched %t, %v, want a mismatch", ok, err)
	}
	for _, want := range []string{"differs from " + path, "outcome: none of those seen", "scaled up of b-large: seen 2, replayed 3", "decided  +20s loop 2", "re-run:"} {
		if got := m.FailureMessage(nil); !strings.Contains(got, want) {
			t.Errorf("message lacks %q:\n%s", want, got)
		}
	}
	if r.Truth != nil {
		t.Error("the matcher changed the report")
	}
	if _, err := expect.AgreeWithTruth("no/such.json").Match(r); err == nil || !strings.Contains(err.Error(), "truth file no/such.json does not exist") {
		t.Errorf("error %v", err)
	}
}

func TestGoldenShowsALineDiff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "want.txt")
	if err := os.WriteFile(path, []byte("# zonal-spread\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := expect.MatchGolden(path)
	if ok, err := m.Match(sample()); err != nil || ok {
		t.Fatalf("want a mismatch, got %v, %v", ok, err)
	}
	message := m.FailureMessage(nil)
	for _, s := range []string{"-# zonal-spread", "+group b-large 0->3 (+3 -0)", "make golden"} {
		if !strings.Contains(message, s) {
			t.Errorf("message lacks %q:\n%s", s, message)
		}
	}
}
