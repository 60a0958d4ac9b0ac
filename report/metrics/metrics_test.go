package metrics

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/goldentest"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

func golden(t *testing.T, path, got string) {
	t.Helper()
	goldentest.Text(t, path, got, *update)
}

func report(t *testing.T, name string) *scalehist.ReplayReport {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var r scalehist.ReplayReport
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

var saved = []string{"max-size-reached", "stockout-fallback", "two-machine-sizes"}

func TestExplain(t *testing.T) { golden(t, "testdata/explain.txt", Explain()) }

// TestOf holds every metric of saved reports.
// TestTexts: numbers that differ look different beside each other, with no more digits than that takes.
func TestTexts(t *testing.T) {
	for _, tt := range []struct {
		unit string
		in   []float64
		want []string
	}{
		{"EUR", []float64{0.0483333331, 0.0483333339}, []string{"0.048333333 EUR", "0.048333334 EUR"}},
		{"EUR", []float64{15.5, 15.5, 16}, []string{"15.5 EUR", "15.5 EUR", "16 EUR"}},
		{Percent, []float64{50.001, 50.004, 50}, []string{"50.001 %", "50.004 %", "50 %"}},
		{Seconds, []float64{1.00001, 1.00002}, []string{"1.00001s", "1.00002s"}},
		{"nodes", nil, nil},
	} {
		if diff := cmp.Diff(tt.want, Texts(tt.in, tt.unit)); diff != "" {
			t.Errorf("%v %s (-want +got):\n%s", tt.in, tt.unit, diff)
		}
	}
}

// TestDefinitions: a definition says something by itself: it is printed alone, behind the title of its metric.
func TestDefinitions(t *testing.T) {
	for _, m := range single() {
		said := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(m.Definition, "The "), "."))
		if said == strings.ToLower(m.Title) || strings.HasPrefix(m.Definition, "The same") {
			t.Errorf("%s, %q: %q says nothing more", m.Name, m.Title, m.Definition)
		}
	}
}

func TestOf(t *testing.T) {
	for _, name := range saved {
		var b strings.Builder
		for _, v := range Of(report(t, name)) {
			text := "missing: " + v.Missing
			if v.Value != nil {
				text = Text(*v.Value, v.Unit)
			}
			fmt.Fprintf(&b, "%-26s %s\n", v.Name, text)
		}
		golden(t, filepath.Join("testdata", name+".txt"), b.String())
	}
}

// TestReportsAddUp: what is computed from the steps is what the replay counted itself.
func TestReportsAddUp(t *testing.T) {
	for _, name := range saved {
		r := report(t, name)
		m := measure(r)
		if got := 3600 * m.short.integral(m.length, same); math.Abs(got-r.Pending.PodSeconds) > 0.001 {
			t.Errorf("%s: pods were unschedulable for %v s, and waited %v s", name, got, r.Pending.PodSeconds)
		}
		want := 0.0
		for _, h := range r.Cost.NodeHours {
			want += h
		}
		if got := *Of(r).Get("node-hours").Value; math.Abs(got-want) > 1e-4 {
			t.Errorf("%s: %v node hours, the cost has %v", name, got, want)
		}
	}
}

