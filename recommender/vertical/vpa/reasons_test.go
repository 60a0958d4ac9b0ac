package vpa

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/restriction"
)

// fleet is a StatefulSet whose pods have these CPU requests, with a recommendation of 500m between 300m and 1.
func fleet(mode vpav1.UpdateMode, requests ...string) Objects {
	v := &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "web"},
		Spec: vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{Kind: "StatefulSet", Name: "web"},
			UpdatePolicy: &vpav1.PodUpdatePolicy{UpdateMode: &mode}},
		Status: vpav1.VerticalPodAutoscalerStatus{Recommendation: &vpav1.RecommendedPodResources{ContainerRecommendations: []vpav1.RecommendedContainerResources{
			{ContainerName: "app", Target: quantities("500m", ""), LowerBound: quantities("300m", ""), UpperBound: quantities("1", "")}}}}}
	o := Objects{VPAs: []VPA{{v, labels.Everything()}}, Controllers: map[Controller]ControllerState{{"StatefulSet", "blue", "web"}: {Replicas: len(requests)}}}
	for i, r := range requests {
		name := fmt.Sprintf("web-%d", i)
		o.Pods = append(o.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: name, UID: types.UID(name), OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "web", Controller: new(true)}}},
			Spec:       corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: quantities(r, "")}}}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(metav1.NewTime(start))},
		})
	}
	return o
}

// outOfMemory makes the pod one that ran out of memory a minute after its start, at an instant.
func outOfMemory(p *corev1.Pod, at time.Time) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", LastTerminationState: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", StartedAt: metav1.NewTime(at.Add(-time.Minute)), FinishedAt: metav1.NewTime(at)}}}}
}

// TestUpdateReasons: who is updated, in which order and why.
func TestUpdateReasons(t *testing.T) {
	u, err := NewUpdater(DefaultFlags())
	if err != nil {
		t.Fatal(err)
	}
	// Requests of 400m and 600m are within the bounds, and 2 is 300 % off, but of pods that shrink.
	o := fleet(vpav1.UpdateModeRecreate, "400m", "2", "100m", "200m", "600m", "450m", "500m", "500m", "500m", "500m")
	young := start.Add(time.Hour)
	outOfMemory(o.Pods[5], young.Add(-time.Minute))
	outOfMemory(o.Pods[6], young.Add(-time.Minute)) // its resources would not change
	type line struct {
		Pod    string
		Kind   ActionKind
		Reason Reason
		Diff   float64
		Grows  bool
	}
	lines := func(all []Action) []line {
		var lines []line
		for _, a := range all {
			lines = append(lines, line{a.Pod.Name, a.Kind, a.Reason, float64(int(a.ResourceDiff*100)) / 100, a.ScaleUp})
		}
		return lines
	}
	want := []line{{"web-2", Evict, OutsideRange, 4, true}, {"web-3", Evict, OutsideRange, 1.5, true}, {"web-5", Evict, QuickOOM, 0.11, true}, {"web-1", Evict, OutsideRange, 0.75, false}}
	if diff := cmp.Diff(want, lines(u.Update(young, o, nil))); diff != "" {
		t.Errorf("young (-want +got):\n%s", diff)
	}
	// After twelve hours those within their bounds are as good as others, if the target differs by a tenth; the OOM is long ago.
	// Half of ten may go.
	want = []line{{"web-2", Evict, OutsideRange, 4, true}, {"web-3", Evict, OutsideRange, 1.5, true}, {"web-0", Evict, LongLived, 0.25, true},
		{"web-5", Evict, LongLived, 0.11, true}, {"web-1", Evict, OutsideRange, 0.75, false}}
	if diff := cmp.Diff(want, lines(u.Update(start.Add(12*time.Hour), o, nil))); diff != "" {
		t.Errorf("old (-want +got):\n%s", diff)
	}
	o.VPAs[0].Object.Spec.UpdatePolicy.UpdateMode = new(vpav1.UpdateModeInPlaceOrRecreate)
	resizes := u.Update(young, o, func(a Action) error {
		if a.Kind == Resize && a.Pod.Name == "web-3" {
			return errRefused
		}
		return nil
	})
	want = []line{{"web-2", Resize, OutsideRange, 4, true}, {"web-3", Resize, OutsideRange, 1.5, true}, {"web-5", Resize, QuickOOM, 0.11, true},
		{"web-1", Resize, OutsideRange, 0.75, false}, {"web-3", Evict, OutsideRange, 1.5, true}}
	if diff := cmp.Diff(want, lines(resizes)); diff != "" {
		t.Errorf("in place (-want +got):\n%s", diff)
	}
	if resizes[0].Fallback || !resizes[4].Fallback {
		t.Error("the eviction that follows a refused resize is the fallback")
	}
	after := resizes[0].Resized()
	if got := after.Spec.Containers[0].Resources.Requests.Cpu(); got.MilliValue() != 500 || after.Annotations["vpaInPlaceUpdated"] != "true" {
		t.Errorf("resized to %s, annotations %v", got, after.Annotations)
	}
	if o.Pods[2].Spec.Containers[0].Resources.Requests.Cpu().MilliValue() != 100 {
		t.Error("the pod that was handed in was changed")
	}
}

