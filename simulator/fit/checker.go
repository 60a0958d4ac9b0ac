package fit

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist"
)

// Checker answers fit questions over its Snapshot. It is not safe for concurrent use.
type Checker struct {
	snapshot *Snapshot
	fw       framework.Framework
	listers  *listers
	// base counts the contents the snapshot was reset to; a PreFilter state of another base is void.
	base  int
	nodes []baseNode
	// shapes and pods are what was computed since the last Reset, the old ones before: what is not used in between
	// is forgotten.
	shapes, oldShapes map[string]*shape
	pods, oldPods     map[*corev1.Pod]*podEntry
	// lastPod and lastEntry are of the pod looked up last: questions about a pod come together.
	lastPod    *corev1.Pod
	lastEntry  *podEntry
	shapeCount int
	keys       keyWriter
	// spread is PodTopologySpread, to be asked about single nodes; local are the filter plugins that look at the node alone.
	spread fwk.PreFilterPlugin
	local  sets.Set[string]
	// freshStates counts the runs of PreFilter.
	freshStates int
	// last is the position in the list of the last match, upstream's lastIndex: it starts at 0, so that the very first search
	// begins at position 1.
	last int
}

// Rejection is why a pod does not fit a node, in the scheduler's words.
type Rejection struct {
	Plugin  string
	Reasons []string
}

// String is "NodeResourcesFit: Insufficient cpu".
func (r *Rejection) String() string { return r.Plugin + ": " + strings.Join(r.Reasons, ", ") }

// New makes a Checker with an empty snapshot. It takes 1 to 4 ms: keep it for many loops and Reset it.
func New() (*Checker, error) {
	c := &Checker{snapshot: newSnapshot(), shapes: map[string]*shape{}, pods: map[*corev1.Pod]*podEntry{}}
	fw, l, err := newFramework(c.snapshot)
	if err != nil {
		return nil, err
	}
	c.fw, c.listers, c.local = fw, l, localPlugins(fw)
	if c.spread, err = newSpread(fw); err != nil {
		return nil, err
	}
	return c, nil
}

// Base counts the contents the snapshot was reset to: while it is the same, so are nodes, pods, storage and namespaces
// below the undo log.
func (c *Checker) Base() int { return c.base }

// Snapshot is the snapshot the answers are about.
func (c *Checker) Snapshot() *Snapshot { return c.snapshot }

// Reset takes back every change and fork and makes the snapshot these nodes, in this order, with the pods bound to
// them. Nodes that did not change since the last Reset, by identity of the objects, keep their NodeInfo and with it
// what is remembered of them. The objects behind storage and namespaces come from o.
func (c *Checker) Reset(o *scalehist.Objects, nodes []*corev1.Node, pods func(node string) []*corev1.Pod) error {
	s := c.snapshot
	used := len(s.log) > 0
	for len(s.forks) > 0 {
		s.Revert()
	}
	s.Revert()
	storage, err := c.listers.sync(o)
	if err != nil {
		return err
	}
	was := c.baseNodes()
	// A state may have followed changes that are undone now, so a used log counts as a change as well.
	changed := storage || used || len(nodes) != len(c.nodes)
	next := make([]baseNode, 0, len(nodes))
	s.nodes, s.slots, s.rooms = s.nodes[:0], s.slots[:0], s.rooms[:0]
	clear(s.index)
	clear(s.committed)
	for i, n := range nodes {
		if _, ok := s.index[n.Name]; ok {
			return fmt.Errorf("node %s is listed twice", n.Name)
		}
		b := c.baseNode(n, pods(n.Name), was(i, n.Name))
		changed = changed || i >= len(c.nodes) || c.nodes[i].slot != b.slot
		s.index[n.Name] = i
		s.nodes, s.slots, s.rooms = append(s.nodes, b.slot.info), append(s.slots, b.slot), append(s.rooms, roomOf(b.slot.info))
		next = append(next, b)
	}
	c.nodes = next
	s.turns, s.chance = append(s.turns[:0], turn{}), false
	c.lastPod, c.lastEntry = nil, nil
	c.oldShapes, c.shapes = c.shapes, make(map[string]*shape, len(c.shapes))
	c.oldPods, c.pods = c.pods, make(map[*corev1.Pod]*podEntry, len(c.pods))
	s.affine, s.antiAffine = nodeList{}, nodeList{}
	if changed {
		c.base++
		s.epoch++
	}
	if storage {
		c.oldShapes, c.oldPods = nil, nil
	}
	return nil
}

// entry returns what is known of a pod, computing it at first sight.
func (c *Checker) entry(pod *corev1.Pod) *podEntry {
	if pod == c.lastPod {
		return c.lastEntry
	}
	if e, ok := c.pods[pod]; ok {
		c.lastPod, c.lastEntry = pod, e
		return e
	}
	e, ok := c.oldPods[pod]
	if !ok || !c.keep(e.shape) {
		p := withUID(pod)
		sh := c.shape(p, false)
		e = &podEntry{shape: sh, info: sh.infoOf(p)}
	}
	c.pods[pod] = e
	c.lastPod, c.lastEntry = pod, e
	return e
}

