package profile

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// Scoring says how the scheduler prefers nodes that all take a pod.
type Scoring string

const (
	// ScoringDefault is the upstream default: spread pods, balance resources. The empty string means it too.
	ScoringDefault Scoring = "default"
	// ScoringBinPacking fills nodes: NodeResourcesFit scores MostAllocated and NodeResourcesBalancedAllocation
	// does not score.
	ScoringBinPacking Scoring = "bin-packing"
)

// Names of the plugins that stand in for upstream ones.
const (
	QueueSort     = "ScalehistQueueSort"
	Preemption    = "ScalehistPreemption"
	VolumeBinding = "ScalehistVolumeBinding"
	Tracker       = "ScalehistTracker"
)

// Options are what the profile needs of the control plane around it. All but Scoring are required.
type Options struct {
	// Clock stamps pods as they enter the queue.
	Clock    clock.WithTicker
	Scoring  Scoring
	TieBreak TieBreak
	// Ordinal is the creation number of a pod by its UID: the order among pods of one priority that entered the
	// queue at the same instant.
	Ordinal func(types.UID) int64
	// BindVolumes finishes the volumes of a pod that is about to be bound. It must not wait for wall clock.
	BindVolumes func(ctx context.Context, v PodVolumes) error
	// Reserved is called when a pod's binding cycle opens, Bound when it has ended well.
	Reserved func(pod *corev1.Pod)
	Bound    func(pod *corev1.Pod, node string)
}

var gates struct {
	once sync.Once
	err  error
}

// SetGates turns off the features of the scheduler that decide by goroutine order or wall clock: preemption and API
// calls in the background, and reuse of results for 500 ms. Feature gates are per process; the first call sets them.
func SetGates() error {
	gates.once.Do(func() {
		gates.err = utilfeature.DefaultMutableFeatureGate.Set(
			"SchedulerAsyncPreemption=false,SchedulerAsyncAPICalls=false,OpportunisticBatching=false")
	})
	return gates.err
}

// SchedulerOptions returns the options of scheduler.New for the profile. Call [SetGates] before and [Wrap] after.
func SchedulerOptions(o Options) ([]scheduler.Option, error) {
	p, err := kubeProfile(o.Scoring)
	if err != nil {
		return nil, err
	}
	registry := frameworkruntime.Registry{
		QueueSort: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
			return &queueSort{ordinal: o.Ordinal}, nil
		},
		Preemption:    newPreemption(o.Ordinal, o.TieBreak == TiesByCreation),
		VolumeBinding: newVolumeBinding(o.BindVolumes),
		Tracker: func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
			return &tracker{reserved: o.Reserved, bound: o.Bound}, nil
		},
	}
	return []scheduler.Option{
		scheduler.WithProfiles(*p),
		scheduler.WithFrameworkOutOfTreeRegistry(registry),
		scheduler.WithClock(o.Clock),
		// One worker gives the same results run after run and is not slower up to 1,000 nodes.
		scheduler.WithParallelism(1),
		scheduler.WithPercentageOfNodesToScore(ptr.To[int32](100)),
		// A maximum of 0 turns backoff off: its queues depend on tickers.
		scheduler.WithPodInitialBackoffSeconds(0),
		scheduler.WithPodMaxBackoffSeconds(0),
	}, nil
}

// PluginArgs returns the arguments of the profile's plugins by name, for callers that ask the same plugins the same.
func PluginArgs(s Scoring) (map[string]runtime.Object, error) {
	p, err := kubeProfile(s)
	if err != nil {
		return nil, err
	}
	args := make(map[string]runtime.Object, len(p.PluginConfig))
	for _, c := range p.PluginConfig {
		args[c.Name] = c.Args
	}
	return args, nil
}

// kubeProfile is upstream's default profile with our plugins in the place of those they stand in for. Order matters:
// filters run in it, and the first that refuses a node gives the reason.
func kubeProfile(s Scoring) (*config.KubeSchedulerProfile, error) {
	var versioned configv1.KubeSchedulerConfiguration
	scheme.Scheme.Default(&versioned)
	var cfg config.KubeSchedulerConfiguration
	if err := scheme.Scheme.Convert(&versioned, &cfg, nil); err != nil {
		return nil, fmt.Errorf("default scheduler configuration: %w", err)
	}
	p := &cfg.Profiles[0]
	replaced := map[string]string{
		names.PrioritySort:      QueueSort,
		names.DefaultPreemption: Preemption,
		names.VolumeBinding:     VolumeBinding,
	}
	for i, e := range p.Plugins.MultiPoint.Enabled {
		if own, ok := replaced[e.Name]; ok {
			p.Plugins.MultiPoint.Enabled[i].Name = own
			delete(replaced, e.Name)
		}
	}
	for upstream := range replaced {
		return nil, fmt.Errorf("the scheduler's default profile has no plugin %s", upstream)
	}
	p.Plugins.MultiPoint.Enabled = append(p.Plugins.MultiPoint.Enabled, config.Plugin{Name: Tracker})
	for i, c := range p.PluginConfig {
		switch c.Name {
		case names.DefaultPreemption:
			p.PluginConfig[i].Name = Preemption
		case names.VolumeBinding:
			p.PluginConfig[i].Name = VolumeBinding
		}
	}
	switch s {
	case "", ScoringDefault:
	case ScoringBinPacking:
		p.Plugins.Score.Disabled = append(p.Plugins.Score.Disabled,
			config.Plugin{Name: names.NodeResourcesBalancedAllocation})
		for _, c := range p.PluginConfig {
			if args, ok := c.Args.(*config.NodeResourcesFitArgs); ok {
				args.ScoringStrategy.Type = config.MostAllocated
			}
		}
	default:
		return nil, fmt.Errorf("unknown scoring %q: want %q or %q", s, ScoringDefault, ScoringBinPacking)
	}
	return p, nil
}
