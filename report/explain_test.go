package report_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

func saved(t *testing.T, name string) *scalehist.ReplayReport {
	t.Helper()
	r, err := report.Read(filepath.Join("testdata", "explain", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestExplain: the sentences about every sort of thing, from saved reports alone: one of a burst whose nodes are idle
// later, one of a group that reaches its max size while it is out of stock.
func TestExplain(t *testing.T) {
	pod := func(name string) func(*scalehist.ReplayReport) (*report.Explanation, error) {
		return func(r *scalehist.ReplayReport) (*report.Explanation, error) { return report.ExplainPod(r, name) }
	}
	node := func(name string) func(*scalehist.ReplayReport) (*report.Explanation, error) {
		return func(r *scalehist.ReplayReport) (*report.Explanation, error) { return report.ExplainNode(r, name) }
	}
	group := func(name string, offset time.Duration) func(*scalehist.ReplayReport) (*report.Explanation, error) {
		return func(r *scalehist.ReplayReport) (*report.Explanation, error) {
			if offset == 0 {
				return report.ExplainNodeGroup(r, name, nil)
			}
			at := r.StartTime.Add(offset)
			return report.ExplainNodeGroup(r, name, &at)
		}
	}
	workload := func(name string, offset time.Duration) func(*scalehist.ReplayReport) (*report.Explanation, error) {
		return func(r *scalehist.ReplayReport) (*report.Explanation, error) {
			if offset == 0 {
				return report.ExplainWorkload(r, name, nil)
			}
			at := r.StartTime.Add(offset)
			return report.ExplainWorkload(r, name, &at)
		}
	}
	tests := []struct {
		golden, report string
		explain        func(*scalehist.ReplayReport) (*report.Explanation, error)
	}{
		{"pod-moved", "idle", pod("api-1")},
		{"pod-placed", "idle", pod("default/crunch-2")},
		{"pod-stood", "idle", pod("web-1")},
		{"pod-pending", "pending", pod("web-12")},
		{"group", "idle", group("small", 0)},
		{"group-at", "idle", group("large", 25*time.Second)},
		{"group-early", "idle", group("large", time.Second)},
		{"group-fails", "pending", group("std", 0)},
		{"node-stays", "idle", node("large-1")},
		{"node-empty", "idle", node("small-3")},
		{"node-drained", "idle", node("large-3")},
		{"workload", "hpa60", workload("ReplicaSet/default/web", 0)},
		{"workload-at", "hpa60", workload("web", 20*time.Minute)},
		{"workload-kept", "hpa60", workload("default/web", 27*time.Minute)},
		{"workload-early", "hpa60", workload("web", time.Second)},
		{"workload-recorded", "hpa60", workload("db", 20*time.Minute)},
		{"pod-scaled", "hpa60", pod("web-13")},
	}
	for _, tt := range tests {
		t.Run(tt.golden, func(t *testing.T) {
			e, err := tt.explain(saved(t, tt.report))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "explain", tt.golden+".txt"), e.String())
		})
	}
}

func TestExplainUnknown(t *testing.T) {
	r := saved(t, "idle")
	for what, err := range map[string]error{
		`unknown pod "default/crunch": ca-burst-then-idle has default/crunch-1, default/crunch-2`:   second(report.ExplainPod(r, "crunch")),
		`unknown node "n": ca-burst-then-idle has large-0, large-1`:                                 second(report.ExplainNode(r, "n")),
		`unknown node group "smal": ca-burst-then-idle has small`:                                   second(report.ExplainNodeGroup(r, "smal", nil)),
		`unknown workload "web": ca-burst-then-idle was replayed without a controller of workloads`: second(report.ExplainWorkload(r, "web", nil)),
		`unknown workload "we": full-day has ReplicaSet/default/web`:                                second(report.ExplainWorkload(saved(t, "hpa60"), "we", nil)),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), what) {
			t.Errorf("error %v, want %q", err, what)
		}
	}
}

func second(_ *report.Explanation, err error) error { return err }

// TestExplanationAsJSON: each sentence has its instant and its offset.
func TestExplanationAsJSON(t *testing.T) {
	e, err := report.ExplainNodeGroup(saved(t, "idle"), "large", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Subject, Scenario string
		Sentences         []struct{ At, Offset, Text string }
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("node group large", got.Subject); diff != "" || len(got.Sentences) < 3 {
		t.Errorf("%s", b)
	}
	if s := got.Sentences[1]; s.At != "2026-11-21T00:48:23.665Z" || s.Offset != "20s" || !strings.HasPrefix(s.Text, "Loop 2: 27 pods found no room; it grew 0->4") {
		t.Errorf("second sentence %+v", s)
	}
}

// TestExplainPassedOver: a pod below the priority cutoff is pending because of that, unless a loop counted it.
func TestExplainPassedOver(t *testing.T) {
	low := func(change func(*scalehist.ReplayReport)) *scalehist.ReplayReport {
		r := &scalehist.ReplayReport{Scenario: "s", UnschedulableAtEnd: []scalehist.UnschedulablePod{{Namespace: "default", Name: "p", Message: "no room"}}}
		r.End.UnscheduledPods = []scalehist.PodInfo{{Namespace: "default", Name: "p", Priority: -20}}
		change(r)
		return r
	}
	const pending = "At the end it is still pending: no room"
	for _, c := range []struct {
		name   string
		change func(*scalehist.ReplayReport)
		want   []string
	}{
		{"by default", func(*scalehist.ReplayReport) {},
			[]string{pending, "The autoscaler passed it over: its priority -20 is below --expendable-pods-priority-cutoff=-10, and such pods bring no nodes."}},
		{"by the last flag", func(r *scalehist.ReplayReport) {
			r.Settings.Flags = []string{"--expendable-pods-priority-cutoff=-100", "--expendable-pods-priority-cutoff=0"}
		}, []string{pending, "The autoscaler passed it over: its priority -20 is below --expendable-pods-priority-cutoff=0, and such pods bring no nodes."}},
		{"not below", func(r *scalehist.ReplayReport) { r.Settings.Flags = []string{"--expendable-pods-priority-cutoff=-20"} }, []string{pending}},
		{"a later setting", func(r *scalehist.ReplayReport) {
			r.SettingsChanges = []scalehist.SettingsChange{{Settings: scalehist.CASettings{Flags: []string{"--expendable-pods-priority-cutoff=-30"}}}}
		}, []string{pending}},
		{"counted", func(r *scalehist.ReplayReport) {
			r.Decisions = []scalehist.Decision{{Loop: 1, UnschedulablePods: []string{"default/p"}}}
		}, []string{"Loop 1: it found no room; no group grew.", pending}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := report.ExplainPod(low(c.change), "p")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range e.Sentences {
				got = append(got, s.Text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("sentences (-want +got):\n%s", diff)
			}
		})
	}
}
