package profile

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// preemption is DefaultPreemption without chance: it starts at the first node, tries every candidate, takes start
// times from the objects instead of the wall clock, and ends in a total order.
type preemption struct {
	*defaultpreemption.DefaultPreemption
	nameless bool
	// lowest remembers by node name.
	lowest map[string]lowest
	// texts are those of noVictims.
	texts map[[2]int]string
}

var (
	_ fwk.PostFilterPlugin = (*preemption)(nil)
	_ fwk.PreEnqueuePlugin = (*preemption)(nil)
)

func newPreemption(ordinal func(types.UID) int64, nameless bool) frameworkruntime.PluginFactory {
	return func(ctx context.Context, args runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
		pl, err := defaultpreemption.New(ctx, args, h, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
		if err != nil {
			return nil, fmt.Errorf("preemption plugin: %w", err)
		}
		own := &preemption{pl, nameless, map[string]lowest{}, map[[2]int]string{}}
		pl.Evaluator.Interface = own
		pl.MoreImportantPod = func(a, b *corev1.Pod) bool {
			if x, y := corev1helpers.PodPriority(a), corev1helpers.PodPriority(b); x != y {
				return x > y
			}
			if x, y := startTime(a), startTime(b); !x.Equal(y) {
				return x.Before(y)
			}
			return ordinal(a.UID) < ordinal(b.UID)
		}
		return own, nil
	}
}

func (*preemption) Name() string { return Preemption }

// GetOffsetAndNumCandidates replaces upstream's random offset and sample.
func (*preemption) GetOffsetAndNumCandidates(nodes int32) (int32, int32) { return 0, nodes }

// OrderedScoreFuncs are upstream's criteria in upstream's order (fewest PDB violations, lowest top priority, lowest
// sum of priorities, fewest victims, latest start), then a hash of the node name. Victims come most important first.
func (p *preemption) OrderedScoreFuncs(_ context.Context, victims map[string]*extenderv1.Victims) []func(node string) int64 {
	rank := rankByHash(victims, p.nameless)
	return []func(string) int64{
		func(n string) int64 { return -victims[n].NumPDBViolations },
		func(n string) int64 { return -int64(corev1helpers.PodPriority(victims[n].Pods[0])) },
		func(n string) int64 {
			var sum int64
			for _, p := range victims[n].Pods {
				// Shifted so that each pod counts, also one of negative priority.
				sum += int64(corev1helpers.PodPriority(p)) + math.MaxInt32 + 1
			}
			return -sum
		},
		func(n string) int64 { return -int64(len(victims[n].Pods)) },
		func(n string) int64 { return earliestTopStart(victims[n].Pods).UnixNano() },
		func(n string) int64 { return -rank[n] },
	}
}

// earliestTopStart is the earliest start among the pods of the highest priority.
func earliestTopStart(pods []*corev1.Pod) time.Time {
	var (
		top  int32
		when time.Time
	)
	for i, p := range pods {
		prio, start := corev1helpers.PodPriority(p), startTime(p)
		if i == 0 || prio > top || prio == top && start.Before(when) {
			top, when = prio, start
		}
	}
	return when
}

// startTime is when the pod started; a pod that has not started yet counts from its creation, not from time.Now.
func startTime(p *corev1.Pod) time.Time {
	if p.Status.StartTime != nil {
		return p.Status.StartTime.Time
	}
	return p.CreationTimestamp.Time
}

// rankByHash orders nodes by the hash of their name; nameless, by name.
func rankByHash(victims map[string]*extenderv1.Victims, nameless bool) map[string]int64 {
	nodes := make([]string, 0, len(victims))
	for n := range victims {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b string) int {
		if n := cmp.Compare(hash(a), hash(b)); n != 0 && !nameless {
			return n
		}
		return cmp.Compare(a, b)
	})
	rank := make(map[string]int64, len(nodes))
	for i, n := range nodes {
		rank[n] = int64(i)
	}
	return rank
}
