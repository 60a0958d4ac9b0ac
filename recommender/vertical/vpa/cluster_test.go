package vpa

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/annotations"
	"k8s.io/component-base/featuregate"
	"pgregory.net/rapid"
)

// bubble is when the clock of a bubble of testing/synctest begins.
var bubble = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	cpus     = []string{"", "", "100m", "250m", "1", "1500m", "4"}
	memories = []string{"", "", "128Mi", "1000000000", "1Gi", "3Gi", "8Gi"}
)

func drawList(t *rapid.T, label string) corev1.ResourceList {
	list := quantities(rapid.SampledFrom(cpus).Draw(t, label+" cpu"), rapid.SampledFrom(memories).Draw(t, label+" memory"))
	if len(list) == 0 {
		return nil
	}
	return list
}

// drawFull is a list with both resources.
func drawFull(t *rapid.T, label string) corev1.ResourceList {
	return quantities(rapid.SampledFrom(cpus[2:]).Draw(t, label+" cpu"), rapid.SampledFrom(memories[2:]).Draw(t, label+" memory"))
}

// drawVPA draws VPA number i of the Deployment web-TARGET, older or younger than others.
func drawVPA(t *rapid.T, i int, modes []vpav1.UpdateMode) VPA {
	target := rapid.IntRange(0, 1).Draw(t, "target")
	v := &vpav1.VerticalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: fmt.Sprintf("vpa-%d", i),
			CreationTimestamp: metav1.NewTime(bubble.Add(time.Duration(rapid.IntRange(-2, 0).Draw(t, "created")) * time.Hour))},
		Spec: vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{
			Kind: rapid.SampledFrom([]string{"Deployment", "Deployment", "Deployment", "StatefulSet", "DaemonSet", "Job", "Rollout", "ReplicaSet"}).Draw(t, "kind"), Name: fmt.Sprintf("web-%d", target)}},
	}
	if rapid.IntRange(0, 5).Draw(t, "policy") < 5 {
		mode := rapid.SampledFrom(modes).Draw(t, "mode")
		v.Spec.UpdatePolicy = &vpav1.PodUpdatePolicy{UpdateMode: &mode}
		if n := rapid.Int32Range(0, 4).Draw(t, "min replicas"); n > 0 {
			v.Spec.UpdatePolicy.MinReplicas = new(n - 1)
		}
		if s := rapid.Int32Range(0, 2).Draw(t, "OOM"); s > 0 {
			v.Spec.UpdatePolicy.EvictAfterOOMSeconds = new(s * 1800)
		}
		if rapid.IntRange(0, 5).Draw(t, "requires") == 5 {
			v.Spec.UpdatePolicy.EvictionRequirements = []*vpav1.EvictionRequirement{{
				Resources:         []corev1.ResourceName{rapid.SampledFrom([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}).Draw(t, "resource")},
				ChangeRequirement: rapid.SampledFrom([]vpav1.EvictionChangeRequirement{vpav1.TargetHigherThanRequests, vpav1.TargetLowerThanRequests}).Draw(t, "change"),
			}}
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "resource policy") > 0 {
		p := vpav1.ContainerResourcePolicy{ContainerName: rapid.SampledFrom([]string{"*", "app", "side"}).Draw(t, "of"),
			MinAllowed: drawList(t, "least"), MaxAllowed: drawList(t, "most")}
		if rapid.Bool().Draw(t, "requests only") {
			p.ControlledValues = new(vpav1.ContainerControlledValuesRequestsOnly)
		}
		if rapid.IntRange(0, 4).Draw(t, "off") == 4 {
			p.Mode = new(vpav1.ContainerScalingModeOff)
		}
		if rapid.IntRange(0, 2).Draw(t, "container boost") == 0 {
			p.StartupBoost = drawBoost(t)
		}
		v.Spec.ResourcePolicy = &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{p}}
	}
	if rapid.Bool().Draw(t, "boost") {
		v.Spec.StartupBoost = drawBoost(t)
	}
	if rapid.IntRange(0, 7).Draw(t, "not recommended") != 7 {
		v.Status.Recommendation = &vpav1.RecommendedPodResources{}
		for _, name := range rapid.SampledFrom([][]string{{"app"}, {"app", "side"}, {"side"}, {"app", "side", "other"}, {}}).Draw(t, "for") {
			v.Status.Recommendation.ContainerRecommendations = append(v.Status.Recommendation.ContainerRecommendations, vpav1.RecommendedContainerResources{
				ContainerName: name, Target: drawFull(t, "target"), LowerBound: drawFull(t, "lower"), UpperBound: drawFull(t, "upper"),
			})
		}
	}
	return VPA{v, rapid.SampledFrom([]labels.Selector{labels.Everything(), labels.Everything(), labels.Everything(), labels.Everything(), labels.SelectorFromSet(labels.Set{"app": "web"}), nil}).Draw(t, "selector")}
}

