package vpa

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpafake "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/clientset/versioned/fake"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/checkpoint"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/routines"
	controllerfetcher "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/target/controller_fetcher"
	"pgregory.net/rapid"
)

// upstream is upstream's model, logic, post-processors and checkpoint writer, with its globals, fed by hand.
type upstream struct {
	cluster  model.ClusterState
	estimate logic.PodResourceRecommender
	flags    Flags
	after    []routines.RecommendationPostProcessor
	objects  map[types.NamespacedName]*vpav1.VerticalPodAutoscaler
}

func newUpstream(f Flags) *upstream {
	model.InitializeAggregationsConfig(model.NewAggregationsConfig(f.MemoryAggregationInterval, f.MemoryAggregationIntervalCount,
		f.MemoryHalfLife, f.CPUHalfLife, f.OOMBumpUpRatio, f.OOMMinBumpUpBytes))
	if err := features.MutableFeatureGate.Set(fmt.Sprintf("PerVPAConfig=%v", f.PerVPAConfig)); err != nil {
		panic(err)
	}
	u := &upstream{cluster: model.NewClusterState(time.Hour), estimate: logic.CreatePodResourceRecommender(f.Estimation), flags: f,
		objects: map[types.NamespacedName]*vpav1.VerticalPodAutoscaler{}}
	if f.CPUInteger {
		u.after = append(u.after, &routines.IntegerCPUPostProcessor{})
	}
	u.after = append(u.after, routines.NewCappingRecommendationProcessor(f.maxAllowed()))
	return u
}

func (u *upstream) id(p *corev1.Pod) model.PodID {
	return model.PodID{Namespace: p.Namespace, PodName: p.Name}
}

// recommend follows processVPAUpdate of upstream's recommender/routines/recommender.go.
func (u *upstream) recommend() map[types.NamespacedName]Recommendation {
	all := map[types.NamespacedName]Recommendation{}
	for id, vpa := range u.cluster.VPAs() {
		name := types.NamespacedName{Namespace: id.Namespace, Name: id.VpaName}
		list := logic.MapToListOfRecommendedContainerResources(
			u.estimate.GetRecommendedPodResources(routines.GetContainerNameToAggregateStateMap(vpa)), u.flags.Format)
		for _, p := range u.after {
			list = p.Process(u.objects[name], list)
		}
		vpa.UpdateRecommendation(list)
		vpa.UpdateConditions(vpa.PodCount > 0)
		all[name] = Recommendation{VPA: name, Status: *vpa.AsStatus(), Pods: vpa.PodCount}
	}
	return all
}

// targets is a controller fetcher that finds every target, or none.
type targets bool

func (exist targets) FindTopMostWellKnownOrScalable(_ context.Context, c *controllerfetcher.ControllerKeyWithAPIVersion) (*controllerfetcher.ControllerKeyWithAPIVersion, error) {
	if !exist {
		return nil, nil
	}
	return c, nil
}

// sameNumbers compares quantities by value and weights up to the order in which they were added.
var sameNumbers = cmp.Options{
	cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }),
	cmpopts.EquateApprox(1e-9, 0),
	cmp.Comparer(func(a, b metav1.Time) bool { return a.Equal(&b) }),
}

// sameWeights compares histograms whose weights refer to different instants: which one upstream takes is a matter of the order in
// which it merges, and that of a map.
func sameWeights(c *model.AggregationsConfig) cmp.Option {
	at := func(now time.Time, h vpav1.HistogramCheckpoint, halfLife time.Duration) vpav1.HistogramCheckpoint {
		if h.TotalWeight != 0 {
			h.TotalWeight *= math.Exp2(h.ReferenceTimestamp.Sub(now).Seconds() / halfLife.Seconds())
		}
		h.ReferenceTimestamp = metav1.Time{}
		return h
	}
	return cmp.Transformer("sameReference", func(s *vpav1.VerticalPodAutoscalerCheckpoint) vpav1.VerticalPodAutoscalerCheckpoint {
		same, now := *s, s.Status.LastUpdateTime.Time
		same.Status.CPUHistogram = at(now, s.Status.CPUHistogram, c.CPUHistogramDecayHalfLife)
		same.Status.MemoryHistogram = at(now, s.Status.MemoryHistogram, c.MemoryHistogramDecayHalfLife)
		return same
	})
}

