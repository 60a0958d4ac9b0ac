package engines

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// risingLoad is a tenth of a core and 300 MiB for each of two replicas, from 80 minutes on one and a half and 700 MiB.
func risingLoad() []load.Series {
	later := workload.Epoch.Add(80 * time.Minute)
	return []load.Series{
		{Workload: webSet, Metric: load.CPU, Sharing: load.Divided, Points: []load.Point{{At: workload.Epoch, Value: 0.2}, {At: later, Value: 3}}},
		{Workload: webSet, Metric: load.Memory, Sharing: load.Each, Points: []load.Point{{At: workload.Epoch, Value: 300 << 20}, {At: later, Value: 700 << 20}}},
	}
}

// underFault replays three hours of the rising load under a VPA and a fault.
func underFault(t *testing.T, mode, fault string) *scalehist.ReplayReport {
	t.Helper()
	options := []harness.Option{harness.WithController(VPA(vpa.DefaultFlags())), harness.WithObjects(vpaObject(t, "web", mode)), harness.WithLoad(load.Given(risingLoad()...))}
	if fault != "" {
		f, err := trace.ParseFault(fault)
		if err != nil {
			t.Fatal(err)
		}
		options = append(options, harness.WithFaults(f))
	}
	r, err := playPair(t, 3*time.Hour, harness.Memory, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recommendations are what changed of them, with when.
func recommendations(r *scalehist.ReplayReport) (out []string) {
	for _, d := range r.WorkloadDecisions {
		for _, s := range d.Resizes {
			if s.Action == scalehist.Recommended {
				out = append(out, fmt.Sprintf("%s cpu %s memory %s", d.At.Sub(workload.Epoch), s.Containers[0].To.Cpu(), s.Containers[0].To.Memory()))
			}
		}
	}
	return out
}

// TestVPAAndFailingMetrics is the column of docs/horizontal.md about vpa. The source of metrics fails for the second of three hours, in which the load rises. What upstream's
// recommender does with the samples that are left is asked of it: recommendations are those of a recommender that never had the others.
func TestVPAAndFailingMetrics(t *testing.T) {
	const from, to = time.Hour, 2 * time.Hour
	in := func(at time.Duration) bool { return at >= from && at < to }
	for _, c := range []struct {
		fault string
		// sample is what a pod is measured to use, given what it does; false where nothing is.
		sample func(at time.Duration, metric string, v float64) (float64, bool)
		// changes says whether something else is recommended during the fault.
		changes bool
	}{
		{"", func(_ time.Duration, _ string, v float64) (float64, bool) { return v, true }, true},
		{"metrics-down@+1h..+2h", func(at time.Duration, _ string, v float64) (float64, bool) { return v, !in(at) }, false},
		{"metrics-down:memory@+1h..+2h", func(at time.Duration, metric string, v float64) (float64, bool) {
			return v, !in(at) || metric == load.CPU
		}, true},
		{"metrics-slow@+1h..+2h,delay=2m", func(at time.Duration, _ string, v float64) (float64, bool) { return v, !in(at) }, false},
		{"metrics-slow@+1h..+2h,delay=30s", func(_ time.Duration, _ string, v float64) (float64, bool) { return v, true }, true},
		{"metrics-stale@+1h..+2h", func(at time.Duration, _ string, v float64) (float64, bool) { return v, at == from || !in(at) }, false}, // one sample, again and again
		{"metrics-empty@+1h..+2h", func(at time.Duration, _ string, v float64) (float64, bool) { return v, !in(at) }, false},
		{"metrics-nan@+1h..+2h", func(at time.Duration, _ string, v float64) (float64, bool) { return v, !in(at) }, false},
		{"metrics-wrong:cpu@+1h..+2h,value=2.5", func(at time.Duration, metric string, v float64) (float64, bool) {
			if in(at) && metric == load.CPU {
				return 2.5, true
			}
			return v, true
		}, true},
		{"metrics-wrong@+1h..+2h", func(at time.Duration, _ string, v float64) (float64, bool) {
			if in(at) {
				return 0, true
			}
			return v, true
		}, false}, // nothing lowers the percentiles as soon
	} {
		r := underFault(t, "Off", c.fault)
		got := recommendations(r)
		if diff := cmp.Diff(recommendedByHand(t, risingLoad(), 3*time.Hour, c.sample), got); diff != "" {
			t.Errorf("%q: recommendations (-by hand +got):\n%s", c.fault, diff)
		}
		changed, after := 0, 0
		for _, d := range r.WorkloadDecisions {
			switch at := d.At.Sub(workload.Epoch); {
			case len(d.Resizes) == 0:
			case at > from && at < to:
				changed++
			case at >= to:
				after++
			}
		}
		if (changed > 0) != c.changes || !c.changes && after == 0 {
			t.Errorf("%q: %d other recommendations during the fault, %d after it: %v", c.fault, changed, after, got)
		}
	}
}

// recommendedByHand is what a recommender recommends that is handed samples of a load (CPU, memory) for two pods, as sample gives them.
func recommendedByHand(t *testing.T, series []load.Series, play time.Duration, sample func(at time.Duration, metric string, v float64) (float64, bool)) (out []string) {
	t.Helper()
	recommender, err := vpa.NewRecommender(vpa.DefaultFlags())
	if err != nil {
		t.Fatal(err)
	}
	recommender.SetVPA(vpaObject(t, "web", "Off"), labels.SelectorFromSet(labels.Set{"app": "web"}))
	for _, name := range []string{"web-1", "web-2"} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		p.Namespace, p.Name, p.Labels = "default", name, map[string]string{"app": "web"}
		recommender.SetPod(p, workload.Epoch)
	}
	last := ""
	for at := time.Minute; at <= play; at += time.Minute {
		now := workload.Epoch.Add(at)
		// A window that has ended now has the mean of its quarter of a minute, which no load here changes within; memory is what it is now.
		window, _ := series[0].At(now.Add(-load.Resolution))
		current, _ := series[1].At(now)
		for _, name := range []string{"web-1", "web-2"} {
			for metric, v := range map[string]float64{load.CPU: window / 2, load.Memory: current} {
				v, known := sample(at, metric, v)
				if !known {
					continue
				}
				if err := recommender.Observe(types.NamespacedName{Namespace: "default", Name: name}, "c", now, usage(metric, v)); err != nil {
					t.Fatal(err)
				}
			}
		}
		target := recommender.Recommend(now)[0].Status.Recommendation.ContainerRecommendations[0].Target
		if line := fmt.Sprintf("cpu %s memory %s", target.Cpu(), target.Memory()); line != last {
			out, last = append(out, at.String()+" "+line), line
		}
	}
	return out
}

// TestVPAWithoutMetrics: a recommender that has no sample yet recommends the least there is, as upstream's does, whose loop goes on when metrics cannot be read
// (processVPAUpdate; percentiles of an empty histogram are 0), and the updater evicts pods for it.
func TestVPAWithoutMetrics(t *testing.T) {
	r := underFault(t, "Recreate", "metrics-down@..")
	if diff := cmp.Diff([]string{"1m0s cpu 25m memory 250Mi"}, recommendations(r)); diff != "" || workloadOf(t, r, webSet).Evicted != 2 {
		t.Errorf("%d evicted; recommendations (-want +got):\n%s", workloadOf(t, r, webSet).Evicted, diff)
	}
}
