package vpa

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"

	"github.com/scalehist/scalehist/internal/near"
)

// ParseFlags reads flags as upstream's three components take them, each "NAME=VALUE" with or without leading dashes, over the
// defaults. The error says which one is unknown, has no effect in virtual time, or has a value that upstream would not work with.
func ParseFlags(args []string) (Flags, error) {
	f := DefaultFlags()
	fs := f.flagSet()
	for _, arg := range args {
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		name = strings.ReplaceAll(name, "_", "-") // as upstream
		if fs.Lookup(name) == nil {
			return Flags{}, unknown(name, fs)
		}
		if given {
			name += "=" + value
		}
		if err := fs.Parse([]string{"--" + name}); err != nil {
			return Flags{}, fmt.Errorf("%s: %w", arg, err)
		}
	}
	return f, f.check()
}

// HasFlag says whether ParseFlags knows a flag of that name, without dashes.
func HasFlag(name string) bool {
	f := DefaultFlags()
	return f.flagSet().Lookup(name) != nil
}

func unknown(name string, fs *pflag.FlagSet) error {
	if why, known := withoutEffect[name]; known {
		return fmt.Errorf("--%s has no effect in a replay (%s): leave it out", name, why)
	}
	var names []string
	fs.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return fmt.Errorf("--%s is not a flag of the Vertical Pod Autoscaler%s", name, near.Suggest(name, names))
}

// flagSet binds the flags to their names upstream (recommender/config, updater/config, features and common of its module).
func (f *Flags) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet("vpa", pflag.ContinueOnError)
	fs.StringVar(&f.RecommenderName, "recommender-name", f.RecommenderName, "which VPAs are recommended for")
	fs.DurationVar(&f.RecommenderInterval, "recommender-interval", f.RecommenderInterval, "how often the recommender runs")
	fs.DurationVar(&f.UpdaterInterval, "updater-interval", f.UpdaterInterval, "how often the updater runs")
	fs.BoolVar(&f.MemorySaver, "memory-saver", f.MemorySaver, "track only pods that have a VPA")
	fs.StringVar(&f.VPANamespace, "vpa-object-namespace", f.VPANamespace, "the only namespace of VPAs")
	fs.StringVar(&f.IgnoredNamespaces, "ignored-vpa-object-namespaces", f.IgnoredNamespaces, "namespaces of VPAs to leave out")

	e := &f.Estimation
	fs.Float64Var(&e.SafetyMarginFraction, "recommendation-margin-fraction", e.SafetyMarginFraction, "fraction of usage added")
	fs.Float64Var(&e.PodMinCPUMillicores, "pod-recommendation-min-cpu-millicores", e.PodMinCPUMillicores, "least CPU of a pod")
	fs.Float64Var(&e.PodMinMemoryMb, "pod-recommendation-min-memory-mb", e.PodMinMemoryMb, "least memory of a pod, in MiB")
	fs.Float64Var(&e.TargetCPUPercentile, "target-cpu-percentile", e.TargetCPUPercentile, "percentile of usage")
	fs.Float64Var(&e.LowerBoundCPUPercentile, "recommendation-lower-bound-cpu-percentile", e.LowerBoundCPUPercentile, "percentile of usage")
	fs.Float64Var(&e.UpperBoundCPUPercentile, "recommendation-upper-bound-cpu-percentile", e.UpperBoundCPUPercentile, "percentile of usage")
	fs.DurationVar(&e.ConfidenceIntervalCPU, "confidence-interval-cpu", e.ConfidenceIntervalCPU, "history of confidence 1")
	fs.Float64Var(&e.TargetMemoryPercentile, "target-memory-percentile", e.TargetMemoryPercentile, "percentile of peaks")
	fs.Float64Var(&e.LowerBoundMemoryPercentile, "recommendation-lower-bound-memory-percentile", e.LowerBoundMemoryPercentile, "percentile of peaks")
	fs.Float64Var(&e.UpperBoundMemoryPercentile, "recommendation-upper-bound-memory-percentile", e.UpperBoundMemoryPercentile, "percentile of peaks")
	fs.DurationVar(&e.ConfidenceIntervalMemory, "confidence-interval-memory", e.ConfidenceIntervalMemory, "history of confidence 1")
	fs.BoolVar(&f.Format.HumanizeMemory, "humanize-memory", f.Format.HumanizeMemory, "round memory to two decimal places of its unit")
	fs.IntVar(&f.Format.RoundCPUMillicores, "round-cpu-millicores", f.Format.RoundCPUMillicores, "CPU is a multiple of it")
	fs.IntVar(&f.Format.RoundMemoryBytes, "round-memory-bytes", f.Format.RoundMemoryBytes, "memory is a multiple of it")
	fs.DurationVar(&f.MemoryAggregationInterval, "memory-aggregation-interval", f.MemoryAggregationInterval, "time of one peak")
	fs.Int64Var(&f.MemoryAggregationIntervalCount, "memory-aggregation-interval-count", f.MemoryAggregationIntervalCount, "peaks kept")
	fs.DurationVar(&f.MemoryHalfLife, "memory-histogram-decay-half-life", f.MemoryHalfLife, "time in which a peak loses half of its weight")
	fs.DurationVar(&f.CPUHalfLife, "cpu-histogram-decay-half-life", f.CPUHalfLife, "time in which a sample loses half of its weight")
	fs.Float64Var(&f.OOMBumpUpRatio, "oom-bump-up-ratio", f.OOMBumpUpRatio, "memory needed after an OOM, as a ratio")
	fs.Float64Var(&f.OOMMinBumpUpBytes, "oom-min-bump-up-bytes", f.OOMMinBumpUpBytes, "memory needed after an OOM, at least so much more")
	fs.BoolVar(&f.CPUInteger, "cpu-integer-post-processor-enabled", f.CPUInteger, "round CPU up to whole cores where a VPA asks for it")
	fs.Var(&f.MaxAllowedCPU, "container-recommendation-max-allowed-cpu", "most CPU of a container")
	fs.Var(&f.MaxAllowedMemory, "container-recommendation-max-allowed-memory", "most memory of a container")

	fs.IntVar(&f.MinReplicas, "min-replicas", f.MinReplicas, "replicas an owner needs for an update")
	fs.Float64Var(&f.EvictionTolerance, "eviction-tolerance", f.EvictionTolerance, "fraction of replicas that may be away")
	fs.BoolVar(&f.InPlaceSkipDisruptionBudget, "in-place-skip-disruption-budget", f.InPlaceSkipDisruptionBudget, "resize without looking at replicas")
	fs.Float64Var(&f.UpdateThreshold, "pod-update-threshold", f.UpdateThreshold, "least relative change")
	fs.DurationVar(&f.PodLifetime, "in-recommendation-bounds-eviction-lifetime-threshold", f.PodLifetime, "age from which a pod within bounds is updated")
	fs.DurationVar(&f.EvictAfterOOM, "evict-after-oom-threshold", f.EvictAfterOOM, "time of a quick OOM")
	fs.Var(&f.MaxAllowedCPUBoost, "max-allowed-cpu-boost", "most CPU of a container with a start-up boost")
	fs.Func("feature-gates", "PerVPAConfig=true, InPlace=true and CPUStartupBoost=true", f.setGates)
	return fs
}