// drawBoost draws a start-up boost; most are ones that the API accepts.
func drawBoost(t *rapid.T) *vpav1.StartupBoost {
	b := &vpav1.GenericStartupBoost{Type: vpav1.FactorStartupBoostType}
	switch rapid.IntRange(0, 11).Draw(t, "kind of boost") {
	case 11:
		return &vpav1.StartupBoost{}
	case 10: // without a factor
	case 9:
		b.Type, b.Factor = "", new(int32(2))
	case 8:
		b.Type = rapid.SampledFrom([]vpav1.StartupBoostType{vpav1.QuantityStartupBoostType, "Other"}).Draw(t, "type")
	case 4, 5, 6, 7:
		b.Type, b.Quantity = vpav1.QuantityStartupBoostType, new(resource.MustParse(rapid.SampledFrom([]string{"1m", "250m", "2", "1500u"}).Draw(t, "more")))
	default:
		b.Factor = new(rapid.SampledFrom([]int32{1, 2, 3, 10, 2, 3, 0}).Draw(t, "factor"))
	}
	if s := rapid.SampledFrom([]int32{-1, 0, 30, 60, 360, 4000}).Draw(t, "lasts"); s >= 0 {
		b.DurationSeconds = &s
	}
	return &vpav1.StartupBoost{CPU: b}
}

// drawGates draws flags for the feature gates, and of the boost.
func drawGates(t *rapid.T) []string {
	return []string{
		fmt.Sprintf("feature-gates=PerVPAConfig=%v,InPlace=%v,CPUStartupBoost=%v", rapid.Bool().Draw(t, "per VPA"), rapid.IntRange(0, 3).Draw(t, "in place") > 0, rapid.IntRange(0, 3).Draw(t, "boosts") > 0),
		"max-allowed-cpu-boost=" + rapid.SampledFrom([]string{"0", "0", "500m", "3"}).Draw(t, "most boost"),
	}
}

// upstreamsGates sets the feature gates of the process, which upstream reads, to ours.
func upstreamsGates(t testing.TB, f Flags) {
	for gate, on := range map[featuregate.Feature]bool{features.PerVPAConfig: f.PerVPAConfig, features.InPlace: f.InPlace, features.CPUStartupBoost: f.CPUStartupBoost} {
		if err := features.MutableFeatureGate.Set(fmt.Sprintf("%s=%v", gate, on)); err != nil {
			t.Fatal(err)
		}
	}
}

// drawPod draws a pod of the controller, at some point of its life.
func drawPod(t *rapid.T, name string, owner Controller) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: name, UID: types.UID(name), Labels: map[string]string{"app": rapid.SampledFrom([]string{"web", "web", "web", "web", "web", "db"}).Draw(t, "app")},
			OwnerReferences: []metav1.OwnerReference{{Kind: owner.Kind, Name: owner.Name, Controller: new(true)}}},
		Spec:   corev1.PodSpec{NodeName: rapid.SampledFrom([]string{"node", "node", "node", "node", "node", "node", "node", "node", "node", ""}).Draw(t, "node")},
		Status: corev1.PodStatus{Phase: rapid.SampledFrom([]corev1.PodPhase{corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodFailed}).Draw(t, "phase")},
	}
	p.Spec.InitContainers = []corev1.Container{{Name: "sidecar", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		Resources: corev1.ResourceRequirements{Requests: drawList(t, "sidecar")}}}
	for _, container := range rapid.SampledFrom([][]string{{"app"}, {"app", "side"}, {"side", "app"}}).Draw(t, "containers") {
		c := corev1.Container{Name: container, Resources: corev1.ResourceRequirements{Requests: drawList(t, "requests"), Limits: drawList(t, "limits")}}
		switch rapid.IntRange(0, 9).Draw(t, "odd") {
		case 0:
			c.Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
		case 1:
			c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	return p
}

// drawStatus adds what the updater looks at of a pod that runs.
func drawStatus(t *rapid.T, p *corev1.Pod) {
	age := rapid.SampledFrom([]time.Duration{time.Minute, 11 * time.Hour, 13 * time.Hour}).Draw(t, "age")
	if rapid.IntRange(0, 9).Draw(t, "started") > 0 {
		p.Status.StartTime = new(metav1.NewTime(bubble.Add(-age)))
	}
	for _, c := range p.Spec.Containers {
		s := corev1.ContainerStatus{Name: c.Name}
		if rapid.IntRange(0, 4).Draw(t, "resources known") == 0 {
			s.Resources = &corev1.ResourceRequirements{Requests: drawList(t, "actual requests"), Limits: drawList(t, "actual limits")}
		}
		if rapid.IntRange(0, 3).Draw(t, "OOM") == 0 {
			lived := rapid.SampledFrom([]time.Duration{time.Minute, 20 * time.Minute}).Draw(t, "lived")
			finished := bubble.Add(-rapid.SampledFrom([]time.Duration{time.Minute, 20 * time.Minute, 2 * time.Hour}).Draw(t, "ago"))
			s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				Reason:    rapid.SampledFrom([]string{"OOMKilled", "OOMKilled", "Error"}).Draw(t, "reason"),
				StartedAt: metav1.NewTime(finished.Add(-lived)), FinishedAt: metav1.NewTime(finished),
			}
		}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
	}
	if rapid.IntRange(0, 5).Draw(t, "resizing") == 0 {
		p.Status.Conditions = append(p.Status.Conditions, rapid.SampledFrom([]corev1.PodCondition{
			{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred},
			{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible},
			{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: "Other"},
			{Type: corev1.PodResizePending, Status: corev1.ConditionFalse, Reason: corev1.PodReasonDeferred},
			{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue},
			{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, Reason: corev1.PodReasonError, Message: "failed"},
			{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, Message: "waiting"},
		}).Draw(t, "condition"))
	}
	if rapid.IntRange(0, 5).Draw(t, "observed") == 0 {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotations.VpaObservedContainersLabel, rapid.SampledFrom([]string{"app", "app, side", ""}).Draw(t, "names"))
	}
	if rapid.IntRange(0, 3).Draw(t, "readiness") > 0 {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady,
			Status:             rapid.SampledFrom([]corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse}).Draw(t, "ready"),
			LastTransitionTime: metav1.NewTime(bubble.Add(-rapid.SampledFrom([]time.Duration{0, 10 * time.Second, 5 * time.Minute}).Draw(t, "since")))})
	}
	for _, name := range []string{"app", "side", "gone"} {
		if rapid.IntRange(0, 3).Draw(t, "boosted") == 0 {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotations.GetStartupCPUBoostAnnotationKey(name), rapid.SampledFrom([]string{
				`{"requests":{"cpu":"300m"},"limits":{}}`, `{"requests":{"cpu":"300m","memory":"1Gi"},"limits":{"cpu":"1"}}`, `{"requests":{},"limits":{}}`, `{}`, "what"}).Draw(t, "original"))
		}
	}
	if rapid.IntRange(0, 12).Draw(t, "ends") == 7 {
		p.DeletionTimestamp = new(metav1.NewTime(bubble))
	}
}

