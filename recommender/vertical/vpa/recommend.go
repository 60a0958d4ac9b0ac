package vpa

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/input"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
)

// Recommendation is what the recommender writes of one VPA.
type Recommendation struct {
	VPA types.NamespacedName
	// Status is the status of the object: per container in name order the target, bounds and target before policies; and
	// conditions, which change at virtual instants. Write it back before the object is handed to SetVPA again.
	Status vpav1.VerticalPodAutoscalerStatus
	// Pods is how many tracked pods the VPA selects.
	Pods int
}

// autoscaler is a VPA and the usage it selects.
type autoscaler struct {
	object     *vpav1.VerticalPodAutoscaler
	selector   labels.Selector
	aggregates map[aggregateKey]*aggregate
	// initial is what was loaded from checkpoints, by container.
	initial map[string]*model.AggregateContainerState
}

// SetVPA adds a VPA or what changed of it, with the selector of its target's pods (nil: the target has none, nothing is selected).
// A VPA of another recommender or of a namespace that is not looked at is removed. With another selector it begins again, without
// what was loaded from checkpoints, as upstream. The object is copied.
func (r *Recommender) SetVPA(object *vpav1.VerticalPodAutoscaler, selector labels.Selector) {
	id := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	if !r.flags.recommends(object) {
		r.RemoveVPA(id)
		return
	}
	if selector == nil {
		selector = labels.Nothing()
	}
	v := r.vpas[id]
	if v != nil && v.selector.String() != selector.String() {
		r.RemoveVPA(id)
		v = nil
	}
	if v == nil {
		v = &autoscaler{selector: selector, aggregates: map[aggregateKey]*aggregate{}, initial: map[string]*model.AggregateContainerState{}}
		r.vpas[id] = v
	}
	v.object = object.DeepCopy()
	for key, a := range r.aggregates {
		v.link(r, key, a)
	}
	for key, a := range v.aggregates {
		r.usePolicy(a.AggregateContainerState, v.policy(key.container))
	}
}

// RemoveVPA ends a VPA, and what was loaded from its checkpoints.
func (r *Recommender) RemoveVPA(id types.NamespacedName) {
	v := r.vpas[id]
	if v == nil {
		return
	}
	for key := range v.aggregates {
		v.unlink(key)
	}
	delete(r.vpas, id)
}

// recommends says whether the VPA is of this recommender (recommender/input/cluster_feeder.go, filterVPAs).
func (f Flags) recommends(object *vpav1.VerticalPodAutoscaler) bool {
	named := slices.ContainsFunc(object.Spec.Recommenders, func(s *vpav1.VerticalPodAutoscalerRecommenderSelector) bool {
		return s.Name == f.RecommenderName
	})
	byDefault := f.RecommenderName == input.DefaultRecommenderName && len(object.Spec.Recommenders) == 0
	return (named || byDefault) && f.looksAt(object.Namespace)
}

func (v *autoscaler) selects(namespace string, set labels.Set) bool {
	return vpautil.PodLabelsMatchVPA(namespace, set, v.object.Namespace, v.selector)
}

func (v *autoscaler) policy(container string) *vpav1.ContainerResourcePolicy {
	return vpautil.GetContainerResourcePolicy(container, v.object.Spec.ResourcePolicy)
}

func (v *autoscaler) link(r *Recommender, key aggregateKey, a *aggregate) {
	if v.aggregates[key] != nil || !v.selects(key.namespace, a.labels) {
		return
	}
	v.aggregates[key] = a
	r.usePolicy(a.AggregateContainerState, v.policy(key.container))
}

func (v *autoscaler) unlink(key aggregateKey) {
	if a := v.aggregates[key]; a != nil {
		a.MarkNotAutoscaled()
		delete(v.aggregates, key)
	}
}

// merged is the usage per container name: that of all label sets and what was loaded. Sums are made in order, so that the last bits
// of weights are the same each time (upstream's routines.GetContainerNameToAggregateStateMap follows a map).
func (r *Recommender) merged(v *autoscaler) model.ContainerNameToAggregateStateMap {
	all := model.ContainerNameToAggregateStateMap{}
	add := func(container string, s *model.AggregateContainerState) {
		if all[container] == nil {
			all[container] = r.newState()
		}
		all[container].MergeContainerState(s)
	}
	for _, key := range sortedKeys(v.aggregates) {
		add(key.container, v.aggregates[key].AggregateContainerState)
	}
	for _, container := range sortedKeys(v.initial) {
		add(container, v.initial[container])
	}
	return all
}

// Recommend computes what each VPA recommends, in order of namespaces and names.
func (r *Recommender) Recommend(now time.Time) []Recommendation {
	r.saw(now)
	pods := map[types.NamespacedName]int{}
	for _, p := range r.pods {
		for id, v := range r.vpas {
			if v.selects(p.id.Namespace, p.labels) {
				pods[id]++
			}
		}
	}
	var all []Recommendation
	for _, id := range sortedKeys(r.vpas) {
		v := r.vpas[id]
		v.object.Status = r.status(v, pods[id], now)
		all = append(all, Recommendation{VPA: id, Status: *v.object.Status.DeepCopy(), Pods: pods[id]})
	}
	return all
}

