package vpa

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/admission-controller/resource/pod/recommendation"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)

// limits are the limit ranges of each namespace as one, per type.
type limits map[limitsOf]*corev1.LimitRangeItem

type limitsOf struct {
	namespace string
	kind      corev1.LimitType
}

var _ limitrange.LimitRangeCalculator = limits(nil)

// newLimits combines limit ranges by the rule of upstream's utils/limitrange/limit_range_calculator.go: the lowest maximum, the highest
// minimum, the last default, here by name. Ratios are not looked at, as upstream.
func newLimits(all []*corev1.LimitRange) limits {
	l := limits{}
	inOrder := slices.SortedFunc(slices.Values(all), func(a, b *corev1.LimitRange) int { return cmp.Compare(a.Name, b.Name) })
	lower := func(a, b resource.Quantity) bool { return a.Cmp(b) < 0 }
	higher := func(a, b resource.Quantity) bool { return a.Cmp(b) > 0 }
	for _, r := range inOrder {
		for _, item := range r.Spec.Limits {
			if item.Max == nil && item.Min == nil && item.Default == nil {
				continue
			}
			key := limitsOf{r.Namespace, item.Type}
			if l[key] == nil {
				l[key] = &corev1.LimitRangeItem{Type: item.Type}
			}
			if item.Default != nil {
				l[key].Default = item.Default
			}
			l[key].Max = tighter(l[key].Max, item.Max, lower)
			l[key].Min = tighter(l[key].Min, item.Min, higher)
		}
	}
	return l
}

func tighter(known, more corev1.ResourceList, than func(a, b resource.Quantity) bool) corev1.ResourceList {
	if more == nil {
		return known
	}
	if known == nil {
		return more.DeepCopy()
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		q, ok := more[name]
		if was, has := known[name]; ok && (!has || than(q, was)) {
			known[name] = q
		}
	}
	return known
}

// GetContainerLimitRangeItem is what limits containers of the namespace, or nil.
func (l limits) GetContainerLimitRangeItem(namespace string) (*corev1.LimitRangeItem, error) {
	return l[limitsOf{namespace, corev1.LimitTypeContainer}], nil
}

// GetPodLimitRangeItem is what limits pods of the namespace, or nil.
func (l limits) GetPodLimitRangeItem(namespace string) (*corev1.LimitRangeItem, error) {
	return l[limitsOf{namespace, corev1.LimitTypePod}], nil
}

// provider computes the resources that a pod gets.
func (l limits) provider() recommendation.Provider {
	return recommendation.NewProvider(l, l.processor())
}

// processor adapts the recommendation of a VPA to a pod.
func (l limits) processor() vpautil.RecommendationProcessor {
	return processor{vpautil.NewCappingRecommendationProcessor(l)}
}

// processor returns an error where upstream's panics: it does so on a pod with a container without a recommendation in a namespace
// whose limit range of pods is exceeded (utils/vpa/capping.go, applyPodLimitRange). There its webhook fails, and the pod is admitted
// as it is, and its updater crashes, for which here the pod is left alone.
type processor struct {
	upstream vpautil.RecommendationProcessor
}

// Apply returns the recommendation for the pod, and what was changed per container.
func (p processor) Apply(vpa *vpav1.VerticalPodAutoscaler, pod *corev1.Pod) (r *vpav1.RecommendedPodResources, why vpautil.ContainerToAnnotationsMap, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			r, why, err = nil, nil, fmt.Errorf("recommendation of VPA %s/%s for pod %s/%s: %v", vpa.Namespace, vpa.Name, pod.Namespace, pod.Name, reason)
		}
	}()
	return p.upstream.Apply(vpa, pod)
}
