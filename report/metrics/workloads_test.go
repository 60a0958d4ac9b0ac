package metrics

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
)

// scaledSample is sample with two workloads: web is scaled 2 -> 5 at 20 s, is ready at 40 s and back at 3 at 80 s; db, which nobody scales, does not count.
func scaledSample() *scalehist.ReplayReport {
	off := func(s int) scalehist.Duration { return scalehist.Duration(time.Duration(s) * time.Second) }
	r := sample()
	r.Controllers = []string{"hpa"}
	r.Workloads = []scalehist.WorkloadResult{
		{WorkloadRef: scalehist.WorkloadRef{Kind: "Deployment", Namespace: "d", Name: "web"}, Controller: "hpa", Initial: 2, Final: 3, Peak: 5, ScaledUp: 3, ScaledDown: 2,
			Replicas: []scalehist.ReplicasAt{{Wanted: 2, Ready: 2}, {Offset: off(20), Wanted: 5, Ready: 2}, {Offset: off(40), Wanted: 5, Ready: 5}, {Offset: off(80), Wanted: 3, Ready: 3}},
			Work:     []scalehist.WorkResult{{Metric: "cpu", In: 200, Served: 190, Lost: 10}, {Metric: "queue", In: 50, Served: 30, Waiting: 20}}},
		{WorkloadRef: scalehist.WorkloadRef{Kind: "StatefulSet", Namespace: "d", Name: "db"}, Initial: 1, Final: 1, Peak: 1,
			Replicas: []scalehist.ReplicasAt{{Wanted: 1, Ready: 0}, {Offset: off(10), Wanted: 1, Ready: 1}}},
	}
	return r
}

// TestWorkloads checks metrics of workloads against sums done by hand, and that reports without workloads are as if there were none.
func TestWorkloads(t *testing.T) {
	set := Of(scaledSample())
	for name, want := range map[string]float64{
		"replicas.peak": 5, "replicas.churn": 5, "work.unserved": 40,
		"replicas.hours":           (20*2 + 20*2 + 40*5 + 20*3) / 3600.0,
		"replicas.missing-seconds": 20 * 3,
	} {
		if v := set.Get(name); v.Value == nil || math.Abs(*v.Value-want) > 1e-8 {
			t.Errorf("%s: %v (missing %q), want %v", name, v.Value, v.Missing, want)
		}
	}
	if len(set) != len(Defined(scaledSample())) || len(Defined(sample(), scaledSample())) != len(catalogue)+len(scaled) {
		t.Errorf("%d values, %d metrics are defined", len(set), len(Defined(scaledSample())))
	}
	without := sample()
	if diff := cmp.Diff([]int{len(catalogue), len(catalogue)}, []int{len(Of(without)), len(Defined(without))}); diff != "" {
		t.Errorf("a report without workloads (-want +got):\n%s", diff)
	}
	if v := Of(without).Get("replicas.peak"); v.Missing != noWorkloads || v.Unit != "replicas" {
		t.Errorf("%+v, want it to say that no controller ran", v)
	}
	noLoad := scaledSample()
	noLoad.Workloads[0].Work = nil
	if v := Of(noLoad).Get("work.unserved"); v.Missing != "replayed without load: nobody knows the work" {
		t.Errorf("%+v, want it to say that there was no load", v)
	}
	events := scaledSample()
	events.Playback = scalehist.PlaybackPerEvent
	if v := Of(events).Get("replicas.peak"); v.Value != nil {
		t.Errorf("%v in a playback of single moments, in which no time passes", *v.Value)
	}
	if _, err := Find("replicas.peak"); err != nil {
		t.Error(err)
	}
	wanted, ready := Replicas(&events.Workloads[0])
	if wanted.Max() != 5 || wanted.At(30*time.Second) != 5 || ready.At(30*time.Second) != 2 {
		t.Errorf("wanted %v, ready %v", wanted, ready)
	}
}
