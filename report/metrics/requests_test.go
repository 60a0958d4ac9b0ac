package metrics

import (
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
)

// sizedSample is scaledSample with a vertical autoscaler, which recommends 1 core from 20 s and 2 cores from 60 s on, for web: two to five replicas.
func sizedSample() *scalehist.ReplayReport {
	off := func(s int) scalehist.Duration { return scalehist.Duration(time.Duration(s) * time.Second) }
	r := scaledSample()
	w := &r.Workloads[0]
	w.SizedBy, w.Evicted, w.Resized = "vpa", 3, 2
	w.OOMKills = []scalehist.OOMKill{{Offset: off(30), Pod: "web-1", Container: "c", Limit: 1 << 30}}
	used := func(v float64) *float64 { return &v }
	w.Work = []scalehist.WorkResult{
		{Metric: "cpu", In: 7200, Served: 3600, Lost: 3600, Throttled: 1800, Requested: 7200, Slack: 3600, Overrun: 900, LimitSeconds: 0.1, Late: 720, LongestUnreadySeconds: 30, UnreadySeconds: 40,
			Used: []scalehist.UsedAt{{Value: used(2)}, {Offset: off(40), Value: used(4)}, {Offset: off(80)}, {Offset: off(90), Value: used(1)}}},
		{Metric: "memory", Requested: 100 << 30, Slack: 25 << 30},
		{Metric: "queue", In: 50, Served: 30, Waiting: 20, LimitSeconds: 30, Late: 25},
		{Metric: "requests", In: 200, Served: 150, Lost: 50, Throttled: 10, Held: &scalehist.HeldWork{Work: 30, P50Seconds: 5, P99Seconds: 19, MaxSeconds: 20}},
		{Metric: "never", Held: &scalehist.HeldWork{}},
	}
	recommends := func(at int, cores string) scalehist.WorkloadDecision {
		return scalehist.WorkloadDecision{At: r.StartTime.Add(time.Duration(at) * time.Second), Controller: "vpa", Resizes: []scalehist.WorkloadResize{{
			Workload: w.WorkloadRef, Action: scalehist.Recommended,
			Containers: []scalehist.ContainerResize{{Name: "c", To: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cores)}, Upper: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}}},
		}}}
	}
	r.WorkloadDecisions = []scalehist.WorkloadDecision{recommends(20, "1"), recommends(60, "2")}
	return r
}

// TestSized checks metrics of usage and requests against sums done by hand.
func TestSized(t *testing.T) {
	set := Of(sizedSample())
	for name, want := range map[string]float64{
		"slack.usage.cpu": 1, "slack.usage.memory": 25 / 3600.0, "slack.usage.relative.cpu": 50, "slack.usage.relative.memory": 25,
		"overrun.cpu": 0.25, "overrun.memory": 0, "throttling": 0.5, "oom.kills": 1, "evictions.resizing": 3, "resizes.in-place": 2,
		"slo": 50, "held.share": 15, "held.delay.p99": 19, "held.delay.max": 20, "held.lost": 20, "scale-from-zero.delay": 30, "work.unready-seconds": 40,
		// From 20 s to 40 s two replicas use 2 of 1 each, to 60 s five use 4 of 5, to 80 s 4 of 10; from 90 s to 100 s three use 1 of 6.
		"recommendation.quality.cpu": 100 * 40 / 70.0,
	} {
		if v := set.Get(name); v.Value == nil || math.Abs(*v.Value-want) > 1e-8 {
			t.Errorf("%s: %v (missing %q), want %v", name, v.Value, v.Missing, want)
		}
	}
	if b := Recommended(sizedSample(), sizedSample().Workloads[0].WorkloadRef, "c", corev1.ResourceCPU); b.Target.At(70*time.Second) != 2 || b.Target.At(30*time.Second) != 1 || b.Upper.At(70*time.Second) != 3 || b.Lower.Max() != 0 {
		t.Errorf("%+v", b)
	}
}

// TestSizedMissing: what a report does not know has a reason, and no number.
func TestSizedMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*scalehist.ReplayReport)
		metric string
		want   string
	}{
		"no usage":          {func(r *scalehist.ReplayReport) { r.Workloads[0].Work = nil }, "slack.usage.cpu", noUsage},
		"no usage, limits":  {func(r *scalehist.ReplayReport) { r.Workloads[0].Work = nil }, "throttling", noUsage},
		"no requests":       {func(r *scalehist.ReplayReport) { r.Workloads[0].Work[0].Requested = 0 }, "slack.usage.relative.cpu", "no workload whose usage is known asks for cpu"},
		"no vpa":            {func(r *scalehist.ReplayReport) { r.Workloads[0].SizedBy = "" }, "evictions.resizing", "no vertical autoscaler set requests"},
		"no memory":         {func(r *scalehist.ReplayReport) { r.Workloads[0].Work, r.Workloads[0].OOMKills = nil, nil }, "oom.kills", "the memory that containers use is not known"},
		"no recommendation": {func(r *scalehist.ReplayReport) { r.WorkloadDecisions = nil }, "recommendation.quality.cpu", "nothing was recommended for cpu"},
		"none for memory":   {func(*scalehist.ReplayReport) {}, "recommendation.quality.memory", "nothing was recommended for memory"},
		"recommended too late": {func(r *scalehist.ReplayReport) {
			r.WorkloadDecisions[0].At, r.WorkloadDecisions[1].At = r.EndTime, r.EndTime
		}, "recommendation.quality.cpu", "there was no time"},
		"nothing is held": {func(r *scalehist.ReplayReport) { r.Workloads[0].Work[3].Held = nil }, "held.lost", noHeld},
		"no limit": {func(r *scalehist.ReplayReport) {
			r.Workloads[0].Work[0].LimitSeconds, r.Workloads[0].Work[2].LimitSeconds = 0, 0
		}, "slo", noLimit},
		"no load": {func(r *scalehist.ReplayReport) { r.Workloads = r.Workloads[1:] }, "oom.kills", noUsage},
	} {
		r := sizedSample()
		tt.change(r)
		if v := Of(r).Get(tt.metric); v.Value != nil || !strings.Contains(v.Missing, tt.want) {
			t.Errorf("%s: %s is %v (%q), want the reason %q", name, tt.metric, v.Value, v.Missing, tt.want)
		}
	}
	if n, want := len(Of(sizedSample())), len(catalogue)+len(scaled)+len(sized)+len(held)+len(judged); n != want {
		t.Errorf("%d values, want %d", n, want)
	}
	r := sizedSample()
	r.Workloads = r.Workloads[1:]
	if n, want := len(Defined(r)), len(catalogue)+len(scaled); n != want {
		t.Errorf("%d metrics of a report without usage, want %d", n, want)
	}
}
