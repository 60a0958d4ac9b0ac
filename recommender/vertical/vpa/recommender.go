package vpa

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/routines"
)

// Recommender is upstream's recommender over objects and samples that are handed to it. The instants of its methods must not go
// back. It has no locks.
type Recommender struct {
	flags          Flags
	histograms     *model.AggregationsConfig
	estimate       logic.PodResourceRecommender
	postProcessors []routines.RecommendationPostProcessor

	vpas       map[types.NamespacedName]*autoscaler
	pods       map[types.NamespacedName]*pod
	aggregates map[aggregateKey]*aggregate
	// latest is the last instant that any method was given, lastGC that of the last garbage collection.
	latest, lastGC time.Time
}

// pod is a pod that is tracked.
type pod struct {
	id         types.NamespacedName
	labels     labels.Set
	labelText  string
	active     bool // neither Succeeded nor Failed
	containers map[string]*container
	init       []string
}

// container has the window of one container: its last samples and the peak of its interval.
type container struct {
	*model.ContainerState
	source *source
}

// NewRecommender returns a recommender without history. The error says which flags have values that upstream would compute nonsense with.
func NewRecommender(flags Flags) (*Recommender, error) {
	if err := flags.check(); err != nil {
		return nil, err
	}
	r := &Recommender{
		flags: flags,
		histograms: model.NewAggregationsConfig(flags.MemoryAggregationInterval, flags.MemoryAggregationIntervalCount,
			flags.MemoryHalfLife, flags.CPUHalfLife, flags.OOMBumpUpRatio, flags.OOMMinBumpUpBytes),
		estimate:   logic.CreatePodResourceRecommender(flags.Estimation),
		vpas:       map[types.NamespacedName]*autoscaler{},
		pods:       map[types.NamespacedName]*pod{},
		aggregates: map[aggregateKey]*aggregate{},
		lastGC:     time.Unix(0, 0), // as upstream's: the first turn collects
	}
	// The order of upstream's recommender/routines/recommender_controller.go.
	if flags.CPUInteger {
		r.postProcessors = append(r.postProcessors, &routines.IntegerCPUPostProcessor{})
	}
	r.postProcessors = append(r.postProcessors, routines.NewCappingRecommendationProcessor(flags.maxAllowed()))
	return r, nil
}

// SetPod adds a pod or what changed of it. A pending pod has no usage and is not tracked.
func (r *Recommender) SetPod(object *corev1.Pod, now time.Time) {
	r.saw(now)
	id := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	if object.Status.Phase == corev1.PodPending {
		r.RemovePod(id)
		return
	}
	set := labels.Set(maps.Clone(object.Labels))
	if r.flags.MemorySaver && !r.selected(id.Namespace, set) {
		return
	}
	text := set.String()
	p, known := r.pods[id]
	if !known {
		p = &pod{id: id, containers: map[string]*container{}}
		r.pods[id] = p
	}
	moved := known && p.labelText != text
	p.labels, p.labelText = set, text
	p.active = object.Status.Phase != corev1.PodSucceeded && object.Status.Phase != corev1.PodFailed
	if moved {
		for _, name := range sortedKeys(p.containers) {
			p.containers[name].source.pinned = r.aggregate(p, name)
		}
	}
	for _, c := range object.Spec.Containers {
		if p.containers[c.Name] != nil {
			continue
		}
		r.aggregate(p, c.Name)
		s := &source{r: r, pod: p, container: c.Name}
		p.containers[c.Name] = &container{model.NewContainerState(nil, s), s}
	}
	p.init = nil
	for _, c := range object.Spec.InitContainers {
		p.init = append(p.init, c.Name)
	}
}

// RemovePod ends a pod; its usage stays in the history.
func (r *Recommender) RemovePod(id types.NamespacedName) { delete(r.pods, id) }

