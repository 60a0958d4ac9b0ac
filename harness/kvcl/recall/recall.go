package recall

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist/harness/kvcl/profile"
)

// Options say which profile the scheduler was made with.
type Options struct {
	Scoring profile.Scoring
	// TieBreak and Ordinal are those of profile.Options.
	TieBreak profile.TieBreak
	Ordinal  func(types.UID) int64
}

// Stats count scheduling cycles.
type Stats struct {
	// Recalled cycles were ours. Spared ones were not run at all: a pod like another failed as that one did, just before.
	Recalled, Spared int
	// Stock counts the cycles that went to upstream's algorithm, by reason.
	Stock map[string]int
	// Asked counts the pairs of shape and node the plugins were asked about in cycles of ours, Known those answered from memory.
	Asked, Known int
	// Shapes is how many shapes are remembered.
	Shapes int
}

// Recall is the memory of one scheduler. Not safe for concurrent use.
type Recall struct {
	opts    Options
	stock   schedulePod
	begin   func() int // where upstream's next search begins
	plugins *plugins
	nodes   nodes
	shapes  shapes
	spread  *spread

	// refused: the last cycle found no node, was ours, and hung on no nomination.
	refused bool

	mu sync.Mutex
	// nominated holds at least the nodes that pods are nominated to.
	nominated map[string]bool

	stats Stats
	// Of one cycle, kept to be used again.
	fit    []candidate
	order  []*node
	infos  []fwk.NodeInfo
	scores fwk.NodeScoreList
	ties   []int
}

type schedulePod = func(context.Context, framework.Framework, fwk.CycleState, *framework.QueuedPodInfo) (scheduler.ScheduleResult, error)

// Install puts a memory in front of the algorithm of s, a scheduler of the profile package. Call it before the first object is
// shown to s. It fails when s has plugins nobody has looked at: the memory must be taught what they depend on.
func Install(ctx context.Context, s *scheduler.Scheduler, o Options) (*Recall, error) {
	if n := len(s.Profiles); n != 1 {
		return nil, fmt.Errorf("scheduling memory: the scheduler has %d profiles, want 1", n)
	}
	if n := len(s.Extenders); n != 0 {
		return nil, fmt.Errorf("scheduling memory: the scheduler has %d extenders, want none", n)
	}
	f := s.Profiles[corev1.DefaultSchedulerName]
	if f == nil {
		return nil, fmt.Errorf("scheduling memory: the scheduler has no profile %s", corev1.DefaultSchedulerName)
	}
	pl, err := newPlugins(ctx, f, o.Scoring)
	if err != nil {
		return nil, fmt.Errorf("scheduling memory: %w", err)
	}
	r := &Recall{
		opts:      o,
		stock:     s.SchedulePod,
		plugins:   pl,
		shapes:    shapes{byKey: map[string]*shape{}},
		nominated: map[string]bool{},
		stats:     Stats{Stock: map[string]int{}},
	}
	if r.begin, err = nextStart(s); err != nil {
		return nil, fmt.Errorf("scheduling memory: %w", err)
	}
	inf := f.SharedInformerFactory()
	if r.spread, err = newSpread(inf); err != nil {
		return nil, fmt.Errorf("scheduling memory: %w", err)
	}
	if _, err := inf.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    r.sawPod,
		UpdateFunc: func(_, obj any) { r.sawPod(obj) },
	}); err != nil {
		return nil, fmt.Errorf("scheduling memory: watch pods: %w", err)
	}
	fail := s.FailureHandler
	s.FailureHandler = func(ctx context.Context, f framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, n *fwk.NominatingInfo, start time.Time) {
		if n.Mode() == fwk.ModeOverride {
			r.nominate(n.NominatedNodeName)
		}
		fail(ctx, f, info, status, n, start)
	}
	s.SchedulePod = r.schedulePod
	return r, nil
}

// Stats returns the counts so far.
func (r *Recall) Stats() Stats {
	s := r.stats
	s.Stock = maps.Clone(s.Stock)
	s.Shapes = len(r.shapes.byKey)
	return s
}

func (r *Recall) schedulePod(ctx context.Context, f framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo) (scheduler.ScheduleResult, error) {
	r.refused = false
	result, why, err := r.recall(ctx, f, state, info)
	if why != "" {
		r.stats.Stock[why]++
		return r.stock(ctx, f, state, info)
	}
	r.stats.Recalled++
	return result, err
}

// Refused says that the last cycle was answered by the memory, that no node takes the pod, and that no pod is nominated to any: the
// answer hangs on the nodes and the shape of the pod alone.
func (r *Recall) Refused() bool { return r.refused }

// TakeRefused is Refused, once: a cycle may end before it asks.
func (r *Recall) TakeRefused() bool {
	refused := r.refused
	r.refused = false
	return refused
}

// sawPod notes where a pod is nominated to. The queue learns of nominations from pods and from the failure handler, nowhere else.
func (r *Recall) sawPod(obj any) {
	if p, ok := obj.(*corev1.Pod); ok {
		r.nominate(p.Status.NominatedNodeName)
	}
}

func (r *Recall) nominate(node string) {
	if node == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nominated[node] = true
}

// nominations returns the nodes that pods are nominated to now.
func (r *Recall) nominations(f framework.Framework) map[string]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.nominated {
		if len(f.NominatedPodsForNode(name)) == 0 {
			delete(r.nominated, name)
		}
	}
	return r.nominated
}
