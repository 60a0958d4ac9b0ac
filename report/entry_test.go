package report_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

// TestEntries: decisions of both kinds are one list in time order, controllers first at one instant, a workload and a note an entry each.
func TestEntries(t *testing.T) {
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	web := scalehist.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"}
	r := &scalehist.ReplayReport{StartTime: start,
		Decisions: []scalehist.Decision{
			{At: start.Add(time.Minute), Loop: 3, Outcome: scalehist.ScaleUpNotNeeded},
			{At: start.Add(2 * time.Minute), Loop: 4, Outcome: scalehist.ScaleUpSuccessful, ScaleUps: []scalehist.ScaleUp{{NodeGroup: "std", To: 1, Max: 2}}},
		},
		WorkloadDecisions: []scalehist.WorkloadDecision{
			{At: start.Add(2 * time.Minute), Controller: "hpa", Notes: []string{"metrics: none yet"}, Scales: []scalehist.WorkloadScale{
				{Workload: web, By: "HorizontalPodAutoscaler/shop/web", From: 2, To: 5, Reason: "cpu above target", Limited: []string{"ScaleUpLimit: 9 -> 5"},
					Metrics: []scalehist.MetricReading{{Metric: "cpu", Value: "90%", Target: "50%", Proposal: 9}, {Metric: "rps", Error: "no answer"}}},
				{Workload: web, From: 5, To: 4}, {Workload: web, From: 4, To: 4},
			}},
		}}
	type line struct {
		Summary, Anchor string
		Up, Down, Node  bool
	}
	var got []line
	entries := report.Entries(r)
	for _, e := range entries {
		got = append(got, line{e.Summary, e.Anchor(r), e.Up, e.Down, e.Node != nil})
	}
	want := []line{
		{"ScaleUpNotNeeded", "loop=3", false, false, true},
		{"hpa Deployment/shop/web 2->5", "t=+2m0s&by=hpa", true, false, false},
		{"hpa Deployment/shop/web 5->4", "t=+2m0s&by=hpa", false, true, false},
		{"hpa Deployment/shop/web 4->4", "t=+2m0s&by=hpa", false, false, false},
		{"hpa metrics: none yet", "t=+2m0s&by=hpa", false, false, false},
		{"ScaleUpSuccessful {std 0->1 (max: 2)}", "loop=4", true, false, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("entries (-want +got):\n%s", diff)
	}
	parts := []report.Part{
		{Title: "outcome", Lines: []string{"At +2m0s: hpa Deployment/shop/web 2->5."}},
		{Title: "asked for by", Lines: []string{"HorizontalPodAutoscaler/shop/web"}},
		{Title: "reason", Lines: []string{"cpu above target"}},
		{Title: "metrics", Lines: []string{"cpu: 90% of 50%, asks for 9", "rps: no answer"}},
		{Title: "limited by", Lines: []string{"ScaleUpLimit: 9 -> 5"}},
	}
	if diff := cmp.Diff(parts, entries[1].Parts(r)); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	explained := "+2m0s hpa Deployment/shop/web 2->5\n  cpu above target\n  cpu: 90% of 50%, asks for 9\n  rps: no answer\n  ScaleUpLimit: 9 -> 5"
	if diff := cmp.Diff(explained, entries[1].Explain(r)); diff != "" {
		t.Errorf("explanation (-want +got):\n%s", diff)
	}
}
