package fit

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist"
)

// reference is the plain checker: lists of nodes and pods, copied at every fork, and for every question NodeInfos, a
// PreFilter state and filter runs made again. It has neither undo log nor memory.
type reference struct {
	c     *Checker
	nodes []refNode
	// forks are copies of nodes at each fork, base is what Reset put there.
	forks [][]refNode
	base  []refNode
	last  int
	// stale: the snapshot of c is not that of nodes.
	stale bool
}

type refNode struct {
	node *corev1.Node
	pods []*corev1.Pod
}

func (n refNode) clone() refNode { return refNode{n.node, slices.Clone(n.pods)} }

func cloneNodes(in []refNode) []refNode {
	out := make([]refNode, len(in))
	for i := range in {
		out[i] = in[i].clone()
	}
	return out
}

func newReference() (*reference, error) {
	c, err := New()
	return &reference{c: c}, err
}

// reset takes the base over, with what lies behind it.
func (r *reference) reset(o *scalehist.Objects) error {
	r.nodes, r.forks, r.stale = cloneNodes(r.base), nil, true
	_, err := r.c.listers.sync(o)
	return err
}

func (r *reference) fork() { r.forks = append(r.forks, cloneNodes(r.nodes)) }

func (r *reference) revert() {
	r.stale = true
	if n := len(r.forks); n > 0 {
		r.nodes, r.forks = r.forks[n-1], r.forks[:n-1]
		return
	}
	r.nodes = cloneNodes(r.base)
}

func (r *reference) commit() {
	if n := len(r.forks); n > 0 {
		r.forks = r.forks[:n-1]
	}
}

func (r *reference) place(p *corev1.Pod, at int) {
	r.stale = true
	r.nodes[at].pods = append(r.nodes[at].pods, p)
}

func (r *reference) removePod(p *corev1.Pod, at int) {
	r.stale = true
	r.nodes[at].pods = slices.DeleteFunc(r.nodes[at].pods, func(o *corev1.Pod) bool { return o.Namespace == p.Namespace && o.Name == p.Name })
}

func (r *reference) addNode(n *corev1.Node, pods ...*corev1.Pod) {
	r.stale = true
	r.nodes = append(r.nodes, refNode{n, pods})
}

func (r *reference) removeNode(at int) {
	r.stale = true
	r.nodes = slices.Delete(slices.Clone(r.nodes), at, at+1)
}

func (r *reference) replaceNode(at int, n *corev1.Node, pods ...*corev1.Pod) {
	r.stale = true
	r.nodes[at] = refNode{n, pods}
}

// check asks the plugins: a fresh PreFilter state of a snapshot made for it, and every filter.
func (r *reference) check(ctx context.Context, p *corev1.Pod, at int) *Rejection {
	if s := r.c.snapshot; r.stale {
		*s = *newSnapshot()
		for _, n := range r.nodes {
			if err := s.AddNode(NewNodeInfo(n.node, n.pods...)); err != nil {
				panic(err)
			}
		}
		r.stale = false
	}
	p = withUID(p)
	state := framework.NewCycleState()
	result, status, _ := r.c.fw.RunPreFilterPlugins(ctx, state, p)
	if !status.IsSuccess() {
		return rejection(status)
	}
	n := r.c.snapshot.NodeInfo(at)
	if !result.AllNodes() && !result.NodeNames.Has(n.Node().Name) {
		return &Rejection{Plugin: "PreFilter", Reasons: []string{"PreFilter filtered the Node out"}}
	}
	if s := r.c.fw.RunFilterPlugins(ctx, state, p, n); !s.IsSuccess() {
		return rejection(s)
	}
	return nil
}

// firstFit is the round robin in its plainest form.
func (r *reference) firstFit(ctx context.Context, p *corev1.Pod, from, to int, among func(int) bool) (int, bool) {
	if from >= to {
		return 0, false
	}
	start := (r.last + 1) % len(r.nodes)
	if start < from || start >= to {
		start = from
	}
	for i := range to - from {
		at := from + (start-from+i)%(to-from)
		if among(at) && !r.nodes[at].node.Spec.Unschedulable && r.check(ctx, p, at) == nil {
			r.last = at
			return at, true
		}
	}
	return 0, false
}
