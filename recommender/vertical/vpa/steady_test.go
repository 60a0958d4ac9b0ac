package vpa

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"

	"github.com/scalehist/scalehist/internal/goldentest"
)

var update = flag.Bool("update", false, "write the golden files")

var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// observed is a recommender that saw a pod of one container for some time, once a minute.
func observed(t testing.TB, f Flags, lasting time.Duration, load func(minute int) (millicores, bytes int64)) *Recommender {
	t.Helper()
	r, err := NewRecommender(f)
	if err != nil {
		t.Fatal(err)
	}
	pod := action{pod: 1}.podObject()
	r.SetPod(pod, start)
	object, selector := action{variant: 6}.vpaObject()
	r.SetVPA(object, selector)
	for minute := range int(lasting / time.Minute) {
		cpu, memory := load(minute)
		usage := corev1.ResourceList{corev1.ResourceCPU: millicores(cpu), corev1.ResourceMemory: bytes(memory)}
		if err := r.Observe(nameOf(pod), "app", start.Add(time.Duration(minute)*time.Minute), usage); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func steady(int) (int64, int64) { return 250, 512 << 20 }

// TestSteadyLoad: bounds narrow with confidence. The upper one is twice the target after a day and 1.14 of it after a week.
func TestSteadyLoad(t *testing.T) {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "250m and 512Mi, once a minute\nafter\tresource\tlower\ttarget\tupper\tlower/target\tupper/target")
	for _, lasting := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
		r := observed(t, DefaultFlags(), lasting, steady)
		c := r.Recommend(start.Add(lasting))[0].Status.Recommendation.ContainerRecommendations[0]
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			lower, target, upper := c.LowerBound[name], c.Target[name], c.UpperBound[name]
			ratio := func(q resource.Quantity) float64 { return q.AsApproximateFloat64() / target.AsApproximateFloat64() }
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.2f\t%.2f\n", lasting, name, lower.String(), target.String(), upper.String(), ratio(lower), ratio(upper))
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	goldentest.Text(t, filepath.Join("testdata", "steady.txt"), text.String(), *update)
}

// noisy is a load that repeats from its seed.
func noisy(seed uint64) func(int) (int64, int64) {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(minute int) (int64, int64) {
		return 100 + random.Int64N(900) + int64(minute)/10, 200<<20 + random.Int64N(800<<20)
	}
}

// TestCheckpointsRoundTrip: a recommender that loads what another stored recommends the same, once the interval of the last peak of
// memory has ended.
func TestCheckpointsRoundTrip(t *testing.T) {
	lasting := 3 * 24 * time.Hour
	now := start.Add(lasting)
	for seed := range uint64(5) {
		was := observed(t, DefaultFlags(), lasting, noisy(seed))
		stored, err := was.Checkpoints(now)
		if err != nil {
			t.Fatal(err)
		}
		if len(stored) != 1 || stored[0].Namespace != "blue" || stored[0].Name != "vpa-0-app" || !stored[0].Status.LastUpdateTime.Time.Equal(now) {
			t.Fatalf("stored %+v", stored)
		}
		again, err := NewRecommender(DefaultFlags())
		if err != nil {
			t.Fatal(err)
		}
		if err := again.LoadCheckpoint(stored[0]); err == nil {
			t.Error("a checkpoint without its VPA was loaded")
		}
		object, selector := action{variant: 6}.vpaObject()
		again.SetVPA(object, selector)
		if err := again.LoadCheckpoint(throughJSON(t, stored[0])); err != nil {
			t.Fatal(err)
		}
		want, got := was.Recommend(now)[0].Status.Recommendation, again.Recommend(now)[0].Status.Recommendation
		if len(got.ContainerRecommendations) != 1 {
			t.Fatalf("seed %d: recommends for %d containers", seed, len(got.ContainerRecommendations))
		}
		if diff := cmp.Diff(want, got, sameNumbers); diff != "" {
			t.Errorf("seed %d (-before +after):\n%s", seed, diff)
		}
	}
	old := &vpav1.VerticalPodAutoscalerCheckpoint{ObjectMeta: metav1.ObjectMeta{Namespace: "blue"},
		Spec: vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: "vpa-0"}, Status: vpav1.VerticalPodAutoscalerCheckpointStatus{Version: "v2"}}
	if err := observed(t, DefaultFlags(), time.Minute, steady).LoadCheckpoint(old); err == nil {
		t.Error("a checkpoint of another version was loaded")
	}
}

// TestRecommendersShareNothing: recommenders with different flags work beside each other, whatever the globals of upstream say.
func TestRecommendersShareNothing(t *testing.T) {
	defer model.InitializeAggregationsConfig(nil)
	var all []Flags
	for _, args := range [][]string{nil, {"cpu-histogram-decay-half-life=1h", "memory-histogram-decay-half-life=30m", "memory-aggregation-interval=1h"}} {
		f, err := ParseFlags(args)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	now := start.Add(12 * time.Hour)
	recommend := func(f Flags) *vpav1.RecommendedPodResources {
		return observed(t, f, 12*time.Hour, noisy(1)).Recommend(now)[0].Status.Recommendation
	}
	want := []*vpav1.RecommendedPodResources{recommend(all[0]), recommend(all[1])}
	if cmp.Equal(want[0], want[1], sameNumbers) {
		t.Fatal("the flags make no difference")
	}
	model.InitializeAggregationsConfig(model.NewAggregationsConfig(time.Minute, 1, time.Minute, time.Minute, 9, 9))
	got := make([]*vpav1.RecommendedPodResources, len(all))
	var wait sync.WaitGroup
	for i, f := range all {
		wait.Go(func() { got[i] = recommend(f) })
	}
	wait.Wait()
	if diff := cmp.Diff(want, got, sameNumbers); diff != "" {
		t.Errorf("alone and beside others (-alone +beside):\n%s", diff)
	}
}

// TestRecommendChangesNoArguments: objects that were handed in, and what was answered, are not the recommender's.
func TestRecommendChangesNoArguments(t *testing.T) {
	r := observed(t, DefaultFlags(), time.Hour, steady)
	object, selector := action{variant: 1}.vpaObject()
	before := object.DeepCopy()
	r.SetVPA(object, selector)
	first := r.Recommend(start.Add(time.Hour))[0]
	kept := *first.Status.DeepCopy()
	first.Status.Recommendation.ContainerRecommendations[0].Target[corev1.ResourceCPU] = millicores(1)
	*first.Status.ObservedGeneration = 99
	if diff := cmp.Diff(kept, r.Recommend(start.Add(2 * time.Hour))[0].Status, sameNumbers); diff != "" {
		t.Errorf("the second answer (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(before, object); diff != "" {
		t.Errorf("the VPA was changed:\n%s", diff)
	}
}

// BenchmarkRecommender is two weeks of one container and a recommendation an hour.
func BenchmarkRecommender(b *testing.B) {
	for b.Loop() {
		r := observed(b, DefaultFlags(), 14*24*time.Hour, steady)
		for hour := range 14 * 24 {
			r.Recommend(start.Add(time.Duration(hour) * time.Hour))
		}
	}
}
