package vpa

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/util"
)

// aggregateKey is what samples have in common that are counted together: namespace, container name and pod labels
// (upstream's recommender/model/aggregate_container_state.go).
type aggregateKey struct {
	namespace, container string
	labels               string // as labels.Set prints them, in order
}

func (k aggregateKey) compare(other aggregateKey) int {
	return cmp.Or(cmp.Compare(k.namespace, other.namespace), cmp.Compare(k.container, other.container), cmp.Compare(k.labels, other.labels))
}

// aggregate is the usage of all containers of a key.
type aggregate struct {
	*model.AggregateContainerState
	labels labels.Set
}

// newState is model.NewAggregateContainerState with this recommender's flags in place of the process's, and virtual time in place of
// the wall clock.
func (r *Recommender) newState() *model.AggregateContainerState {
	return &model.AggregateContainerState{
		AggregateCPUUsage:                 util.NewDecayingHistogram(r.histograms.CPUHistogramOptions, r.histograms.CPUHistogramDecayHalfLife),
		AggregateMemoryPeaks:              util.NewDecayingHistogram(r.histograms.MemoryHistogramOptions, r.histograms.MemoryHistogramDecayHalfLife),
		CreationTime:                      r.latest,
		OOMBumpUpRatio:                    r.histograms.OOMBumpUpRatio,
		OOMMinBumpUp:                      r.histograms.OOMMinBumpUp,
		MemoryAggregationIntervalDuration: r.histograms.MemoryAggregationIntervalDuration,
		MemoryAggregationIntervalCount:    r.histograms.MemoryAggregationIntervalCount,
	}
}

// aggregate finds the aggregate of a container of the pod, or creates it and links it with the VPAs that select the pod.
func (r *Recommender) aggregate(p *pod, container string) *aggregate {
	key := aggregateKey{p.id.Namespace, container, p.labelText}
	if a, ok := r.aggregates[key]; ok {
		return a
	}
	a := &aggregate{r.newState(), p.labels}
	r.aggregates[key] = a
	for _, id := range sortedKeys(r.vpas) {
		r.vpas[id].link(r, key, a)
	}
	return a
}

// usePolicy is AggregateContainerState.UpdateFromPolicy, which asks the process's feature gates, with this recommender's gate. As
// upstream, what a policy has set stays when it no longer says it.
func (r *Recommender) usePolicy(s *model.AggregateContainerState, policy *vpav1.ContainerResourcePolicy) {
	if policy == nil {
		s.UpdateFromPolicy(nil)
		return
	}
	gated := *policy
	gated.OOMBumpUpRatio, gated.OOMMinBumpUp = nil, nil
	gated.MemoryAggregationIntervalSeconds, gated.MemoryAggregationIntervalCount = nil, nil
	s.UpdateFromPolicy(&gated)
	if !r.flags.PerVPAConfig {
		return
	}
	if q := policy.OOMBumpUpRatio; q != nil {
		s.OOMBumpUpRatio = float64(q.MilliValue()) / 1000
	}
	if q := policy.OOMMinBumpUp; q != nil {
		s.OOMMinBumpUp = float64(q.MilliValue()) / 1000
	}
	if n := policy.MemoryAggregationIntervalSeconds; n != nil {
		s.MemoryAggregationIntervalDuration = time.Duration(*n) * time.Second
	}
	if n := policy.MemoryAggregationIntervalCount; n != nil {
		s.MemoryAggregationIntervalCount = *n
	}
}

// windowLength is how long samples are kept without new ones.
func windowLength(s *model.AggregateContainerState) time.Duration {
	return s.MemoryAggregationIntervalDuration * time.Duration(s.MemoryAggregationIntervalCount)
}

// source is where a container's samples are added: the aggregate of its pod's labels, created again where it was removed as expired.
type source struct {
	r         *Recommender
	pod       *pod
	container string
	// pinned is set once the labels of the pod have changed: from then on upstream keeps the aggregate of the new labels, even one
	// that was removed as expired (recommender/model/cluster.go, AddOrUpdatePod).
	pinned *aggregate
}

var _ model.ContainerStateAggregator = (*source)(nil)

func (s *source) current() *aggregate {
	if s.pinned != nil {
		return s.pinned
	}
	return s.r.aggregate(s.pod, s.container)
}

// NeedsRecommendation is asked at each sample, for upstream's metrics of quality, which are global to the process: nothing is added
// to them. As upstream, to ask creates the aggregate again, and with it a recommendation for the container.
func (s *source) NeedsRecommendation() bool {
	s.current()
	return false
}

// AddSample counts a sample.
func (s *source) AddSample(sample *model.ContainerUsageSample) { s.current().AddSample(sample) }

// SubtractSample takes a peak back that a higher one replaces.
func (s *source) SubtractSample(sample *model.ContainerUsageSample) {
	s.current().SubtractSample(sample)
}

// GetOOMBumpUpRatio is the memory needed after an OOM, as a ratio.
func (s *source) GetOOMBumpUpRatio() float64 { return s.current().GetOOMBumpUpRatio() }

// GetOOMMinBumpUp is the least memory that is added after an OOM, in bytes.
func (s *source) GetOOMMinBumpUp() float64 { return s.current().GetOOMMinBumpUp() }

// GetMemoryAggregationIntervalDuration is the time of one peak.
func (s *source) GetMemoryAggregationIntervalDuration() time.Duration {
	return s.current().GetMemoryAggregationIntervalDuration()
}

// GetLastRecommendation and GetUpdateMode are asked for upstream's metrics only, see NeedsRecommendation.
func (s *source) GetLastRecommendation() corev1.ResourceList {
	return s.current().GetLastRecommendation()
}

// GetUpdateMode is the mode of the VPA.
func (s *source) GetUpdateMode() *vpav1.UpdateMode { return s.current().GetUpdateMode() }
