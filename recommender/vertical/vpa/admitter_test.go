package vpa

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podadmission "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/patch"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/recommendation"
	vpaadmission "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/vpa"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpalister "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/client/listers/autoscaling.k8s.io/v1"
	controllerfetcher "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/target/controller_fetcher"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
)

// selectors are those of the targets of VPAs.
type selectors map[*vpav1.VerticalPodAutoscaler]labels.Selector

func (s selectors) Fetch(_ context.Context, v *vpav1.VerticalPodAutoscaler) (labels.Selector, error) {
	if s[v] == nil {
		return nil, errors.New("no selector")
	}
	return s[v], nil
}

// theirAdmission is a pod after upstream's webhook: its matcher, its handler and its patches; as it was where the webhook panics.
func theirAdmission(t *testing.T, f Flags, o Objects, p *corev1.Pod) (after *corev1.Pod) {
	defer func() {
		if r := recover(); r != nil { // as net/http does; the webhook's failure policy is Ignore
			after = p
		}
	}()
	limits, err := limitrange.NewLimitsRangeCalculator(caches(t, fake.NewSimpleClientset(), o))
	if err != nil {
		t.Fatal(err)
	}
	index, fetch := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}), selectors{}
	for _, v := range o.VPAs {
		if err := index.Add(v.Object); err != nil {
			t.Fatal(err)
		}
		fetch[v.Object] = v.Selector
	}
	matcher := vpaadmission.NewMatcher(vpalister.NewVerticalPodAutoscalerLister(index), fetch, controllers(o.Controllers))
	provider := recommendation.NewProvider(limits, vpautil.NewCappingRecommendationProcessor(limits))
	handler := podadmission.NewResourceHandler(podadmission.NewDefaultPreProcessor(), matcher,
		[]patch.Calculator{patch.NewResourceUpdatesCalculator(provider, f.MaxAllowedCPUBoost), patch.NewObservedContainersCalculator()})
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	request := &admissionv1.AdmissionRequest{Namespace: p.Namespace, Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}}
	request.Object.Raw = raw
	patches, failed := handler.GetPatches(t.Context(), request)
	if len(failed) > 0 {
		return p
	}
	operations, err := json.Marshal(patches)
	if err != nil {
		t.Fatal(err)
	}
	return patchedPod(t, p, operations)
}

// inOrder sorts the words of the annotation about updates, which upstream has in the order of a map.
func inOrder(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	if text, ok := p.Annotations[patch.ResourceUpdatesAnnotation]; ok {
		head, rest, _ := strings.Cut(text, ": ")
		containers := strings.Split(rest, "; ")
		for i, c := range containers {
			name, changes, _ := strings.Cut(c, ": ")
			words := strings.Split(changes, ", ")
			slices.Sort(words)
			containers[i] = name + ": " + strings.Join(words, ", ")
		}
		p.Annotations[patch.ResourceUpdatesAnnotation] = head + ": " + strings.Join(containers, "; ")
	}
	return p
}