// keep lets a shape known from before go on for all pods that have it, those met for the first time among them; false when
// another has taken its place already.
func (c *Checker) keep(sh *shape) bool {
	if sh.key == "" {
		return true // it is of one pod alone
	}
	now, ok := c.shapes[sh.key]
	if !ok {
		c.shapes[sh.key] = sh
	}
	return !ok || now == sh
}

// shape returns the pod's shape; with unbound that of the same pod without a node.
func (c *Checker) shape(p *corev1.Pod, unbound bool) *shape {
	key, volatile, err := c.keys.key(p, unbound)
	if err != nil {
		return c.newShape(p, true)
	}
	sh, ok := c.shapes[string(key)]
	if !ok {
		if sh, ok = c.oldShapes[string(key)]; !ok {
			if unbound && p.Spec.NodeName != "" {
				free := *p
				free.Spec.NodeName = ""
				p = &free
			}
			sh = c.newShape(p, volatile)
			sh.key = string(key)
		}
		c.shapes[sh.key] = sh
	}
	return sh
}

// ShapeID is equal for two pods exactly when no filter plugin can tell them apart. It holds until the next Reset.
func (c *Checker) ShapeID(pod *corev1.Pod) int { return c.entry(pod).shape.id }

// Requests are what the scheduler counts for a pod: cpu in milli cores, memory in bytes.
func (c *Checker) Requests(pod *corev1.Pod) (cpu, memory int64) {
	sh := c.entry(pod).shape
	return sh.cpu, sh.memory
}

// Fits says whether a pod fits the node at a position.
func (c *Checker) Fits(ctx context.Context, pod *corev1.Pod, at int) bool {
	sh := c.entry(pod).shape
	if sh.exceeds(&c.snapshot.rooms[at]) {
		return false
	}
	st := c.current(ctx, sh)
	return st.status.IsSuccess() && c.fits(ctx, sh, st, at)
}

// Check says why a pod does not fit the node at a position; nil when it fits.
func (c *Checker) Check(ctx context.Context, pod *corev1.Pod, at int) *Rejection {
	sh := c.entry(pod).shape
	st := c.current(ctx, sh)
	n := c.snapshot.NodeInfo(at)
	switch {
	case !st.status.IsSuccess():
		return rejection(st.status)
	case !st.result.AllNodes() && !st.result.NodeNames.Has(n.Node().Name):
		return &Rejection{Plugin: "PreFilter", Reasons: []string{"PreFilter filtered the Node out"}}
	}
	if s := c.fw.RunFilterPlugins(ctx, st.cycle, sh.pod, n); !s.IsSuccess() {
		return rejection(s)
	}
	return nil
}

func rejection(s *fwk.Status) *Rejection {
	return &Rejection{Plugin: s.Plugin(), Reasons: append([]string(nil), s.Reasons()...)}
}

// FirstFit finds a node for a pod among positions [from, to), leaving out position except (-1: none) and
// unschedulable nodes: the first from one after the last match on, in the order of the list (order.go). from and to must be
// 0, the length of the snapshot, or that at a fork.
func (c *Checker) FirstFit(ctx context.Context, pod *corev1.Pod, from, to, except int) (int, bool) {
	if except < 0 {
		return c.firstFit(ctx, pod, from, to, nil)
	}
	return c.firstFit(ctx, pod, from, to, func(at int) bool { return at != except })
}

// FirstFitAmong is FirstFit over the positions that are true; positions behind the end of the list are not.
func (c *Checker) FirstFitAmong(ctx context.Context, pod *corev1.Pod, among []bool) (int, bool) {
	return c.firstFit(ctx, pod, 0, c.snapshot.Len(), func(at int) bool { return at < len(among) && among[at] })
}

// endsEvery is after how many nodes a search looks whether it is still wanted.
const endsEvery = 256

func (c *Checker) firstFit(ctx context.Context, pod *corev1.Pod, from, to int, among func(int) bool) (int, bool) {
	s := c.snapshot
	if from >= to || s.Len() == 0 {
		return 0, false
	}
	sh := c.entry(pod).shape
	if sh.nowhere(s, from, to) {
		return 0, false
	}
	start := (c.last + 1) % s.Len()
	if start < from || start >= to {
		start = from
	}
	var st *state
	for i := range to - from {
		if i%endsEvery == endsEvery-1 && ctx.Err() != nil {
			return 0, false
		}
		position := start + i
		if position >= to {
			position -= to - from
		}
		at := s.at(position)
		if r := &s.rooms[at]; r.closed || sh.exceeds(r) || (among != nil && !among(at)) {
			continue
		}
		if st == nil {
			if st = c.current(ctx, sh); !st.status.IsSuccess() {
				return 0, false
			}
		}
		if c.fits(ctx, sh, st, at) {
			c.last = position
			return at, true
		}
	}
	if among == nil && (st == nil || st.local) {
		sh.nowhereSince(s, from, to)
	}
	return 0, false
}

// Place puts a pod on the node at a position.
func (c *Checker) Place(pod *corev1.Pod, at int) { c.snapshot.AddPod(c.entry(pod).info, at) }