func (r *Recommender) status(v *autoscaler, pods int, now time.Time) vpav1.VerticalPodAutoscalerStatus {
	usage := r.merged(v)
	for container, s := range usage {
		policy := v.policy(container)
		if policy != nil && policy.Mode != nil && *policy.Mode == vpav1.ContainerScalingModeOff {
			delete(usage, container)
			continue
		}
		r.usePolicy(s, policy)
	}
	resources := logic.MapToListOfRecommendedContainerResources(r.estimate.GetRecommendedPodResources(usage), r.flags.Format)
	for _, p := range r.postProcessors {
		resources = p.Process(v.object, resources)
	}
	generation := v.object.Generation
	return vpav1.VerticalPodAutoscalerStatus{
		Recommendation:     resources,
		Conditions:         Conditions(v.object.Status.Conditions, len(resources.ContainerRecommendations) > 0, pods > 0, now),
		ObservedGeneration: &generation,
	}
}

// Conditions are those of the object with the two that the recommender keeps (recommender/model/vpa.go, updateConditionsLocked), in
// order of their types. An instant of transition is virtual.
func Conditions(old []vpav1.VerticalPodAutoscalerCondition, provided, matched bool, now time.Time) []vpav1.VerticalPodAutoscalerCondition {
	kept := slices.DeleteFunc(slices.Clone(old), func(c vpav1.VerticalPodAutoscalerCondition) bool {
		return c.Type == vpav1.RecommendationProvided || c.Type == vpav1.NoPodsMatched
	})
	set := func(kind vpav1.VerticalPodAutoscalerConditionType, status corev1.ConditionStatus, reason, message string) {
		c := vpav1.VerticalPodAutoscalerCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now)}
		for _, was := range old {
			if was.Type == kind && was.Status == status {
				c.LastTransitionTime = was.LastTransitionTime
			}
		}
		kept = append(kept, c)
	}
	var reason, message string
	if !matched {
		reason, message = "NoPodsMatched", "No pods match this VPA object"
		set(vpav1.NoPodsMatched, corev1.ConditionTrue, reason, message)
	}
	if provided {
		set(vpav1.RecommendationProvided, corev1.ConditionTrue, "", "")
	} else {
		set(vpav1.RecommendationProvided, corev1.ConditionFalse, reason, message)
	}
	slices.SortFunc(kept, func(a, b vpav1.VerticalPodAutoscalerCondition) int { return cmp.Compare(a.Type, b.Type) })
	return kept
}

// Checkpoints are the histories of all VPAs as upstream stores them, in order of VPAs and containers; peaks of memory of intervals
// that have not ended are left out, as upstream, so that an interval has one peak after it was loaded. Weights are rounded to 1/10000
// of the largest, and weights below that are lost.
func (r *Recommender) Checkpoints(now time.Time) ([]*vpav1.VerticalPodAutoscalerCheckpoint, error) {
	r.saw(now)
	var all []*vpav1.VerticalPodAutoscalerCheckpoint
	for _, id := range sortedKeys(r.vpas) {
		v := r.vpas[id]
		usage := r.merged(v)
		for _, podID := range sortedKeys(r.pods) {
			p := r.pods[podID]
			for name, c := range p.containers {
				s := usage[name]
				if s == nil || v.aggregates[aggregateKey{podID.Namespace, name, p.labelText}] == nil || !now.Before(c.WindowEnd) {
					continue
				}
				s.AggregateMemoryPeaks.SubtractSample(model.BytesFromMemoryAmount(c.GetMaxMemoryPeak()), 1, c.WindowEnd)
			}
		}
		for _, name := range sortedKeys(usage) {
			status, err := usage[name].SaveToCheckpoint()
			if err != nil {
				return nil, fmt.Errorf("checkpoint of container %s of VPA %s: %w", name, id, err)
			}
			status.LastUpdateTime = metav1.NewTime(now) // upstream's is the wall clock's
			all = append(all, &vpav1.VerticalPodAutoscalerCheckpoint{
				ObjectMeta: metav1.ObjectMeta{Namespace: id.Namespace, Name: id.Name + "-" + name},
				Spec:       vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: id.Name, ContainerName: name},
				Status:     *status,
			})
		}
	}
	return all, nil
}

// LoadCheckpoint adds a stored history to the VPA it is of, which must be set; it replaces one that was loaded before for the container.
func (r *Recommender) LoadCheckpoint(c *vpav1.VerticalPodAutoscalerCheckpoint) error {
	id := types.NamespacedName{Namespace: c.Namespace, Name: c.Spec.VPAObjectName}
	v := r.vpas[id]
	if v == nil {
		return fmt.Errorf("checkpoint %s/%s: there is no VPA %s", c.Namespace, c.Name, id)
	}
	s := r.newState()
	if err := s.LoadFromCheckpoint(&c.Status); err != nil {
		return fmt.Errorf("checkpoint %s/%s: %w", c.Namespace, c.Name, err)
	}
	v.initial[c.Spec.ContainerName] = s
	return nil
}
