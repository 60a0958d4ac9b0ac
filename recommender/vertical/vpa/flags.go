package vpa

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	recommenderconfig "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/config"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	updaterconfig "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/config"
)

// Flags are the command line flags of upstream's recommender, updater and admission controller that decide what they do. The names
// are those of ParseFlags. The zero value is of no use: start with DefaultFlags.
type Flags struct {
	// RecommenderName selects VPAs by spec.recommenders; "default" also takes those that name none.
	RecommenderName string
	// RecommenderInterval and UpdaterInterval are for the caller, who decides when to ask.
	RecommenderInterval, UpdaterInterval time.Duration
	// MemorySaver leaves out pods that no VPA selects, so that a VPA created later finds no history of them.
	MemorySaver bool
	// VPANamespace, where set, is the only namespace that is looked at; IgnoredNamespaces are separated by commas.
	VPANamespace, IgnoredNamespaces string

	// Estimation has percentiles, margin, confidence intervals and the least that is recommended for a pod.
	Estimation logic.RecommendationConfig
	// Format says how recommendations are rounded.
	Format logic.RecommendationFormat
	// MemoryAggregationInterval is the time of which the peak of memory is one sample; so many of them are kept.
	MemoryAggregationInterval      time.Duration
	MemoryAggregationIntervalCount int64
	// MemoryHalfLife and CPUHalfLife are how long it takes a sample to lose half of its weight.
	MemoryHalfLife, CPUHalfLife time.Duration
	// OOMBumpUpRatio and OOMMinBumpUpBytes say how much more memory than at an OOM is taken for needed: whichever is more.
	OOMBumpUpRatio, OOMMinBumpUpBytes float64
	// CPUInteger turns the post-processor on that rounds CPU up to whole cores for VPAs with its annotation.
	CPUInteger bool
	// MaxAllowedCPU and MaxAllowedMemory cap containers of VPAs without a maximum of their own; zero is none.
	MaxAllowedCPU, MaxAllowedMemory resource.QuantityValue

	// MinReplicas is how many live pods an owner needs for the updater to touch one, unless the VPA says how many.
	MinReplicas int
	// EvictionTolerance is the fraction of the configured replicas that may be away at once.
	EvictionTolerance float64
	// InPlaceSkipDisruptionBudget resizes in place without looking at replicas, where no container restarts for it.
	InPlaceSkipDisruptionBudget bool
	// UpdateThreshold is the least relative change for which a pod within its bounds is updated, once it is PodLifetime old.
	UpdateThreshold float64
	PodLifetime     time.Duration
	// EvictAfterOOM is within what time of its start an OOM counts as a quick one, and for how long after.
	EvictAfterOOM time.Duration

	// MaxAllowedCPUBoost caps the CPU of containers with a start-up boost; zero is no cap.
	MaxAllowedCPUBoost resource.QuantityValue

	// PerVPAConfig, InPlace and CPUStartupBoost are upstream's feature gates of these names, off by default.
	PerVPAConfig, InPlace, CPUStartupBoost bool
}

// DefaultFlags are upstream's defaults, which it exports.
func DefaultFlags() Flags {
	r, u := recommenderconfig.DefaultRecommenderConfig(), updaterconfig.DefaultUpdaterConfig()
	return Flags{
		RecommenderName: r.RecommenderName, RecommenderInterval: r.MetricsFetcherInterval, MemorySaver: r.MemorySaver,
		VPANamespace: r.CommonFlags.VpaObjectNamespace, IgnoredNamespaces: r.CommonFlags.IgnoredVpaObjectNamespaces,
		Estimation: logic.RecommendationConfig{
			SafetyMarginFraction: r.SafetyMarginFraction, PodMinCPUMillicores: r.PodMinCPUMillicores, PodMinMemoryMb: r.PodMinMemoryMb,
			TargetCPUPercentile: r.TargetCPUPercentile, LowerBoundCPUPercentile: r.LowerBoundCPUPercentile,
			UpperBoundCPUPercentile: r.UpperBoundCPUPercentile, ConfidenceIntervalCPU: r.ConfidenceIntervalCPU,
			TargetMemoryPercentile: r.TargetMemoryPercentile, LowerBoundMemoryPercentile: r.LowerBoundMemoryPercentile,
			UpperBoundMemoryPercentile: r.UpperBoundMemoryPercentile, ConfidenceIntervalMemory: r.ConfidenceIntervalMemory,
		},
		Format: logic.RecommendationFormat{
			HumanizeMemory: r.HumanizeMemory, RoundCPUMillicores: r.RoundCPUMillicores, RoundMemoryBytes: r.RoundMemoryBytes,
		},
		MemoryAggregationInterval: r.MemoryAggregationInterval, MemoryAggregationIntervalCount: r.MemoryAggregationIntervalCount,
		MemoryHalfLife: r.MemoryHistogramDecayHalfLife, CPUHalfLife: r.CpuHistogramDecayHalfLife,
		OOMBumpUpRatio: r.OOMBumpUpRatio, OOMMinBumpUpBytes: r.OOMMinBumpUp,
		CPUInteger: r.PostProcessorCPUasInteger, MaxAllowedCPU: r.MaxAllowedCPU, MaxAllowedMemory: r.MaxAllowedMemory,
		UpdaterInterval: u.UpdaterInterval, MinReplicas: u.MinReplicas, EvictionTolerance: u.EvictionToleranceFraction,
		InPlaceSkipDisruptionBudget: u.InPlaceSkipDisruptionBudget, UpdateThreshold: u.DefaultUpdateThreshold,
		PodLifetime: u.PodLifetimeUpdateThreshold, EvictAfterOOM: u.EvictAfterOOMThreshold,
	}
}

