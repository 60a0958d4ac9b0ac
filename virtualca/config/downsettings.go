package config

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/drain"
)

// DownSettings are the settings of scale-down, by upstream flag.
type DownSettings struct {
	// Enabled: nodes are removed (--scale-down-enabled). UnreadyEnabled: those that are not ready, too.
	Enabled, UnreadyEnabled bool
	// UnneededTime and UnreadyTime are how long a ready and an unready node must have been unneeded.
	UnneededTime, UnreadyTime time.Duration
	// DelayAfterAdd, DelayAfterDelete and DelayAfterFailure are cooldowns; with DelayTypeLocal each group has its own.
	DelayAfterAdd, DelayAfterDelete, DelayAfterFailure time.Duration
	DelayTypeLocal                                     bool
	// UtilizationThreshold and GPUUtilizationThreshold: nodes used more are needed.
	UtilizationThreshold, GPUUtilizationThreshold float64
	// IgnoreDaemonSets and IgnoreMirrorPods leave such pods out of the utilization.
	IgnoreDaemonSets, IgnoreMirrorPods bool
	// SimulationTimeout bounds the simulation of removals by wall clock. Here it only matters when it is not positive:
	// then no removal is simulated at all, as upstream's first look at its timer would have it.
	SimulationTimeout time.Duration
	// RecheckTimeout is how long a node whose removal could not be simulated is left alone
	// (--unremovable-node-recheck-timeout).
	RecheckTimeout time.Duration
	// Rules are the drain rules' settings.
	Rules drain.Options

	// MaxParallelism bounds removals at a time, MaxDrain those with pods to move.
	MaxParallelism, MaxDrain int
	// MaxGracefulTermination is the longest a pod may take to terminate, MaxEvictionTime how long a refused eviction is
	// tried again (--max-graceful-termination-sec, --max-pod-eviction-time).
	MaxGracefulTermination, MaxEvictionTime time.Duration
	// DrainPriorities are the steps of --drain-priority-config; without any, all pods are evicted at once.
	DrainPriorities []DrainPriority
	// EvictDaemonSetsOccupied and -Empty: DaemonSet pods are evicted from nodes with other pods to move, and from those
	// without.
	EvictDaemonSetsOccupied, EvictDaemonSetsEmpty bool
	// Cordon closes a node before its removal.
	Cordon bool
	// DelayAfterTaint is the wait between taint and drain, DeletionDelay the longest wait for annotations that ask for
	// one, BatchInterval how long deletions of a group are collected into one call.
	DelayAfterTaint, DeletionDelay, BatchInterval time.Duration
	// SoftTaints is the most changes of candidate taints in a loop; 0 puts none and takes off those there are.
	SoftTaints int
}

// DrainPriority is one step of a drain: pods of Priority and more, up to the next step, may take Termination.
type DrainPriority struct {
	Priority    int32
	Termination time.Duration
}

func defaultDownSettings() DownSettings {
	return DownSettings{
		Enabled: true, UnreadyEnabled: true, UnneededTime: 10 * time.Minute, UnreadyTime: 20 * time.Minute,
		DelayAfterAdd: 10 * time.Minute, DelayAfterFailure: 3 * time.Minute,
		UtilizationThreshold: 0.5, GPUUtilizationThreshold: 0.5,
		SimulationTimeout: 30 * time.Second, RecheckTimeout: 5 * time.Minute,
		Rules:          drain.Options{SkipSystemPods: true, SkipLocalStorage: true, SkipCustomControllers: true, SystemPodTimeout: scalehist.Duration(time.Hour)},
		MaxParallelism: 10, MaxDrain: 1, MaxGracefulTermination: 600 * time.Second, MaxEvictionTime: 2 * time.Minute,
		EvictDaemonSetsOccupied: true, Cordon: true, DelayAfterTaint: 5 * time.Second, DeletionDelay: 2 * time.Minute, SoftTaints: 10,
	}
}

