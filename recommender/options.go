package recommender

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/drain"
)

// AutoscalerOptions say how the engine acts on recommendations. DefaultAutoscalerOptions has the defaults, which are the
// upstream cluster-autoscaler's where it has such a setting.
type AutoscalerOptions struct {
	// Strategy, Scoring, Weights and Parallelism go into every request.
	Strategy, Scoring string
	Weights           Weights
	Parallelism       int
	// ScanInterval is the time between two loops.
	ScanInterval time.Duration
	// NewPods is how long nothing is decided while every pod without a node is younger: the first pods of a burst wait for the rest,
	// as upstream's do. 0: the first pod is decided about alone.
	NewPods time.Duration
	// MaxNodesTotal, Cores, MemoryGiB and ExpendablePriorityCutoff are the constraints of those names.
	MaxNodesTotal            int
	Cores, MemoryGiB         *Range
	ExpendablePriorityCutoff int32
	// IgnoreMinSize is the constraint of that name.
	IgnoreMinSize bool
	// MaxNodeProvisionTime is how long a node that was asked for counts as upcoming.
	MaxNodeProvisionTime time.Duration
	// InitialBackoff doubles with every failure of a group in a row, up to MaxBackoff; BackoffReset after the last failure
	// it starts again.
	InitialBackoff, MaxBackoff, BackoffReset time.Duration
	// Consolidate removes the nodes that recommendations say could go.
	Consolidate bool
	// UnneededTime is how long a node must have been recommended to go without a break.
	UnneededTime time.Duration
	// DelayAfterAdd is how long after a scale-up none goes.
	DelayAfterAdd time.Duration
	// UtilizationThreshold, IgnoreDaemonSets and Rules are those of ScaleDownConstraints.
	UtilizationThreshold float64
	IgnoreDaemonSets     bool
	Rules                drain.Options
	// MaxParallelism bounds removals at a time, MaxDrain those with pods to move; MaxEvictionTime how long evictions are
	// tried.
	MaxParallelism, MaxDrain int
	MaxEvictionTime          time.Duration
}

// DefaultAutoscalerOptions do not consolidate.
func DefaultAutoscalerOptions() AutoscalerOptions {
	return AutoscalerOptions{
		ScanInterval: 10 * time.Second, NewPods: 2 * time.Second, ExpendablePriorityCutoff: -10, MaxNodeProvisionTime: 15 * time.Minute,
		InitialBackoff: 5 * time.Minute, MaxBackoff: 30 * time.Minute, BackoffReset: 3 * time.Hour,
		UnneededTime: 10 * time.Minute, DelayAfterAdd: 10 * time.Minute, UtilizationThreshold: 0.5,
		Rules:          drain.Options{SkipSystemPods: true, SkipLocalStorage: true, SkipCustomControllers: true, SystemPodTimeout: scalehist.Duration(time.Hour)},
		MaxParallelism: 10, MaxDrain: 1, MaxEvictionTime: 2 * time.Minute,
	}
}

// flagUsage describes the recommender's own flags.
var flagUsage = map[string]string{
	"scoring":         "what a candidate node is judged by: " + strings.Join(Scorings(), ", "),
	"weights":         "what a core, a GiB and a piece of other resources are worth: cpu=6,memory=1",
	"parallelism":     "simulations at once; 0: one per processor",
	"consolidate":     "remove the nodes that could go, after --scale-down-unneeded-time",
	"new-pods-wait":   "decide nothing while all pods without a node are younger than this: the first of a burst wait for the rest; 0s: decide at once",
	"ignore-min-size": "leave groups below their min size as they are",
}

// FlagUsage says of each of the recommender's own flags, without dashes, what it is for. Read only.
func FlagUsage() map[string]string { return flagUsage }

// TakeFlags reads the recommender's own flags, --name=value, into the options, and returns the others. A value that
// cannot be is an error that names the flag.
func (o *AutoscalerOptions) TakeFlags(flags []string) (others []string, err error) {
	for _, arg := range flags {
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if _, own := flagUsage[name]; !own || !strings.HasPrefix(arg, "-") {
			others = append(others, arg)
			continue
		}
		if !hasValue && name != "consolidate" && name != "ignore-min-size" {
			return nil, fmt.Errorf("recommender flag --%s: the value is missing: write --%s=VALUE; it is %s", name, name, flagUsage[name])
		}
		switch name {
		case "scoring":
			if !slices.Contains(Scorings(), value) {
				return nil, fmt.Errorf("recommender flag --scoring=%s: choose one of %s", value, strings.Join(Scorings(), ", "))
			}
			o.Scoring = value
		case "weights":
			if o.Weights, err = ParseWeights(value); err != nil {
				return nil, fmt.Errorf("recommender flag --weights: %w", err)
			}
		case "parallelism":
			if o.Parallelism, err = strconv.Atoi(value); err != nil || o.Parallelism < 0 {
				return nil, fmt.Errorf("recommender flag --parallelism=%s: want a whole number, 0 or more", value)
			}
		case "new-pods-wait":
			if o.NewPods, err = time.ParseDuration(value); err != nil || o.NewPods < 0 {
				return nil, fmt.Errorf("recommender flag --new-pods-wait=%s: want a time, 0s or more: 2s", value)
			}
		case "consolidate":
			o.Consolidate, err = onOff(name, value, hasValue)
		case "ignore-min-size":
			o.IgnoreMinSize, err = onOff(name, value, hasValue)
		}
		if err != nil {
			return nil, err
		}
	}
	return others, nil
}

// onOff reads a flag that is on when it has no value.
func onOff(name, value string, hasValue bool) (bool, error) {
	if !hasValue {
		return true, nil
	}
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("recommender flag --%s=%s: want true or false", name, value)
	}
	return on, nil
}

func (o *AutoscalerOptions) check() error {
	if _, err := strategyOf(o.Strategy); err != nil {
		return err
	}
	if o.Scoring != "" && !slices.Contains(Scorings(), o.Scoring) {
		return fmt.Errorf("unknown scoring %q: choose one of %s", o.Scoring, strings.Join(Scorings(), ", "))
	}
	if o.Weights != nil {
		return o.Weights.check()
	}
	return nil
}