// sample is a replay of 100 s: one node of 4 cores, a second one from 40 s to 90 s, two pods of 3 cores from 20 s on, one
// of which waits until 40 s and is deleted at 80 s.
func sample() *scalehist.ReplayReport {
	start := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	off := func(s int) scalehist.Duration { return scalehist.Duration(time.Duration(s) * time.Second) }
	removed := at(90)
	node := func(name string) scalehist.NodeInfo {
		return scalehist.NodeInfo{Name: name, NodeGroup: "g", Allocatable: map[string]string{"cpu": "4", "memory": "8Gi"}}
	}
	pod := func(name, on string) scalehist.PodInfo {
		return scalehist.PodInfo{Namespace: "d", Name: name, NodeName: on, Requests: map[string]string{"cpu": "3", "memory": "2Gi"}}
	}
	a := scalehist.DeployedPod{Namespace: "d", Name: "a", Requests: map[string]string{"cpu": "3", "memory": "2Gi"}}
	p99 := 20.0
	return &scalehist.ReplayReport{
		Playback: scalehist.PlaybackContinuous, StartTime: start, EndTime: at(100),
		NodeGroups:         []scalehist.NodeGroupResult{{Name: "g", Initial: 1, Sizes: []scalehist.SizeAt{{Size: 1}, {Offset: off(20), Size: 2}, {Offset: off(90), Size: 1}}}},
		ScaledUpNodeGroups: map[string]int{"g": 1}, ScaledDownNodeGroups: map[string]int{"g": 1},
		ScaledUpNodes: []scalehist.ScaledNode{{Name: "n1", NodeGroup: "g", RequestedAt: at(20), ReadyAt: at(40), RemovedAt: &removed, Offers: map[string]string{"cpu": "4", "memory": "8Gi"}}},
		Batches: []scalehist.Batch{
			{At: at(20), DeployedPods: []scalehist.DeployedPod{a}, Scheduled: 1, Unschedulable: 1},
			{At: at(40), Scheduled: 1, NodesJoined: []string{"n1"}},
			{At: at(80), DeletedPods: []string{"d/b"}},
			{At: at(90), NodesGone: []string{"n1"}},
		},
		Pending: scalehist.PendingStats{Pods: 1, Of: 2, PodSeconds: 20, P95: 20, P99: &p99, Max: 20},
		Cost:    &scalehist.Cost{Currency: "EUR", Total: 0.3},
		Start:   scalehist.ClusterSnapshot{Nodes: []scalehist.NodeInfo{node("n0")}, UnscheduledPods: []scalehist.PodInfo{}, ScheduledPods: []scalehist.PodInfo{pod("b", "n0")}},
		End:     scalehist.ClusterSnapshot{Nodes: []scalehist.NodeInfo{node("n0")}, ScheduledPods: []scalehist.PodInfo{pod("a", "n0")}},
	}
}

// TestFormulas checks metrics against sums done by hand.
func TestFormulas(t *testing.T) {
	set := Of(sample())
	for name, want := range map[string]float64{
		"nodes.final": 1, "nodes.peak": 2, "nodes.mean": (20*1 + 70*2 + 10*1) / 100.0, "node-hours": 150.0 / 3600,
		"pod-hours":      (20*1 + 20*1 + 40*2 + 20*1) / 3600.0,
		"under.accuracy": 100 * 20 * 0.5 / 100, "under.timeshare": 20,
		// supply 4, 8 from 40 to 90, 4; demand 3, 6 from 20 to 80, 3
		"over.accuracy.cpu": (20*1.0/3 + 0 + 40*2.0/6 + 10*5.0/3 + 10*1.0/3), "slack.cpu": (20*1 + 40*2 + 10*5 + 10*1) / 3600.0,
		"slack.relative.cpu": 20*1.0/4 + 0 + 40*2.0/8 + 10*5.0/8 + 10*1.0/4,
		"utilization.cpu":    100 * (20*3 + 20*4 + 40*6 + 10*3 + 10*3) / (40*4 + 50*8 + 10*4.0),
		"churn.steps":        2, "churn.reversals": 1, "churn.node-starts": 36, "cost": 0.3, "cost.per-pod-hour": 0.3 / (140.0 / 3600),
	} {
		v := set.Get(name)
		if v.Value == nil || math.Abs(*v.Value-want) > 1e-8 {
			t.Errorf("%s: %v (missing %q), want %v", name, v.Value, v.Missing, want)
		}
	}
}