// TestFewReplicas: one replica is left alone unless the VPA says otherwise, and of two one at a time is evicted.
func TestFewReplicas(t *testing.T) {
	u, err := NewUpdater(DefaultFlags())
	if err != nil {
		t.Fatal(err)
	}
	one := fleet(vpav1.UpdateModeRecreate, "100m")
	if got := u.Update(start, one, nil); len(got) != 0 {
		t.Errorf("one replica: %d actions", len(got))
	}
	one.VPAs[0].Object.Spec.UpdatePolicy.MinReplicas = new(int32(1))
	if got := u.Update(start, one, nil); len(got) != 1 {
		t.Errorf("one replica of a VPA that allows it: %d actions", len(got))
	}
	if got := u.Update(start, fleet(vpav1.UpdateModeRecreate, "100m", "100m", "100m"), nil); len(got) != 1 {
		t.Errorf("three replicas: %d actions, want 1: a tolerance of 0.5 is one of them", len(got))
	}
	if got := u.Update(start, fleet(vpav1.UpdateModeRecreate, "100m", "100m", "100m"), func(Action) error { return errRefused }); len(got) != 3 {
		t.Errorf("an eviction that was refused counts: %d actions", len(got))
	}
	flags := DefaultFlags()
	flags.InPlaceSkipDisruptionBudget = true
	if u, err = NewUpdater(flags); err != nil {
		t.Fatal(err)
	}
	got := u.Update(start, fleet(vpav1.UpdateModeInPlaceOrRecreate, "100m"), func(Action) error { return errRefused })
	if len(got) != 1 || got[0].Kind != Resize {
		t.Errorf("one replica, resized without a budget: %d actions, want a resize and no eviction after it was refused", len(got))
	}
	three := fleet(vpav1.UpdateModeInPlaceOrRecreate, "100m", "100m", "100m")
	if got := u.Update(start, three, nil); len(got) != 3 {
		t.Errorf("three replicas, resized without a budget: %d actions", len(got))
	}
	for _, p := range three.Pods {
		p.Spec.Containers[0].ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	}
	if got := u.Update(start, three, nil); len(got) != 1 {
		t.Errorf("three replicas that restart for a resize: %d actions, want 1: there the budget holds", len(got))
	}
	o := fleet(vpav1.UpdateModeRecreate, "100m", "100m")
	flags = DefaultFlags()
	for _, f := range []func(){func() { flags.VPANamespace = "green" }, func() { flags.VPANamespace, flags.IgnoredNamespaces = "", "red,blue" }} {
		f()
		u, err := NewUpdater(flags)
		if err != nil {
			t.Fatal(err)
		}
		a, err := NewAdmitter(flags, func() Objects { return o })
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Update(start, o, nil); len(got) != 0 {
			t.Errorf("namespaces that are not looked at: %d actions", len(got))
		}
		if got := a.Admit(start, o.Pods[0]); len(got.Annotations) != 0 {
			t.Errorf("namespaces that are not looked at: admitted with %v", got.Annotations)
		}
	}
}

// TestResizeTimeouts: ours are upstream's.
func TestResizeTimeouts(t *testing.T) {
	if deferredTimeout != restriction.DeferredResizeUpdateTimeout || inProgressTimeout != restriction.InProgressResizeUpdateTimeout {
		t.Error("upstream waits for other times")
	}
}

// TestWhoIsRecommendedFor: VPAs of this recommender, in namespaces that are looked at; with the memory saver, no history from before a VPA.
func TestWhoIsRecommendedFor(t *testing.T) {
	named := func(names ...string) []*vpav1.VerticalPodAutoscalerRecommenderSelector {
		var all []*vpav1.VerticalPodAutoscalerRecommenderSelector
		for _, n := range names {
			all = append(all, &vpav1.VerticalPodAutoscalerRecommenderSelector{Name: n})
		}
		return all
	}
	for _, c := range []struct {
		args  []string
		names []*vpav1.VerticalPodAutoscalerRecommenderSelector
		want  int
	}{
		{nil, nil, 1},
		{nil, named("default"), 1},
		{nil, named("other"), 0},
		{[]string{"recommender-name=other"}, named("default", "other"), 1},
		{[]string{"recommender-name=other"}, nil, 0},
		{[]string{"vpa-object-namespace=blue"}, nil, 1},
		{[]string{"vpa-object-namespace=green"}, nil, 0},
		{[]string{"ignored-vpa-object-namespaces=green,blue"}, nil, 0},
	} {
		f, err := ParseFlags(c.args)
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewRecommender(f)
		if err != nil {
			t.Fatal(err)
		}
		object, selector := action{variant: 6}.vpaObject()
		object.Spec.Recommenders = c.names
		r.SetVPA(object, selector)
		if got := len(r.Recommend(start)); got != c.want {
			t.Errorf("%v, VPA of %v: recommends for %d VPAs, want %d", c.args, c.names, got, c.want)
		}
	}
	f, err := ParseFlags([]string{"memory-saver=true"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRecommender(f)
	if err != nil {
		t.Fatal(err)
	}
	pod := action{pod: 1}.podObject()
	r.SetPod(pod, start)
	if err := r.Observe(nameOf(pod), "app", start, quantities("1", "")); err == nil {
		t.Error("the memory saver tracks a pod that no VPA selects")
	}
	object, selector := action{variant: 6}.vpaObject()
	r.SetVPA(object, selector)
	r.SetPod(pod, start)
	if err := r.Observe(nameOf(pod), "app", start, quantities("1", "")); err != nil {
		t.Error(err)
	}
}
