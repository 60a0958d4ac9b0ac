package compare_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report/compare"
)

// The reports are replays of one recording with a horizontal autoscaler that aims at 60 % and at 75 %.
const (
	at60 = "../testdata/explain/hpa60.json"
	at75 = "../testdata/explain/hpa75.json"
)

// TestWorkloadPages: replicas are a table, curves and metrics of their own, and the first difference is the controller's.
func TestWorkloadPages(t *testing.T) {
	c, err := compare.Reports([]compare.Side{{"60 %", read(t, at60)}, {"75 %", read(t, at75)}}, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/workloads.txt", c.Text())
	golden(t, "testdata/workloads.md", c.Markdown())
	if !c.Differ() {
		t.Error("the sides do not differ")
	}
}

// TestWorkloadsDiffer: other replicas alone are a difference.
func TestWorkloadsDiffer(t *testing.T) {
	other := read(t, at60)
	for i := range other.Workloads {
		if other.Workloads[i].Name == "web" {
			other.Workloads[i].Final++
		}
	}
	c, err := compare.Reports([]compare.Side{{"a", read(t, at60)}, {"b", other}}, compare.Options{})
	if err != nil || !c.Differ() {
		t.Errorf("error %v; a side that ends with another replica does not differ", err)
	}
	none := read(t, at60)
	none.Workloads, none.WorkloadDecisions, none.Controllers = nil, nil, nil
	c, err = compare.Reports([]compare.Side{{"a", none}, {"b", read(t, at60)}}, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Workloads[0].Sizes[0].Absent || c.Workloads[0].Sizes[1].Peak != 22 {
		t.Errorf("workloads %+v", c.Workloads)
	}
	if s := c.Settings[0]; s.What != "controllers" || s.Values[0] != "(none)" || s.Values[1] != "hpa" {
		t.Errorf("settings %+v", c.Settings)
	}
	if text := c.Text(); !strings.Contains(text, "hpa: 0") && !strings.Contains(text, "no decision of hpa that mattered by then") {
		t.Errorf("page:\n%s", text)
	}
}

// TestWithoutWorkloads: a comparison of reports without workloads has none of their fields.
func TestWithoutWorkloads(t *testing.T) {
	b, err := json.Marshal(three(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"workloads", "replicas", "peak\":", "controller"} {
		if strings.Contains(string(b), word) {
			t.Errorf("the comparison has %q", word)
		}
	}
}

// TestFirstDifferenceOfKinds: decisions of all autoscalers are compared in time order, controllers first at one instant.
func TestFirstDifferenceOfKinds(t *testing.T) {
	type found struct {
		Controller, Kind, At  string
		Baseline, Side        string
		BaseActed, SideActed  bool
		BaseIsNode, SideScale bool
	}
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	web := scalehist.WorkloadRef{Kind: "Deployment", Namespace: "shop", Name: "web"}
	scale := func(at time.Duration, from, to int32, reason string) scalehist.WorkloadDecision {
		return scalehist.WorkloadDecision{At: start.Add(at), Controller: "hpa", Scales: []scalehist.WorkloadScale{{Workload: web, From: from, To: to, Reason: reason}}}
	}
	up := func(at time.Duration, to int) scalehist.Decision {
		return scalehist.Decision{At: start.Add(at), Outcome: scalehist.ScaleUpSuccessful, ScaleUps: []scalehist.ScaleUp{{NodeGroup: "std", To: to, Max: 9}}}
	}
	with := func(nodes []scalehist.Decision, scales ...scalehist.WorkloadDecision) *scalehist.ReplayReport {
		return &scalehist.ReplayReport{StartTime: start, Decisions: nodes, WorkloadDecisions: scales}
	}
	nodes := []scalehist.Decision{up(time.Minute, 1), up(3*time.Minute, 2)}
	base := with(nodes, scale(2*time.Minute, 2, 5, "busy"))
	for _, tt := range []struct {
		name string
		b    *scalehist.ReplayReport
		want *found
	}{
		{"the same", with(nodes, scale(2*time.Minute, 2, 5, "busy")), nil},
		{"other replicas", with(nodes, scale(2*time.Minute, 2, 4, "busy")),
			&found{Controller: "hpa", Kind: "action", At: "+2m0s", Baseline: "hpa Deployment/shop/web 2->5", Side: "hpa Deployment/shop/web 2->4", BaseActed: true, SideActed: true, SideScale: true}},
		{"no controller", with(nodes),
			&found{Controller: "hpa", Kind: "action", At: "+2m0s", Baseline: "hpa Deployment/shop/web 2->5", Side: "no decision of hpa that mattered by then", BaseActed: true}},
		{"a controller that kept them", with(nodes, scale(time.Minute, 2, 2, "calm")),
			&found{Controller: "hpa", Kind: "action", At: "+2m0s", Baseline: "hpa Deployment/shop/web 2->5", Side: "nothing new since +1m0s: hpa Deployment/shop/web 2->2", BaseActed: true, SideScale: true}},
		{"nodes before the controller", with([]scalehist.Decision{up(time.Minute, 4), up(3*time.Minute, 2)}, scale(2*time.Minute, 2, 5, "busy")),
			&found{Kind: "action", At: "+1m0s", Baseline: "ScaleUpSuccessful {std 0->1 (max: 9)}", Side: "ScaleUpSuccessful {std 0->4 (max: 9)}", BaseActed: true, SideActed: true, BaseIsNode: true}},
		{"nodes after the controller", with([]scalehist.Decision{up(time.Minute, 1)}, scale(2*time.Minute, 2, 5, "busy")),
			&found{Kind: "action", At: "+3m0s", Baseline: "ScaleUpSuccessful {std 0->2 (max: 9)}", Side: "nothing new since +1m0s: ScaleUpSuccessful {std 0->1 (max: 9)}", BaseActed: true, BaseIsNode: true}},
		{"a controller at the instant of other nodes", with([]scalehist.Decision{up(time.Minute, 4), up(3*time.Minute, 2)}, scale(time.Minute, 2, 3, "busy")),
			&found{Controller: "hpa", Kind: "action", At: "+1m0s", Baseline: "no decision of hpa that mattered by then", Side: "hpa Deployment/shop/web 2->3", SideActed: true, SideScale: true}},
		{"another reason", with(nodes, scale(2*time.Minute, 2, 5, "bored")),
			&found{Controller: "hpa", Kind: "reason", At: "+2m0s", Baseline: "hpa Deployment/shop/web 2->5", Side: "hpa Deployment/shop/web 2->5", BaseActed: true, SideActed: true, SideScale: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := compare.FirstDifference(base, tt.b)
			var got *found
			if d != nil {
				got = &found{d.Controller, d.Kind, d.At(), d.Baseline.Summary, d.Side.Summary, d.Baseline.Acted, d.Side.Acted, d.Baseline.Decision != nil, d.Side.Scale != nil}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("first difference (-want +got):\n%s", diff)
			}
		})
	}
}