// TestMissing: what a report does not say is not guessed.
func TestMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*scalehist.ReplayReport)
		metric string
		want   string
	}{
		"no prices":      {func(r *scalehist.ReplayReport) { r.Cost = nil }, "cost", "--prices"},
		"unknown price":  {func(r *scalehist.ReplayReport) { r.Cost, r.Warnings = nil, []string{"no cost: x"} }, "cost", "no cost: x"},
		"a pod finished": {func(r *scalehist.ReplayReport) { r.End.ScheduledPods = nil }, "pod-hours", "1 pod ended without being deleted (finished, or lost without an owner), and the report does not say when"},
		"a pod from nowhere": {func(r *scalehist.ReplayReport) {
			r.End.ScheduledPods = append(r.End.ScheduledPods, scalehist.PodInfo{Name: "z"})
		}, "utilization.cpu", "no step brought 1 pod"},
		"a gated pod": {func(r *scalehist.ReplayReport) {
			r.Start.UnscheduledPods = []scalehist.PodInfo{{Name: "z"}}
			r.End.UnscheduledPods = r.Start.UnscheduledPods
		}, "under.accuracy", "held back"},
		"a node in between": {func(r *scalehist.ReplayReport) { r.Batches[1].NodesJoined = []string{"n1", "n9"} }, "slack.cpu", "node n9 came and went"},
		"no demand":         {func(r *scalehist.ReplayReport) { r.Start.ScheduledPods, r.Batches[2].DeletedPods = nil, nil }, "over.accuracy.cpu", "for 20s there were nodes and no pods"},
		"no percentile":     {func(r *scalehist.ReplayReport) { r.Pending.P99 = nil }, "pending.p99", "the report does not have it"},
		"per event":         {func(r *scalehist.ReplayReport) { r.Playback = scalehist.PlaybackPerEvent }, "pending.p95", "decides single moments"},
		"no length":         {func(r *scalehist.ReplayReport) { r.EndTime = r.StartTime }, "nodes.mean", "no length"},
	} {
		t.Run(name, func(t *testing.T) {
			r := sample()
			tc.change(r)
			v := Of(r).Get(tc.metric)
			if v.Value != nil || !strings.Contains(v.Missing, tc.want) {
				t.Errorf("%s: value %v, missing %q, want %q", tc.metric, v.Value, v.Missing, tc.want)
			}
		})
	}
}

// TestCameAndWent: pods that ended on their own and nodes that were there only in between are counted for what they were.
func TestCameAndWent(t *testing.T) {
	r := sample()
	r.Batches[0].DeployedPods = append(r.Batches[0].DeployedPods, scalehist.DeployedPod{Namespace: "d", Name: "job", Requests: map[string]string{"cpu": "1"}})
	r.Batches[0].DeployedPods[0].Requests = map[string]string{"cpu": "3"}
	r.Batches[2].Ended = []string{"d/job"} // from 20 s to 80 s
	r.ScaledUpNodes[0].NodeGroup, r.ScaledUpNodes[0].Offers = "h", map[string]string{"cpu": "6"}
	set := Of(r)
	// supply 4, 10 from 40 to 90, 4; demand 3, 7 from 20 to 80, 3
	for name, want := range map[string]float64{
		"pod-hours": (20*1 + 20*2 + 40*3 + 20*1) / 3600.0, "slack.cpu": (20*1 + 40*3 + 10*7 + 10*1) / 3600.0,
		"utilization.cpu": 100 * (20*3 + 20*4 + 40*7 + 10*3 + 10*3) / (40*4 + 50*10 + 10*4.0), "pending.p99": 20,
	} {
		v := set.Get(name)
		if v.Value == nil || math.Abs(*v.Value-want) > 1e-8 {
			t.Errorf("%s: %v (missing %q), want %v", name, v.Value, v.Missing, want)
		}
	}
}

// TestEmptyNodesCount: a node that nobody uses is not taken out of the sums, so over-provisioning shows.
func TestEmptyNodesCount(t *testing.T) {
	with, without := sample(), sample()
	at := with.StartTime
	with.ScaledUpNodes = append(with.ScaledUpNodes, scalehist.ScaledNode{Name: "idle", NodeGroup: "g", RequestedAt: at, ReadyAt: at, Offers: map[string]string{"cpu": "4", "memory": "8Gi"}})
	a, b := Of(without), Of(with)
	for name, more := range map[string]float64{"node-hours": 100.0 / 3600, "slack.memory": 8 * 100.0 / 3600} {
		if got := *b.Get(name).Value - *a.Get(name).Value; math.Abs(got-more) > 1e-8 {
			t.Errorf("%s: an idle node adds %v, want %v", name, got, more)
		}
	}
	if *b.Get("utilization.cpu").Value >= *a.Get("utilization.cpu").Value || *b.Get("slack.relative.cpu").Value <= *a.Get("slack.relative.cpu").Value {
		t.Error("an idle node changes no share")
	}
}

