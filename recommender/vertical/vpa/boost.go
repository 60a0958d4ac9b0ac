package vpa

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/annotations"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)

// BoostEnds: the pod has been Ready for as long as its start-up boost lasts. Such a resize has no ResourceDiff and no ScaleUp.
const BoostEnds Reason = "the start-up boost ends"

// Boosts says whether a VPA boosts pods at their start under these flags, which it does whatever its mode is.
func (f Flags) Boosts(v *vpav1.VerticalPodAutoscaler) bool {
	return f.CPUStartupBoost && vpautil.HasStartupBoost(v)
}

// boost raises the CPU of what a new container gets (admission-controller/resource/pod/patch/resource_updates.go, applyCPUStartupBoost), and
// notes in the annotations of its pod what it asked for itself. The error says what is wrong with the boost: upstream's webhook fails on
// the whole pod then, and panics where spec.startupBoost has no CPU.
func (f Flags) boost(p *corev1.Pod, c *corev1.Container, v *vpav1.VerticalPodAutoscaler, r *vpautil.ContainerResources) error {
	b := v.Spec.StartupBoost
	if policy := vpautil.GetContainerResourcePolicy(c.Name, v.Spec.ResourcePolicy); policy != nil && policy.StartupBoost != nil {
		b = policy.StartupBoost
	}
	if b == nil {
		return nil
	}
	base := r.Requests[corev1.ResourceCPU]
	if base.IsZero() {
		base = c.Resources.Requests[corev1.ResourceCPU]
	}
	boosted, err := f.boosted(base, b.CPU)
	if err != nil {
		return fmt.Errorf("start-up boost of container %s by VPA %s/%s: %w", c.Name, v.Namespace, v.Name, err)
	}
	r.Requests = added(maps.Clone(r.Requests), r.Requests, corev1.ResourceList{corev1.ResourceCPU: boosted})
	switch limit, limited := c.Resources.Limits[corev1.ResourceCPU]; vpautil.GetContainerControlledValues(c.Name, v.Spec.ResourcePolicy) {
	case vpav1.ContainerControlledValuesRequestsOnly:
		if limited && boosted.MilliValue() > limit.MilliValue() {
			r.Requests[corev1.ResourceCPU] = below(limit)
		}
	case vpav1.ContainerControlledValuesRequestsAndLimits:
		proportional, _ := vpautil.GetProportionalLimit(c.Resources.Limits, c.Resources.Requests, corev1.ResourceList{corev1.ResourceCPU: boosted}, corev1.ResourceList{})
		if limit, ok := proportional[corev1.ResourceCPU]; ok {
			r.Limits = added(maps.Clone(r.Limits), r.Limits, corev1.ResourceList{corev1.ResourceCPU: limit})
		}
	}
	original, err := annotations.GetOriginalResourcesAnnotationValue(c)
	if err != nil {
		return fmt.Errorf("resources of container %s: %w", c.Name, err)
	}
	p.Annotations[annotations.GetStartupCPUBoostAnnotationKey(c.Name)] = original
	return nil
}

// below is a millicore less than a limit, so that the boost makes no pod Guaranteed; of a limit of a millicore all of it.
func below(limit resource.Quantity) resource.Quantity {
	q, least := limit.DeepCopy(), resource.MustParse("1m")
	if q.Cmp(least) > 0 {
		q.Sub(least)
	}
	return q
}

// boosted is a CPU request with its boost, at most --max-allowed-cpu-boost, which may be less than the request.
func (f Flags) boosted(base resource.Quantity, b *vpav1.GenericStartupBoost) (resource.Quantity, error) {
	if b == nil {
		return base, errors.New("startupBoost.cpu is missing")
	}
	var milli int64
	switch b.Type {
	case vpav1.FactorStartupBoostType, "":
		if b.Factor == nil || *b.Factor < 1 {
			return base, errors.New("startupBoost.cpu.factor: want 1 or more")
		}
		milli = int64(float64(base.MilliValue()) * float64(*b.Factor))
	case vpav1.QuantityStartupBoostType:
		if b.Quantity == nil {
			return base, errors.New("startupBoost.cpu.quantity is missing")
		}
		milli = base.MilliValue() + b.Quantity.MilliValue()
	default:
		return base, fmt.Errorf("startupBoost.cpu.type %q: want %s or %s", b.Type, vpav1.FactorStartupBoostType, vpav1.QuantityStartupBoostType)
	}
	q := *resource.NewMilliQuantity(milli, resource.DecimalSI)
	if most := f.MaxAllowedCPUBoost.Quantity; !most.IsZero() && q.Cmp(most) > 0 {
		return most.DeepCopy(), nil
	}
	return q, nil
}