// Observe adds what a container used at an instant: CPU is an average in cores, rounded up to millicores, and memory a working set
// in bytes, as the metrics API says it. A resource that is absent is not observed. Usage of init containers counts for nothing, as
// upstream. An error says that the container is unknown or that upstream discards the sample: it is negative, or not after the last one.
func (r *Recommender) Observe(podID types.NamespacedName, name string, at time.Time, usage corev1.ResourceList) error {
	p := r.pods[podID]
	if p != nil && slices.Contains(p.init, name) {
		return nil
	}
	c, err := r.container(podID, name)
	if err != nil {
		return err
	}
	r.saw(at)
	var errs []error
	add := func(kind model.ResourceName, amount int64) {
		if !c.AddSample(&model.ContainerUsageSample{MeasureStart: at, Resource: kind, Usage: model.ResourceAmount(amount)}) {
			errs = append(errs, fmt.Errorf("%s of container %s of pod %s at %s: sample discarded: negative or not after the last one",
				kind, name, podID, at.UTC().Format(time.RFC3339Nano)))
		}
	}
	if q, ok := usage[corev1.ResourceCPU]; ok {
		add(model.ResourceCPU, q.MilliValue())
	}
	if q, ok := usage[corev1.ResourceMemory]; ok {
		add(model.ResourceMemory, q.Value())
	}
	return errors.Join(errs...)
}

// OOM adds that a container ran out of memory when it had requested so much (zero: nothing). An error says that the container is
// unknown, or that the OOM is older than the memory interval of the last sample, which upstream discards.
func (r *Recommender) OOM(podID types.NamespacedName, name string, at time.Time, requested resource.Quantity) error {
	c, err := r.container(podID, name)
	if err != nil {
		return err
	}
	r.saw(at)
	if err := c.RecordOOM(at, model.ResourceAmount(requested.Value())); err != nil {
		return fmt.Errorf("OOM of container %s of pod %s: %w", name, podID, err)
	}
	return nil
}

func (r *Recommender) container(podID types.NamespacedName, name string) (*container, error) {
	p := r.pods[podID]
	if p == nil {
		return nil, fmt.Errorf("pod %s is not tracked", podID)
	}
	c := p.containers[name]
	if c == nil {
		return nil, fmt.Errorf("pod %s has no container %s", podID, name)
	}
	return c, nil
}

func (r *Recommender) saw(at time.Time) {
	if at.After(r.latest) {
		r.latest = at
	}
}

// GarbageCollect forgets usage at most once an hour, by upstream's rule: usage without new samples for the memory intervals that are
// kept, and what has no sample of CPU and neither a live pod nor a target. targetExists says whether the target of a VPA exists.
func (r *Recommender) GarbageCollect(now time.Time, targetExists func(*vpav1.VerticalPodAutoscaler) bool) {
	r.saw(now)
	if now.Sub(r.lastGC) < gcInterval {
		return
	}
	r.lastGC = now
	wanted := map[aggregateKey]bool{}
	for _, p := range r.pods {
		if !p.active && !r.hasTarget(p, targetExists) {
			continue
		}
		for name := range p.containers {
			wanted[aggregateKey{p.id.Namespace, name, p.labelText}] = true
		}
	}
	maps.DeleteFunc(r.aggregates, func(key aggregateKey, a *aggregate) bool {
		gone := now.Sub(a.LastSampleStart) >= windowLength(a.AggregateContainerState)
		if a.TotalSamplesCount == 0 {
			gone = !wanted[key] || now.Sub(a.CreationTime) >= windowLength(a.AggregateContainerState)
		}
		if gone {
			for _, v := range r.vpas {
				v.unlink(key)
			}
		}
		return gone
	})
}

// gcInterval is upstream's (recommender/routines/recommender_controller.go, aggregateContainerStateGCInterval).
const gcInterval = time.Hour

// hasTarget says whether the first VPA that selects the pod has a target. Where several select it, upstream takes any.
func (r *Recommender) hasTarget(p *pod, targetExists func(*vpav1.VerticalPodAutoscaler) bool) bool {
	for _, id := range sortedKeys(r.vpas) {
		if v := r.vpas[id]; v.selects(p.id.Namespace, p.labels) {
			return v.object.Spec.TargetRef != nil && targetExists(v.object)
		}
	}
	return false
}

func (r *Recommender) selected(namespace string, set labels.Set) bool {
	for _, v := range r.vpas {
		if v.selects(namespace, set) {
			return true
		}
	}
	return false
}

// sortedKeys are the keys of a map in order: names by namespace first.
func sortedKeys[K interface{ comparable }, V any](m map[K]V) []K {
	return slices.SortedFunc(maps.Keys(m), func(a, b K) int { return compareKeys(a, b) })
}

func compareKeys[K comparable](a, b K) int {
	switch a := any(a).(type) {
	case string:
		return cmp.Compare(a, any(b).(string))
	case aggregateKey:
		return a.compare(any(b).(aggregateKey))
	case types.NamespacedName:
		b := any(b).(types.NamespacedName)
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	panic(fmt.Sprintf("no order of %T", a))
}