// TestHeldBack: a pod that waits for a gate neither waits for a node nor has one.
func TestHeldBack(t *testing.T) {
	r := sample()
	r.Batches[0].Unschedulable, r.Batches[0].HeldBack = 0, 1 // from 20 s to 40 s
	for name, want := range map[string]float64{"pod-hours": 140.0 / 3600, "under.timeshare": 0} {
		if v := Of(r).Get(name); v.Value == nil || math.Abs(*v.Value-want) > 1e-8 {
			t.Errorf("%s: %v, missing %q, want %v", name, v.Value, v.Missing, want)
		}
	}
}

// TestNamesAreUsedAgain: a pod under the name of a deleted one asks for what it does itself.
func TestNamesAreUsedAgain(t *testing.T) {
	r := sample()
	r.Batches[0].DeployedPods[0].Requests = map[string]string{"cpu": "1"}
	r.Batches[2].DeployedPods = []scalehist.DeployedPod{{Namespace: "d", Name: "b", Requests: map[string]string{"cpu": "2"}}}
	r.End.ScheduledPods = append(r.End.ScheduledPods, scalehist.PodInfo{Namespace: "d", Name: "b", NodeName: "n0", Requests: map[string]string{"cpu": "2"}})
	// demand: b 3 to 80 s, then 2; a 1 from 20 s
	if v := Of(r).Get("slack.cpu"); v.Value == nil || math.Abs(*v.Value-(20*1+20*0+40*4+10*5+10*1)/3600.0) > 1e-8 {
		t.Errorf("slack %v, missing %q", v.Value, v.Missing)
	}
}

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"pending.p59":      `unknown metric "pending.p59"; did you mean "pending.p50" or "pending.p99"`,
		"zzzzz":            "want one of nodes.scaled-up, ",
		"over.timeshare":   "nearly all the time",
		"optimal.distence": `unknown metric "optimal.distence"; did you mean "optimal.distance"`,
	} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for _, m := range single() {
		if m.Definition == "" || m.Formula == "" || m.Source == "" || m.Title == "" || m.Better == "" || m.Total == "" {
			t.Errorf("%s: something is not said: %+v", m.Name, m)
		}
		if got, err := Find(m.Name); err != nil || got.Name != m.Name {
			t.Errorf("%s is not found: %v", m.Name, err)
		}
	}
	names := Names()
	slices.Sort(names)
	if len(slices.Compact(names)) != len(single()) {
		t.Error("a metric is there twice")
	}
}

func TestText(t *testing.T) {
	for _, tc := range []struct {
		v    float64
		unit string
		want string
	}{
		{3, "nodes", "3"}, {90.5, Seconds, "1m30.5s"}, {2e9, Seconds, "2000000000s"}, {12.345, Percent, "12.35 %"}, {0.1234567, "EUR", "0.123457 EUR"},
		{0, "", "0"}, {0.00001, "pod-hours", "1e-05"}, {math.Copysign(0, -1), "pods", "0"},
	} {
		if got := Text(tc.v, tc.unit); got != tc.want {
			t.Errorf("%v %s: %q, want %q", tc.v, tc.unit, got, tc.want)
		}
	}
	if got := Signed(2, "pods"); got != "+2" {
		t.Errorf("signed %q", got)
	}
}

func TestAmount(t *testing.T) {
	list := map[string]string{"cpu": "250m", "memory": "512Mi"}
	if c, m := amount(list, corev1.ResourceCPU), amount(list, corev1.ResourceMemory); c != 0.25 || m != 0.5 {
		t.Errorf("cpu %v, memory %v", c, m)
	}
}
