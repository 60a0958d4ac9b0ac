package engines

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/internal/caflags"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/virtualca/config"
)

// recommenderName is the engine, alone or with a strategy: "recommender:optimal".
const recommenderName = "recommender"

// Recommender is the recommender of this module as an engine. The strategy "" is its default.
func Recommender(strategy string) harness.NewAutoscaler {
	name := recommenderName
	if strategy != "" {
		name += ":" + strategy
	}
	return RecommenderEngine(name, strategy, recommender.New())
}

// RecommenderEngine puts any recommender behind the harness's interface: it gets one request a loop. The recorded settings
// of the cluster-autoscaler that both have are followed: limits, the priority cutoff, timers, drain rules.
func RecommenderEngine(name, strategy string, r recommender.Recommender) harness.NewAutoscaler {
	return func(env harness.Env) (scalehist.Autoscaler, error) {
		o, err := recommenderOptions(env)
		if err != nil {
			return nil, err
		}
		o.Strategy = strategy
		return recommender.NewAutoscaler(name, env.Cluster, env.Provider, r, o)
	}
}

// sharedFlags are the flags of the cluster-autoscaler that the recommender's engine follows.
var sharedFlags = []string{
	"blocking-system-pod-distruption-timeout", "cores-total", "expendable-pods-priority-cutoff", "ignore-daemonsets-utilization",
	"initial-node-group-backoff-duration", "max-drain-parallelism", "max-node-group-backoff-duration", "max-node-provision-time",
	"max-nodes-total", "max-pod-eviction-time", "max-scale-down-parallelism", "memory-total", "min-replica-count",
	"node-group-backoff-reset-timeout", "scale-down-delay-after-add", "scale-down-enabled", "scale-down-unneeded-time", "scale-down-utilization-threshold",
	"scan-interval", "skip-nodes-with-custom-controller-pods", "skip-nodes-with-local-storage", "skip-nodes-with-system-pods",
}

// silentFlags cannot matter to the recommender: how a process logs and talks. A recorded one is not warned of.
var silentFlags = []string{"v", "logtostderr", "stderrthreshold", "cloud-provider", "cluster-name", "namespace", "nodes", "kubeconfig", "leader-elect"}

func recommenderOptions(env harness.Env) (recommender.AutoscalerOptions, error) {
	o := recommender.DefaultAutoscalerOptions()
	rest, err := o.TakeFlags(env.Settings.Flags)
	if err != nil {
		return o, err
	}
	recorded := env.Settings
	recorded.Flags = rest
	s, _, err := config.ParseSettings(recorded)
	if err != nil {
		return o, err
	}
	var ignored []string
	for _, f := range rest {
		if name := caflags.Name(f); name != "" && !slices.Contains(sharedFlags, name) && !slices.Contains(silentFlags, name) && !slices.Contains(ignored, name) {
			ignored = append(ignored, name)
		}
	}
	if len(ignored) > 0 {
		slices.Sort(ignored)
		env.Warn("flags of the recorded autoscaler that the recommender does not follow: --" + strings.Join(ignored, ", --"))
	}
	d := &s.Down
	o.Consolidate = o.Consolidate && !switchedOff(env.Settings.Flags)
	o.ScanInterval, o.MaxNodesTotal = s.ScanInterval, s.MaxNodesTotal
	o.Cores, o.MemoryGiB = (*recommender.Range)(&s.CoresTotal), (*recommender.Range)(&s.MemoryTotal)
	o.ExpendablePriorityCutoff = int32(s.ExpendablePriorityCutoff)
	o.MaxNodeProvisionTime = s.MaxNodeProvisionTime
	o.InitialBackoff, o.MaxBackoff, o.BackoffReset = s.InitialBackoff, s.MaxBackoff, s.BackoffReset
	o.UnneededTime, o.DelayAfterAdd = d.UnneededTime, d.DelayAfterAdd
	o.UtilizationThreshold, o.IgnoreDaemonSets, o.Rules = d.UtilizationThreshold, d.IgnoreDaemonSets, d.Rules
	o.MaxParallelism, o.MaxDrain, o.MaxEvictionTime = d.MaxParallelism, d.MaxDrain, d.MaxEvictionTime
	return o, nil
}

// switchedOff says whether --scale-down-enabled=false comes after the last --consolidate: a recorded one says what the recorded
// autoscaler did, one that is given with or after --consolidate says what the recommender shall do.
func switchedOff(flags []string) bool {
	off := false
	for _, f := range flags {
		_, value, hasValue := strings.Cut(f, "=")
		switch caflags.Name(f) {
		case "consolidate":
			off = false
		case "scale-down-enabled":
			on, err := strconv.ParseBool(value)
			off = hasValue && err == nil && !on
		}
	}
	return off
}

// checkRecommenderFlags refuses what neither the recommender nor, of what both follow, the cluster-autoscaler knows.
func checkRecommenderFlags(flags []string) error {
	o := recommender.DefaultAutoscalerOptions()
	rest, err := o.TakeFlags(flags)
	if err != nil {
		return err
	}
	for _, f := range rest {
		if name := caflags.Name(f); name != "" && !slices.Contains(sharedFlags, name) {
			own := slices.Sorted(maps.Keys(recommender.FlagUsage()))
			return fmt.Errorf("autoscaler flag --%s: the recommender has no such flag; its own are --%s, and of the cluster-autoscaler's it follows --%s",
				name, strings.Join(own, ", --"), strings.Join(sharedFlags, ", --"))
		}
	}
	return config.CheckOverrides(rest)
}
