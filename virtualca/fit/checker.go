package fit

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
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
	shapeCount        int
	// last is the position of the last round-robin match, upstream's lastIndex: it starts at 0, so that the very
	// first search begins at position 1.
	last int
}

type baseNode struct {
	node *corev1.Node
	pods []*corev1.Pod
	info *framework.NodeInfo
}

// Rejection is why a pod does not fit a node, in the scheduler's words.
type Rejection struct {
	Plugin  string
	Reasons []string
}

// New makes a Checker with an empty snapshot. It takes 1 to 4 ms: keep it for many loops and Reset it.
func New() (*Checker, error) {
	c := &Checker{snapshot: newSnapshot(), shapes: map[string]*shape{}, pods: map[*corev1.Pod]*podEntry{}}
	fw, l, err := newFramework(c.snapshot)
	if err != nil {
		return nil, err
	}
	c.fw, c.listers = fw, l
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
	old := make(map[string]*baseNode, len(c.nodes))
	for i := range c.nodes {
		old[c.nodes[i].node.Name] = &c.nodes[i]
	}
	// A state may have followed changes that are undone now, so a used log counts as a change as well.
	changed := storage || used || len(nodes) != len(c.nodes)
	next := make([]baseNode, 0, len(nodes))
	s.nodes = s.nodes[:0]
	clear(s.index)
	for i, n := range nodes {
		if _, ok := s.index[n.Name]; ok {
			return fmt.Errorf("node %s is listed twice", n.Name)
		}
		b := c.baseNode(n, pods(n.Name), old[n.Name])
		changed = changed || i >= len(c.nodes) || c.nodes[i].info != b.info
		s.index[n.Name] = i
		s.nodes = append(s.nodes, b.info)
		next = append(next, b)
	}
	c.nodes = next
	c.oldShapes, c.shapes = c.shapes, make(map[string]*shape, len(c.shapes))
	c.oldPods, c.pods = c.pods, make(map[*corev1.Pod]*podEntry, len(c.pods))
	if changed {
		c.base++
	}
	if storage {
		c.oldShapes, c.oldPods = nil, nil
	}
	return nil
}

func (c *Checker) baseNode(n *corev1.Node, pods []*corev1.Pod, old *baseNode) baseNode {
	if old != nil && old.node == n && slices.Equal(old.pods, pods) {
		return *old
	}
	kept := map[*corev1.Pod]fwk.PodInfo{}
	if old != nil {
		for i, p := range old.pods {
			kept[p] = old.info.Pods[i]
		}
	}
	info := framework.NewNodeInfo()
	info.SetNode(n)
	for _, p := range pods {
		if i, ok := kept[p]; ok {
			info.AddPodInfo(i)
			continue
		}
		info.AddPod(withUID(p))
	}
	return baseNode{node: n, pods: slices.Clone(pods), info: info}
}

// entry returns what is known of a pod, computing it at first sight.
func (c *Checker) entry(pod *corev1.Pod) *podEntry {
	if e, ok := c.pods[pod]; ok {
		return e
	}
	if e, ok := c.oldPods[pod]; ok {
		c.pods[pod] = e
		return e
	}
	p := withUID(pod)
	// The error is about malformed affinity terms, which the plugins report themselves.
	info, _ := framework.NewPodInfo(p)
	e := &podEntry{info: info, shape: c.shape(p)}
	c.pods[pod] = e
	return e
}

func (c *Checker) shape(p *corev1.Pod) *shape {
	key, volatile, err := shapeKey(p)
	if err != nil {
		return c.newShape(p, true)
	}
	sh, ok := c.shapes[key]
	if !ok {
		if sh, ok = c.oldShapes[key]; !ok {
			sh = c.newShape(p, volatile)
		}
		c.shapes[key] = sh
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
	return c.fits(ctx, c.entry(pod).shape, at)
}

func (c *Checker) fits(ctx context.Context, sh *shape, at int) bool {
	n := c.snapshot.NodeInfo(at)
	if sh.tooBig(n) {
		return false
	}
	st := c.current(ctx, sh)
	if !st.status.IsSuccess() || (!st.result.AllNodes() && !st.result.NodeNames.Has(n.Node().Name)) {
		return false
	}
	remember := st.local && !sh.volatile && sh.calls > 0
	sh.calls++
	if remember {
		for len(sh.answers) <= at {
			sh.answers = append(sh.answers, answer{})
		}
		if a := &sh.answers[at]; a.generation == n.Generation {
			return a.fits
		}
	}
	ok := c.fw.RunFilterPlugins(ctx, st.cycle, sh.pod, n).IsSuccess()
	if remember {
		sh.answers[at] = answer{n.Generation, ok}
	}
	return ok
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
// unschedulable nodes. Upstream's order: round robin over the whole snapshot, starting one after the last match.
func (c *Checker) FirstFit(ctx context.Context, pod *corev1.Pod, from, to, except int) (int, bool) {
	return c.firstFit(ctx, pod, from, to, func(at int) bool { return at != except })
}

// FirstFitAmong is FirstFit over the positions that are true; positions behind the end of the list are not.
func (c *Checker) FirstFitAmong(ctx context.Context, pod *corev1.Pod, among []bool) (int, bool) {
	return c.firstFit(ctx, pod, 0, c.snapshot.Len(), func(at int) bool { return at < len(among) && among[at] })
}

func (c *Checker) firstFit(ctx context.Context, pod *corev1.Pod, from, to int, among func(int) bool) (int, bool) {
	if from >= to || c.snapshot.Len() == 0 {
		return 0, false
	}
	sh := c.entry(pod).shape
	start := (c.last + 1) % c.snapshot.Len()
	if start < from || start >= to {
		start = from
	}
	for i := range to - from {
		at := start + i
		if at >= to {
			at -= to - from
		}
		if !among(at) || c.snapshot.NodeInfo(at).Node().Spec.Unschedulable {
			continue
		}
		if c.fits(ctx, sh, at) {
			c.last = at
			return at, true
		}
	}
	return 0, false
}

// Place puts a pod on the node at a position.
func (c *Checker) Place(pod *corev1.Pod, at int) { c.snapshot.AddPod(c.entry(pod).info, at) }