// TestAdmitterIsUpstreams admits random pods into random clusters through upstream's webhook and through ours.
func TestAdmitterIsUpstreams(t *testing.T) {
	defer upstreamsGates(t, DefaultFlags())
	var admitted, changed, boosted int
	rapid.Check(t, func(rt *rapid.T) {
		o := Objects{Controllers: map[Controller]ControllerState{}, LimitRanges: drawLimits(rt)}
		for i := range rapid.IntRange(1, 3).Draw(rt, "VPAs") {
			o.VPAs = append(o.VPAs, drawVPA(rt, i, allModes))
		}
		o.VPAs[0].Object.Spec.TargetRef = &autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: "web-0"}
		deployment, replicas := Controller{"Deployment", "blue", "web-0"}, Controller{"ReplicaSet", "blue", "web-0-1"}
		o.Controllers[deployment] = ControllerState{}
		o.Controllers[replicas] = ControllerState{Parent: &deployment, Replicas: 1}
		flags, err := ParseFlags(drawGates(rt))
		if err != nil {
			rt.Fatal(err)
		}
		upstreamsGates(t, flags)
		a, err := NewAdmitter(flags, func() Objects { return o })
		if err != nil {
			rt.Fatal(err)
		}
		for range 5 {
			p := drawPod(rt, "web-0-1-x", rapid.SampledFrom([]Controller{replicas, replicas, replicas, {"Node", "", "node"}}).Draw(rt, "owner"))
			before, clusterBefore := p.DeepCopy(), deepCopy(o)
			want, got := theirAdmission(t, flags, o, p.DeepCopy()), a.Admit(bubble, p)
			if diff := cmp.Diff(inOrder(want), inOrder(got), sameNumbers); diff != "" {
				rt.Fatalf("-upstream +us:\n%s", diff)
			}
			if diff := cmp.Diff(before, p); diff != "" {
				rt.Fatalf("the argument was changed:\n%s", diff)
			}
			if diff := cmp.Diff(clusterBefore.LimitRanges, o.LimitRanges); diff != "" {
				rt.Fatalf("limit ranges were changed:\n%s", diff)
			}
			for i, v := range o.VPAs {
				if diff := cmp.Diff(clusterBefore.VPAs[i].Object, v.Object); diff != "" {
					rt.Fatalf("a VPA was changed:\n%s", diff)
				}
			}
			admitted++
			if !cmp.Equal(p.Spec, got.Spec, sameNumbers) {
				changed++
			}
			if vpautil.PodHasCPUBoostInProgressAnnotation(got) {
				boosted++
			}
		}
	})
	t.Logf("%d of %d pods were changed, %d boosted", changed, admitted, boosted)
	if changed == 0 || boosted == 0 {
		t.Error("no pod was changed, or none was boosted")
	}
}

// TestAdmit has the rules one by one.
func TestAdmit(t *testing.T) {
	recommended := func(cpu, memory string) *vpav1.RecommendedPodResources {
		return &vpav1.RecommendedPodResources{ContainerRecommendations: []vpav1.RecommendedContainerResources{{ContainerName: "app", Target: quantities(cpu, memory)}}}
	}
	requestsOnly := &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{{ContainerName: "*", ControlledValues: new(vpav1.ContainerControlledValuesRequestsOnly)}}}
	limitRange := func(kind corev1.LimitType, least, most corev1.ResourceList) []*corev1.LimitRange {
		return []*corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "limits"},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: kind, Min: least, Max: most}}}}}
	}
	for name, c := range map[string]struct {
		requests, limits corev1.ResourceList
		recommended      *vpav1.RecommendedPodResources
		policy           *vpav1.PodResourcePolicy
		mode             vpav1.UpdateMode
		ranges           []*corev1.LimitRange
		wantRequests     corev1.ResourceList
		wantLimits       corev1.ResourceList
		want             string // the annotation
	}{
		"limits in proportion": {quantities("100m", "1Gi"), quantities("200m", "1Gi"), recommended("500m", "2Gi"), nil, "", nil,
			quantities("500m", "2Gi"), quantities("1", "2Gi"), "Pod resources updated by web: container 0: cpu request, memory request, cpu limit, memory limit"},
		"limits left where requests only are controlled": {quantities("100m", ""), quantities("200m", ""), recommended("150m", ""), requestsOnly, "", nil,
			quantities("150m", ""), quantities("200m", ""), "Pod resources updated by web: container 0: cpu request"},
		"requests capped to limits": {quantities("100m", ""), quantities("200m", ""), recommended("500m", ""), requestsOnly, "", nil,
			quantities("200m", ""), quantities("200m", ""), "Pod resources updated by web: container 0: cpu capped to container limit, cpu request"},
		"no requests": {nil, nil, recommended("500m", ""), nil, "", nil,
			quantities("500m", ""), nil, "Pod resources updated by web: container 0: cpu request"},
		"limits without requests": {nil, quantities("200m", ""), recommended("500m", ""), nil, "", nil,
			quantities("500m", ""), quantities("500m", ""), "memory: limit NOT set since originalLimit is nil or 0, cpu request, cpu limit"},
		"maximum of containers": {quantities("100m", ""), quantities("200m", ""), recommended("900m", ""), nil, "", limitRange(corev1.LimitTypeContainer, nil, quantities("1", "")),
			quantities("500m", ""), quantities("1", ""), "cpu capped to fit Max in container LimitRange"},
		"minimum of pods": {quantities("100m", ""), quantities("100m", ""), recommended("200m", ""), nil, "", limitRange(corev1.LimitTypePod, quantities("300m", ""), nil),
			quantities("300m", ""), quantities("300m", ""), "cpu request, cpu limit"},
		"initial": {quantities("100m", ""), nil, recommended("500m", ""), nil, vpav1.UpdateModeInitial, nil,
			quantities("500m", ""), nil, "cpu request"},
		"off": {quantities("100m", ""), nil, recommended("500m", ""), nil, vpav1.UpdateModeOff, nil, quantities("100m", ""), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "web"},
				Spec:   vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}, ResourcePolicy: c.policy},
				Status: vpav1.VerticalPodAutoscalerStatus{Recommendation: c.recommended}}
			if c.mode != "" {
				v.Spec.UpdatePolicy = &vpav1.PodUpdatePolicy{UpdateMode: &c.mode}
			}
			deployment, replicas := Controller{"Deployment", "blue", "web"}, Controller{"ReplicaSet", "blue", "web-1"}
			o := Objects{VPAs: []VPA{{v, labels.Everything()}}, LimitRanges: c.ranges,
				Controllers: map[Controller]ControllerState{deployment: {}, replicas: {Parent: &deployment, Replicas: 1}}}
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "web-1-x", OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-1", Controller: new(true)}}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{Requests: c.requests, Limits: c.limits}}}}}
			a, err := NewAdmitter(DefaultFlags(), func() Objects { return o })
			if err != nil {
				t.Fatal(err)
			}
			got := a.Admit(time.Time{}, p)
			if diff := cmp.Diff(corev1.ResourceRequirements{Requests: c.wantRequests, Limits: c.wantLimits}, got.Spec.Containers[0].Resources, sameNumbers); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if text := got.Annotations[updatesAnnotation]; !strings.Contains(text, c.want) || c.want == "" && text != "" {
				t.Errorf("annotation %q, want %q", text, c.want)
			}
			if observed := got.Annotations["vpaObservedContainers"]; observed != "app" && c.mode != vpav1.UpdateModeOff {
				t.Errorf("observed containers %q", observed)
			}
		})
	}
}