// TestRecommenderIsUpstreams runs programs on upstream's packages, in a bubble whose clock is the virtual one, and on ours.
func TestRecommenderIsUpstreams(t *testing.T) {
	defer model.InitializeAggregationsConfig(nil)
	defer func() { _ = features.MutableFeatureGate.Set("PerVPAConfig=false") }()
	rapid.Check(t, func(rt *rapid.T) {
		args := rapid.SampledFrom([][]string{
			{},
			{"feature-gates=PerVPAConfig=true", "cpu-integer-post-processor-enabled=true", "round-memory-bytes=1048576"},
			{"memory-aggregation-interval=2h", "memory-aggregation-interval-count=4", "memory-histogram-decay-half-life=5h",
				"cpu-histogram-decay-half-life=30m", "oom-bump-up-ratio=2", "oom-min-bump-up-bytes=0",
				"container-recommendation-max-allowed-cpu=2", "pod-recommendation-min-memory-mb=10", "confidence-interval-cpu=1h",
				"confidence-interval-memory=3h", "target-cpu-percentile=0.5", "recommendation-margin-fraction=0.4"},
		}).Draw(rt, "flags")
		program := drawProgram(rt, len(args) > 5)
		exist := rapid.Bool().Draw(rt, "targets exist")
		var failure string
		synctest.Test(t, func(t *testing.T) { failure = runProgram(t, args, program, exist) })
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}

// runProgram returns what differs between upstream and us, or nothing.
func runProgram(t *testing.T, args []string, program []action, exist bool) string {
	flags, err := ParseFlags(args)
	if err != nil {
		t.Fatal(err)
	}
	theirs := newUpstream(flags)
	ours, err := NewRecommender(flags)
	if err != nil {
		t.Fatal(err)
	}
	var saved []*vpav1.VerticalPodAutoscalerCheckpoint
	for i, a := range program {
		time.Sleep(a.after)
		now := time.Now().UTC()
		if diff := step(t, theirs, ours, a, now, exist, &saved); diff != "" {
			return fmt.Sprintf("action %d, %+v at %s:\n%s", i, a, now, diff)
		}
	}
	return ""
}

// step does one action on both sides; what it returns is how they differ.
func step(t *testing.T, theirs *upstream, ours *Recommender, a action, now time.Time, exist bool, saved *[]*vpav1.VerticalPodAutoscalerCheckpoint) string {
	pod := a.podObject()
	container := model.ContainerID{PodID: theirs.id(pod), ContainerName: a.container}
	var theirErr, ourErr error
	switch a.kind {
	case "pod":
		theirs.setPod(pod)
		ours.SetPod(pod, now)
	case "unpod":
		theirs.cluster.DeletePod(theirs.id(pod))
		ours.RemovePod(nameOf(pod))
	case "observe":
		theirErr = theirs.observe(container, now, a.cpu, a.memory)
		ourErr = ours.Observe(nameOf(pod), a.container, now, corev1.ResourceList{corev1.ResourceCPU: millicores(a.cpu), corev1.ResourceMemory: bytes(a.memory)})
	case "oom":
		at := now.Add(-time.Duration(a.cpu) * time.Minute)
		theirErr = theirs.cluster.RecordOOM(container, at, model.ResourceAmount(a.memory))
		ourErr = ours.OOM(nameOf(pod), a.container, at, bytes(a.memory))
	case "vpa":
		object, selector := a.vpaObject()
		if old := theirs.objects[nameOf(object)]; old != nil {
			object.Status = old.Status
		}
		theirs.objects[nameOf(object)] = object
		theirErr = theirs.cluster.AddOrUpdateVpa(object, selector)
		ours.SetVPA(object, selector)
	case "unvpa":
		object, _ := a.vpaObject()
		delete(theirs.objects, nameOf(object))
		_ = theirs.cluster.DeleteVpa(model.VpaID{Namespace: object.Namespace, VpaName: object.Name}) // it may be gone already
		ours.RemoveVPA(nameOf(object))
	case "recommend":
		want := theirs.recommend()
		got := map[types.NamespacedName]Recommendation{}
		for _, r := range ours.Recommend(now) {
			got[r.VPA] = r
			theirs.objects[r.VPA].Status = r.Status
		}
		return cmp.Diff(want, got, sameNumbers)
	case "collect":
		theirs.cluster.RateLimitedGarbageCollectAggregateCollectionStates(t.Context(), now, targets(exist))
		ours.GarbageCollect(now, func(*vpav1.VerticalPodAutoscaler) bool { return exist })
		if want, got := theirs.cluster.StateMapSize(), len(ours.aggregates); want != got {
			return fmt.Sprintf("upstream has %d aggregates left, we %d", want, got)
		}
	case "save":
		got, err := ours.Checkpoints(now)
		if err != nil {
			return err.Error()
		}
		*saved = throughJSON(t, got)
		return cmp.Diff(theirs.checkpoints(t), *saved, sameNumbers, sameWeights(ours.histograms), cmpopts.EquateEmpty())
	case "load":
		for _, c := range *saved {
			theirErr, ourErr = theirs.load(c), ours.LoadCheckpoint(c)
		}
	}
	if (theirErr == nil) != (ourErr == nil) {
		return fmt.Sprintf("upstream says %v, we say %v", theirErr, ourErr)
	}
	return ""
}

// setPod follows LoadPods of upstream's recommender/input/cluster_feeder.go, whose lister leaves out pending pods.
func (u *upstream) setPod(pod *corev1.Pod) {
	if pod.Status.Phase == corev1.PodPending {
		u.cluster.DeletePod(u.id(pod))
		return
	}
	u.cluster.AddOrUpdatePod(u.id(pod), pod.Labels, pod.Status.Phase)
	for _, c := range pod.Spec.Containers {
		if err := u.cluster.AddOrUpdateContainer(model.ContainerID{PodID: u.id(pod), ContainerName: c.Name}, nil); err != nil {
			panic(err)
		}
	}
	if err := u.cluster.SetInitContainers(u.id(pod), []string{"sidecar"}); err != nil {
		panic(err)
	}
}

// observe follows LoadRealTimeMetrics of the same file.
func (u *upstream) observe(id model.ContainerID, at time.Time, cpu, memory int64) error {
	if p := u.cluster.Pods()[id.PodID]; p != nil && id.ContainerName == "sidecar" {
		return nil
	}
	var failed error
	for kind, amount := range map[model.ResourceName]int64{model.ResourceCPU: cpu, model.ResourceMemory: memory} {
		if err := u.cluster.AddSample(&model.ContainerUsageSampleWithKey{Container: id,
			ContainerUsageSample: model.ContainerUsageSample{MeasureStart: at, Resource: kind, Usage: model.ResourceAmount(amount)}}); err != nil {
			failed = err
		}
	}
	return failed
}

// load follows setVpaCheckpoint of the same file.
func (u *upstream) load(c *vpav1.VerticalPodAutoscalerCheckpoint) error {
	vpa := u.cluster.VPAs()[model.VpaID{Namespace: c.Namespace, VpaName: c.Spec.VPAObjectName}]
	if vpa == nil {
		return fmt.Errorf("no VPA %s", c.Spec.VPAObjectName)
	}
	state := model.NewAggregateContainerState()
	vpa.ContainersInitialAggregateState[c.Spec.ContainerName] = state
	return state.LoadFromCheckpoint(&c.Status)
}

// checkpoints are what upstream's writer stores through its client.
func (u *upstream) checkpoints(t *testing.T) []*vpav1.VerticalPodAutoscalerCheckpoint {
	client := vpafake.NewSimpleClientset().AutoscalingV1()
	checkpoint.NewCheckpointWriter(u.cluster, client).StoreCheckpoints(t.Context(), 1)
	list, err := client.VerticalPodAutoscalerCheckpoints("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[types.NamespacedName]*vpav1.VerticalPodAutoscalerCheckpoint{}
	for i, c := range list.Items {
		byName[types.NamespacedName{Namespace: c.Namespace, Name: c.Spec.VPAObjectName + " " + c.Spec.ContainerName}] = &list.Items[i]
	}
	all := []*vpav1.VerticalPodAutoscalerCheckpoint{}
	for _, key := range sortedKeys(byName) {
		all = append(all, byName[key])
	}
	return throughJSON(t, all)
}

// throughJSON is what an API server gives back: instants in whole seconds.
func throughJSON[T any](t *testing.T, v T) T {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return back
}
