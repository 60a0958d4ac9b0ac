package harness_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/report/metrics"
)

// resizable is a cluster of one node of 4 cores (3.92 of them for pods), whose DaemonSet takes half a core and whose pod db-1
// two of them, for ten minutes.
func resizable(t *testing.T) *trace.Input {
	t.Helper()
	in, err := workload.Script{
		Name: "resizable", Duration: 10 * time.Minute,
		Groups:     []workload.Group{{Name: "std", Machine: workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}, Zone: "z1", Min: 1, Max: 3, Nodes: 1}},
		DaemonSets: []workload.DaemonSet{{Name: "agent", CPU: "500m", Memory: "100Mi"}},
		Standing:   []workload.Standing{{Node: "std-0", Pods: workload.Pods{Workload: "db", Count: 1, CPU: "2", Memory: "1Gi"}}},
	}.Input()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// resize is the recorded in-place resize of a pod of the start.
func resize(t *testing.T, in *trace.Input, at time.Duration, name, cpu string) {
	t.Helper()
	for _, ch := range in.Initial {
		if p, ok := ch.Object.(*corev1.Pod); ok && p.Name == name {
			p = p.DeepCopy()
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
			in.Changes = append(in.Changes, scalehist.Change{At: in.Start.Add(at), Op: scalehist.OpUpdate, Object: p})
			slices.SortStableFunc(in.Changes, func(a, b scalehist.Change) int { return a.At.Compare(b.At) })
			return
		}
	}
	t.Fatalf("there is no pod %s", name)
}

func metric(t *testing.T, r *scalehist.ReplayReport, name string) float64 {
	t.Helper()
	for _, v := range metrics.Of(r) {
		if v.Name == name {
			if v.Value == nil {
				t.Fatalf("%s: %s", name, v.Missing)
			}
			return *v.Value
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// TestMetricsFollowResizes: a pod that is resized in place asks for its new size from then on, up and down, and its hours with
// a node go on.
func TestMetricsFollowResizes(t *testing.T) {
	t.Parallel()
	const offered = 3.92 - 0.5
	for _, c := range []struct {
		name, cpu string
		cores     float64 // on average, after half of the time
	}{{"up", "3", (2 + 3) / 2.}, {"down", "1", (2 + 1) / 2.}, {"to the same", "2000m", 2}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := resizable(t)
			resize(t, in, 5*time.Minute, "db-1", c.cpu)
			got := replay(t, in, harness.OnControlPlane(harness.Memory), harness.WithBatchInterval(0))
			if u, want := metric(t, got, "utilization.cpu"), 100*c.cores/offered; math.Abs(u-want) > 1e-6 {
				t.Errorf("utilisation %v, want %v", u, want)
			}
			if h, want := metric(t, got, "slack.cpu"), (offered-c.cores)*got.EndTime.Sub(got.StartTime).Hours(); math.Abs(h-want) > 1e-6 {
				t.Errorf("slack %v core-hours, want %v", h, want)
			}
			if h := metric(t, got, "pod-hours"); math.Abs(h-1./6) > 1e-6 {
				t.Errorf("%v pod-hours, want a sixth", h)
			}
			var resized []scalehist.PodResize
			for _, b := range got.Batches {
				resized = append(resized, b.Resized...)
			}
			want := []scalehist.PodResize{{Pod: "default/db-1", Requests: map[string]string{"cpu": c.cpu, "memory": "1Gi"}}}
			if c.name == "to the same" {
				want = nil
			}
			if diff := cmp.Diff(want, resized); diff != "" {
				t.Errorf("resized (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMetricsFollowNodes: a DaemonSet that grows leaves less room from then on, on nodes of the start and on those that joined.
func TestMetricsFollowNodes(t *testing.T) {
	t.Parallel()
	in := resizable(t)
	for _, ch := range in.Initial {
		if d, ok := ch.Object.(*appsv1.DaemonSet); ok {
			d = d.DeepCopy()
			d.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1")
			in.Changes = append(in.Changes, scalehist.Change{At: in.Start.Add(5 * time.Minute), Op: scalehist.OpUpdate, Object: d})
		}
	}
	if len(in.Changes) != 1 {
		t.Fatalf("%d changes, want that of the DaemonSet", len(in.Changes))
	}
	got := replay(t, in, harness.OnControlPlane(harness.Memory), harness.WithBatchInterval(0))
	if u, want := metric(t, got, "utilization.cpu"), 100*2/(3.92-0.75); math.Abs(u-want) > 1e-6 {
		t.Errorf("utilisation %v, want %v", u, want)
	}
}
