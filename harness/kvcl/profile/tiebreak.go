package profile

import (
	"context"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// TieBreak says which of several nodes of equal score gets a pod.
type TieBreak int

const (
	// TiesByHash: a hash of pod and node decides, as mixed as a random choice.
	TiesByHash TieBreak = iota
	// TiesByCreation: creation and the order of names decide instead of what names hash to. Clusters that differ in names only, and
	// sort alike, are scheduled alike.
	TiesByCreation
	// TiesUpstream leaves it to upstream's heap of scores, which compares random numbers that only HTTP extenders set (Kubernetes 1.36,
	// prioritizeNodes): what is on top hangs on when nodes joined and where the last search ended.
	TiesUpstream
)

// Wrap gives every profile of s the tie-break among nodes of equal score. Call it once, before the first cycle.
func Wrap(s *scheduler.Scheduler, t TieBreak, ordinal func(types.UID) int64) {
	switch t {
	case TiesByHash:
		wrapHashed(s)
	case TiesByCreation:
		wrapNameless(s, ordinal)
	case TiesUpstream:
		for name, f := range s.Profiles {
			s.Profiles[name] = &nodesInOrder{Framework: f}
		}
	}
}

// nodesInOrder is for TiesUpstream: where plugins name the nodes to look at, upstream walks a set of names in an order of chance, and the
// heap of scores would hang on it. Here they come by name.
type nodesInOrder struct {
	framework.Framework
	named bool // of the cycle that runs
}

func (o *nodesInOrder) RunPreFilterPlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod) (*fwk.PreFilterResult, *fwk.Status, sets.Set[string]) {
	result, status, unschedulable := o.Framework.RunPreFilterPlugins(ctx, state, pod)
	o.named = !result.AllNodes()
	return result, status, unschedulable
}

func (o *nodesInOrder) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	if o.named {
		slices.SortFunc(nodes, func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
	}
	return o.Framework.RunScorePlugins(ctx, state, pod, nodes)
}

// wrapHashed sets the field the score heap compares next to a hash of pod and node: the winner by score never changes, ties
// spread over the nodes as a random choice would, and the outcome is the same whatever the order of informer events.
func wrapHashed(s *scheduler.Scheduler) {
	for name, f := range s.Profiles {
		s.Profiles[name] = tieBreaker{f}
	}
}

type tieBreaker struct{ framework.Framework }

func (t tieBreaker) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	scores, status := t.Framework.RunScorePlugins(ctx, state, pod, nodes)
	ties := NewTies(pod)
	for i := range scores {
		scores[i].Randomizer = ties.Rank(scores[i].Name)
	}
	return scores, status
}

// wrapNameless is for TiesByCreation: what is hashed is the pod's creation ordinal and the node's place among
// the nodes to choose from, by name.
func wrapNameless(s *scheduler.Scheduler, ordinal func(types.UID) int64) {
	for name, f := range s.Profiles {
		s.Profiles[name] = namelessTieBreaker{f, ordinal}
	}
}

type namelessTieBreaker struct {
	framework.Framework
	ordinal func(types.UID) int64
}

func (t namelessTieBreaker) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	scores, status := t.Framework.RunScorePlugins(ctx, state, pod, nodes)
	names := make([]string, len(scores))
	for i := range scores {
		names[i] = scores[i].Name
	}
	slices.Sort(names)
	ties := NewNamelessTies(t.ordinal(pod.UID))
	for i := range scores {
		place, _ := slices.BinarySearch(names, scores[i].Name)
		scores[i].Randomizer = ties.Rank(strconv.Itoa(place))
	}
	return scores, status
}

// Ties ranks nodes of equal score for one pod: the highest rank wins.
type Ties struct{ sum uint64 }

// NewTies ranks nodes by their names.
func NewTies(pod *corev1.Pod) Ties {
	return Ties{add(add(fnvOffset, pod.Namespace), pod.Name)}
}

// NewNamelessTies ranks nodes by their places (0, 1, ..., in decimal) among those to choose from, sorted by name.
func NewNamelessTies(ordinal int64) Ties {
	return Ties{add(fnvOffset, strconv.FormatInt(ordinal, 10))}
}

// Rank is that of the node with this name, or at this place.
func (t Ties) Rank(node string) int { return int(mix(add(t.sum, node)) >> 1) }

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// hash is that of parts which cannot run into each other.
func hash(parts ...string) uint64 {
	var x uint64 = fnvOffset
	for _, p := range parts {
		x = add(x, p)
	}
	return mix(x)
}

// add carries FNV-1a on by part and a zero byte.
func add(x uint64, part string) uint64 {
	for i := range len(part) {
		x = (x ^ uint64(part[i])) * fnvPrime
	}
	return x * fnvPrime
}

// mix follows FNV-1a, whose upper bits hardly differ for names that end in a counter.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Park turns the failure "no nodes available" into one the queue can wait on until a node joins. Upstream returns it
// without naming a plugin, so the pod counts as an error and is tried again at once, for ever when nothing backs off.
// Other failures come back as they are.
func Park(pod *corev1.Pod, status *fwk.Status) *fwk.Status {
	if status.AsError() != scheduler.ErrNoNodesAvailable { //nolint:errorlint // upstream compares the value too
		return status
	}
	return fwk.NewStatus(status.Code()).WithError(&framework.FitError{
		Pod: pod,
		Diagnosis: framework.Diagnosis{
			NodeToStatus:         framework.NewDefaultNodeToStatus(),
			PreFilterMsg:         scheduler.ErrNoNodesAvailable.Error(),
			UnschedulablePlugins: sets.New(Tracker),
		},
	})
}