// downFlags binds the flags of scale-down to d.
func downFlags(f *pflag.FlagSet, d *DownSettings) {
	f.BoolVar(&d.Enabled, "scale-down-enabled", d.Enabled, "")
	f.BoolVar(&d.UnreadyEnabled, "scale-down-unready-enabled", d.UnreadyEnabled, "")
	f.DurationVar(&d.UnneededTime, "scale-down-unneeded-time", d.UnneededTime, "")
	f.DurationVar(&d.UnreadyTime, "scale-down-unready-time", d.UnreadyTime, "")
	f.DurationVar(&d.DelayAfterAdd, "scale-down-delay-after-add", d.DelayAfterAdd, "")
	f.DurationVar(&d.DelayAfterDelete, "scale-down-delay-after-delete", d.DelayAfterDelete, "")
	f.DurationVar(&d.DelayAfterFailure, "scale-down-delay-after-failure", d.DelayAfterFailure, "")
	f.BoolVar(&d.DelayTypeLocal, "scale-down-delay-type-local", d.DelayTypeLocal, "")
	f.Float64Var(&d.UtilizationThreshold, "scale-down-utilization-threshold", d.UtilizationThreshold, "")
	f.Float64Var(&d.GPUUtilizationThreshold, "scale-down-gpu-utilization-threshold", d.GPUUtilizationThreshold, "")
	f.BoolVar(&d.IgnoreDaemonSets, "ignore-daemonsets-utilization", d.IgnoreDaemonSets, "")
	f.BoolVar(&d.IgnoreMirrorPods, "ignore-mirror-pods-utilization", d.IgnoreMirrorPods, "")
	f.DurationVar(&d.SimulationTimeout, "scale-down-simulation-timeout", d.SimulationTimeout, "")
	f.DurationVar(&d.RecheckTimeout, "unremovable-node-recheck-timeout", d.RecheckTimeout, "")
	f.BoolVar(&d.Rules.SkipSystemPods, "skip-nodes-with-system-pods", d.Rules.SkipSystemPods, "")
	f.BoolVar(&d.Rules.SkipLocalStorage, "skip-nodes-with-local-storage", d.Rules.SkipLocalStorage, "")
	f.BoolVar(&d.Rules.SkipCustomControllers, "skip-nodes-with-custom-controller-pods", d.Rules.SkipCustomControllers, "")
	f.IntVar(&d.Rules.MinReplicaCount, "min-replica-count", d.Rules.MinReplicaCount, "")
	f.DurationVar((*time.Duration)(&d.Rules.SystemPodTimeout), "blocking-system-pod-distruption-timeout", time.Duration(d.Rules.SystemPodTimeout), "")
	f.IntVar(&d.MaxParallelism, "max-scale-down-parallelism", d.MaxParallelism, "")
	f.IntVar(&d.MaxDrain, "max-drain-parallelism", d.MaxDrain, "")
	f.Var(&secondsFlag{&d.MaxGracefulTermination}, "max-graceful-termination-sec", "")
	f.DurationVar(&d.MaxEvictionTime, "max-pod-eviction-time", d.MaxEvictionTime, "")
	f.Var(&prioritiesFlag{&d.DrainPriorities}, "drain-priority-config", "")
	f.BoolVar(&d.EvictDaemonSetsOccupied, "daemonset-eviction-for-occupied-nodes", d.EvictDaemonSetsOccupied, "")
	f.BoolVar(&d.EvictDaemonSetsEmpty, "daemonset-eviction-for-empty-nodes", d.EvictDaemonSetsEmpty, "")
	f.BoolVar(&d.Cordon, "cordon-node-before-terminating", d.Cordon, "")
	f.DurationVar(&d.DelayAfterTaint, "node-delete-delay-after-taint", d.DelayAfterTaint, "")
	f.DurationVar(&d.DeletionDelay, "node-deletion-delay-timeout", d.DeletionDelay, "")
	f.DurationVar(&d.BatchInterval, "node-deletion-batcher-interval", d.BatchInterval, "")
	f.IntVar(&d.SoftTaints, "max-bulk-soft-taint-count", d.SoftTaints, "")
}