// drawLimits draws limit ranges: of containers, of pods, of both, or none. One default at most: upstream takes any.
func drawLimits(t *rapid.T) []*corev1.LimitRange {
	var all []*corev1.LimitRange
	for i := range rapid.IntRange(0, 2).Draw(t, "limit ranges") {
		item := corev1.LimitRangeItem{
			Type: rapid.SampledFrom([]corev1.LimitType{corev1.LimitTypeContainer, corev1.LimitTypePod}).Draw(t, "type"),
			Min:  drawList(t, "min"), Max: drawList(t, "max"),
		}
		if i == 0 {
			item.Default = drawList(t, "default")
		}
		all = append(all, &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: fmt.Sprintf("limits-%d", i)},
			Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{item}}})
	}
	return all
}

// drawObjects draws a cluster: controllers of all kinds with pods, VPAs of those modes, limit ranges; pods and VPAs in order of names,
// in which we take them, and which upstream leaves to a map.
func drawObjects(t *rapid.T, modes []vpav1.UpdateMode) Objects {
	o := Objects{Controllers: map[Controller]ControllerState{}, LimitRanges: drawLimits(t)}
	var tops []Controller
	for i := range rapid.IntRange(1, 2).Draw(t, "controllers") {
		kind := rapid.SampledFrom([]string{"ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Rollout"}).Draw(t, "kind")
		owner := Controller{kind, "blue", fmt.Sprintf("web-%d", i)}
		top := owner
		var state ControllerState
		if kind == "ReplicaSet" {
			top.Kind, owner.Name = "Deployment", owner.Name+"-1"
			o.Controllers[top], state.Parent = ControllerState{}, &top
		}
		tops = append(tops, top)
		n := 8 - rapid.IntRange(0, 7).Draw(t, "fewer pods") // small numbers are drawn more often
		for n := range n {
			p := drawPod(t, fmt.Sprintf("%s-%d", owner.Name, n), owner)
			drawStatus(t, p)
			o.Pods = append(o.Pods, p)
			if p.Status.Phase == corev1.PodRunning && p.Spec.NodeName != "" && p.DeletionTimestamp == nil {
				state.Replicas++
			}
		}
		if rapid.IntRange(0, 2).Draw(t, "others") == 0 { // than are running
			state.Replicas = rapid.IntRange(0, 9).Draw(t, "replicas")
		}
		o.Controllers[owner] = state
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "VPAs") {
		v := drawVPA(t, i, modes)
		if rapid.IntRange(0, 5).Draw(t, "no target") < 5 {
			top := rapid.SampledFrom(tops).Draw(t, "target")
			v.Object.Spec.TargetRef = &autoscalingv1.CrossVersionObjectReference{Kind: top.Kind, Name: top.Name}
		}
		o.VPAs = append(o.VPAs, v)
	}
	slices.SortFunc(o.Pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return o
}