// TestTopmostController follows the owners of pods to what a VPA names.
func TestTopmostController(t *testing.T) {
	c := func(kind, name string) Controller { return Controller{kind, "blue", name} }
	all := controllers{
		c("Deployment", "web"):     {},
		c("ReplicaSet", "web-1"):   {Parent: new(c("Deployment", "web"))},
		c("ReplicaSet", "orphan"):  {Parent: new(c("Deployment", "gone"))},
		c("Deployment", "managed"): {Parent: new(c("Operator", "absent"))},
		c("ReplicaSet", "circle"):  {Parent: new(c("Deployment", "circle"))},
		c("Deployment", "circle"):  {Parent: new(c("ReplicaSet", "circle"))},
		c("Rollout", "custom"):     {},
	}
	for from, want := range map[Controller]string{
		c("ReplicaSet", "web-1"):   "Deployment web",
		c("Deployment", "web"):     "Deployment web",
		c("ReplicaSet", "orphan"):  "",
		c("Deployment", "managed"): "Deployment managed",
		c("Rollout", "custom"):     "Rollout custom",
		c("ReplicaSet", "absent"):  "",
		c("Node", "node"):          "",
	} {
		key := controllerKey(from)
		got, err := all.FindTopMostWellKnownOrScalable(t.Context(), key)
		if (err != nil) != (from.Kind == "Node") {
			t.Errorf("%v: %v", from, err)
		}
		text := ""
		if got != nil {
			text = got.Kind + " " + got.Name
		}
		if text != want {
			t.Errorf("%v: got %q, want %q", from, text, want)
		}
	}
	if _, err := all.FindTopMostWellKnownOrScalable(t.Context(), controllerKey(c("ReplicaSet", "circle"))); err != nil {
		t.Error(err)
	}
}

func controllerKey(c Controller) *controllerfetcher.ControllerKeyWithAPIVersion {
	return &controllerfetcher.ControllerKeyWithAPIVersion{ControllerKey: controllerfetcher.ControllerKey{Namespace: c.Namespace, Kind: c.Kind, Name: c.Name}}
}