// ended are the annotations of boosts that have lasted long enough, sorted: the pod has been Ready for longer than their duration, or is
// Ready where that is none (utils/vpa/api.go, GetExpiredStartupCPUBoostAnnotations, which reads the wall clock). They end without the
// feature gate, too: upstream looks at it only before it acts for a boost alone.
func ended(now time.Time, p *corev1.Pod, v *vpav1.VerticalPodAutoscaler) []string {
	_, ready := vpautil.GetPodCondition(&p.Status, corev1.PodReady)
	if ready == nil || ready.Status != corev1.ConditionTrue {
		return nil
	}
	var keys []string
	for key := range p.Annotations {
		container, is := strings.CutPrefix(key, annotations.StartupCPUBoostAnnotationPrefix)
		if d := lasts(container, v); is && (d == 0 || now.Sub(ready.LastTransitionTime.Time) > d) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// lasts is for how long a container that is Ready stays boosted: as its policy says, else as the VPA does, else not at all.
func lasts(container string, v *vpav1.VerticalPodAutoscaler) time.Duration {
	var seconds int32
	boosts := []*vpav1.StartupBoost{v.Spec.StartupBoost}
	if policy := vpautil.GetContainerResourcePolicy(container, v.Spec.ResourcePolicy); policy != nil {
		boosts = append(boosts, policy.StartupBoost)
	}
	for _, b := range boosts {
		if b != nil && b.CPU != nil && b.CPU.DurationSeconds != nil {
			seconds = *b.CPU.DurationSeconds
		}
	}
	return time.Duration(seconds) * time.Second
}

// unboosted is what a container gets when its boost ends: what is recommended, else what it asked for itself
// (updater/inplace/resource_updates.go, getContainerResourcesForUnboost). What it did not ask for itself is not taken away.
func unboosted(p *corev1.Pod, container string, recommended vpautil.ContainerResources) (vpautil.ContainerResources, error) {
	original, err := annotations.GetOriginalResourcesFromAnnotation(p, container)
	if err != nil {
		return vpautil.ContainerResources{}, fmt.Errorf("annotation %s of pod %s/%s: %w", annotations.GetStartupCPUBoostAnnotationKey(container), p.Namespace, p.Name, err)
	}
	if original != nil && len(recommended.Requests)+len(recommended.Limits) == 0 {
		return vpautil.ContainerResources{Requests: original.Requests, Limits: original.Limits}, nil
	}
	return recommended, nil
}

// unboost ends the boosts of the pods that have had theirs, in place and whatever the mode is, and returns the pods that had none when the
// turn began: only those are updated otherwise (updater/logic/updater.go, RunOnce).
func (t *turn) unboost(pods []*corev1.Pod) (others []*corev1.Pod) {
	if !t.updater.flags.Boosts(t.vpa) {
		return pods
	}
	for _, p := range pods {
		if !vpautil.PodHasCPUBoostInProgressAnnotation(p) {
			others = append(others, p)
		}
		if len(ended(t.now, p, t.vpa)) == 0 || !t.restriction.mayUnboost(p) {
			continue
		}
		a := Action{VPA: t.name(), Pod: p, Kind: Resize, Reason: BoostEnds}
		if a.Resources, a.Ended, a.Err = t.target(p); a.Err != nil {
			t.done = append(t.done, a) // upstream logs it, and the boost stays
		} else if t.act(a) {
			t.restriction.group(p).resized++
		}
	}
	return others
}

// mayUnboost is upstream's CanUnboost (updater/restriction/pods_inplace_restriction.go), of a pod with a boost that has ended.
func (r *restrictions) mayUnboost(p *corev1.Pod) bool {
	g := r.group(p)
	return g != nil && p.Status.Phase != corev1.PodPending && !resizing(p) && g.mayDisrupt()
}