// maxHalfLife keeps 100 half-lives within a time.Duration: upstream's histograms compute that (util/decaying_histogram.go).
const maxHalfLife = 1000 * 24 * time.Hour

// check says which values upstream would compute nonsense with, or divide by; it accepts them.
func (f Flags) check() error {
	var errs []error
	want := func(ok bool, name string, value any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("--%s=%v: want %s", name, value, want))
		}
	}
	e := f.Estimation
	for _, p := range []struct {
		name  string
		value float64
	}{
		{"target-cpu-percentile", e.TargetCPUPercentile},
		{"recommendation-lower-bound-cpu-percentile", e.LowerBoundCPUPercentile},
		{"recommendation-upper-bound-cpu-percentile", e.UpperBoundCPUPercentile},
		{"target-memory-percentile", e.TargetMemoryPercentile},
		{"recommendation-lower-bound-memory-percentile", e.LowerBoundMemoryPercentile},
		{"recommendation-upper-bound-memory-percentile", e.UpperBoundMemoryPercentile},
		{"eviction-tolerance", f.EvictionTolerance},
	} {
		want(p.value >= 0 && p.value <= 1, p.name, p.value, "0 to 1")
	}
	for _, p := range []struct {
		name  string
		value time.Duration
		most  time.Duration
	}{
		{"recommender-interval", f.RecommenderInterval, 0},
		{"updater-interval", f.UpdaterInterval, 0},
		{"confidence-interval-cpu", e.ConfidenceIntervalCPU, 0},
		{"confidence-interval-memory", e.ConfidenceIntervalMemory, 0},
		{"memory-aggregation-interval", f.MemoryAggregationInterval, 0},
		{"memory-histogram-decay-half-life", f.MemoryHalfLife, maxHalfLife},
		{"cpu-histogram-decay-half-life", f.CPUHalfLife, maxHalfLife},
	} {
		want(p.value > 0, p.name, p.value, "more than 0s")
		want(p.most == 0 || p.value <= p.most, p.name, p.value, "at most 24000h")
	}
	for _, p := range []struct {
		name  string
		value float64
	}{
		{"recommendation-margin-fraction", e.SafetyMarginFraction},
		{"pod-recommendation-min-cpu-millicores", e.PodMinCPUMillicores},
		{"pod-recommendation-min-memory-mb", e.PodMinMemoryMb},
		{"oom-bump-up-ratio", f.OOMBumpUpRatio},
		{"oom-min-bump-up-bytes", f.OOMMinBumpUpBytes},
	} {
		want(p.value >= 0 && p.value < 1e15, p.name, p.value, "0 to 1e15")
	}
	want(f.MaxAllowedCPUBoost.Sign() >= 0, "max-allowed-cpu-boost", f.MaxAllowedCPUBoost.String(), "0 or more")
	want(f.MemoryAggregationIntervalCount > 0, "memory-aggregation-interval-count", f.MemoryAggregationIntervalCount, "1 or more")
	want(f.Format.RoundCPUMillicores > 0, "round-cpu-millicores", f.Format.RoundCPUMillicores, "1 or more")
	want(f.Format.RoundMemoryBytes > 0, "round-memory-bytes", f.Format.RoundMemoryBytes, "1 or more")
	if f.VPANamespace != "" && f.IgnoredNamespaces != "" {
		errs = append(errs, errors.New("--vpa-object-namespace does not go with --ignored-vpa-object-namespaces"))
	}
	return errors.Join(errs...)
}

// maxAllowed is the cap of all containers, as upstream's post-processor takes it.
func (f Flags) maxAllowed() corev1.ResourceList {
	list := corev1.ResourceList{}
	if !f.MaxAllowedCPU.IsZero() {
		list[corev1.ResourceCPU] = f.MaxAllowedCPU.Quantity
	}
	if !f.MaxAllowedMemory.IsZero() {
		list[corev1.ResourceMemory] = f.MaxAllowedMemory.Quantity
	}
	return list
}

// looksAt says whether VPAs of the namespace are looked at (recommender/input/cluster_feeder.go, shouldIgnoreNamespace).
func (f Flags) looksAt(namespace string) bool {
	if f.VPANamespace != "" {
		return namespace == f.VPANamespace
	}
	for ignored := range strings.SplitSeq(f.IgnoredNamespaces, ",") {
		if namespace == ignored {
			return false
		}
	}
	return true
}