// setGates parses feature gates on a copy of upstream's: the original is shared by all of the process.
func (f *Flags) setGates(value string) error {
	gates := features.MutableFeatureGate.DeepCopy()
	if err := gates.Set(value); err != nil {
		return err
	}
	f.PerVPAConfig, f.InPlace, f.CPUStartupBoost = gates.Enabled(features.PerVPAConfig), gates.Enabled(features.InPlace), gates.Enabled(features.CPUStartupBoost)
	return nil
}

// withoutEffect has upstream's other flags, with what they are about.
var withoutEffect = func() map[string]string {
	why := map[string]string{}
	for reason, names := range map[string][]string{
		"a connection or a process": {"address", "kubeconfig", "kube-api-qps", "kube-api-burst", "profiling", "update-worker-count",
			"min-checkpoints", "checkpoints-timeout"},
		"logging": {"add-dir-header", "alsologtostderr", "alsologtostderrthreshold", "log-backtrace-at", "log-dir", "log-file",
			"log-file-max-size", "logtostderr", "one-output", "skip-headers", "skip-log-headers", "stderrthreshold",
			"legacy-stderr-threshold-behavior", "v", "vmodule"},
		"checkpoints are loaded and cleaned up by the caller": {"checkpoints-gc-interval", "storage"},
		"usage is in the recording": {"prometheus-address", "prometheus-insecure", "prometheus-cadvisor-job-name", "prometheus-query-timeout",
			"prometheus-bearer-token", "prometheus-bearer-token-file", "username", "password", "history-length", "history-resolution",
			"history-cpu-metric", "history-memory-metric", "pod-label-prefix", "metric-for-pod-labels", "pod-namespace-label",
			"pod-name-label", "container-namespace-label", "container-pod-name-label", "container-name-label", "use-external-metrics",
			"external-metrics-cpu-metric", "external-metrics-memory-metric"},
		"the admission controller is always there": {"use-admission-controller-status", "client-ca-file", "tls-cert-file", "tls-private-key",
			"reload-cert", "tls-ciphers", "min-tls-version", "port", "webhook-service", "webhook-address", "webhook-port",
			"webhook-timeout-seconds", "webhook-failure-policy-fail", "webhook-labels", "register-webhook", "register-by-url"},
		"a rate limit makes upstream's loop wait, which a loop in virtual time does not": {"eviction-rate-limit", "eviction-rate-burst"},
	} {
		for _, name := range names {
			why[name] = reason
		}
	}
	return why
}()
