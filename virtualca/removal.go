package virtualca

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist/simulator/drain"
	"github.com/scalehist/scalehist/simulator/fit"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
)

// removal is a node that could go, with what becomes of its pods.
type removal struct {
	node  *corev1.Node
	group string
	// move need a place elsewhere and have one; none: the node is empty.
	move []*corev1.Pod
	// waits: pods must complete first. risky: the pods together exceed a budget, so the drain must wait.
	waits, risky bool
}

// simulation is one growing what-if: every node found removable is taken as gone by those after it
// (simulator/cluster.go).
type simulation struct {
	l     *loop
	judge *drain.Judge
	// destination says by snapshot position which nodes may take pods.
	destination []bool
}

// newSimulation lets pods go to all registered nodes that are not being removed; upcoming ones do not count.
func (l *loop) newSimulation(judge *drain.Judge) *simulation {
	s := l.a.checker.Snapshot()
	sim := &simulation{l: l, judge: judge, destination: make([]bool, s.Len())}
	for _, n := range l.nodes {
		if at, ok := s.Index(n.Name); ok && !l.hidden[n.Name] && l.a.down.deletions.of(n.Name) == nil {
			sim.destination[at] = true
		}
	}
	return sim
}

// try takes a node out of the simulation, when all its pods have a place elsewhere; else it says why it is unremovable.
func (s *simulation) try(ctx context.Context, n *corev1.Node) (*removal, string, error) {
	snapshot := s.l.a.checker.Snapshot()
	at, ok := snapshot.Index(n.Name)
	if !ok {
		return nil, nodeNotInSnapshot, nil
	}
	info := snapshot.NodeInfo(at)
	all := make([]*corev1.Pod, 0, len(info.Pods))
	for _, p := range info.Pods {
		all = append(all, p.GetPod())
	}
	pods := s.judge.Sort(all)
	if pods.Blocking != nil {
		return nil, fmt.Sprintf("%s: %s %s", nodeBlockedByPod, podName(pods.Blocking), pods.Reason), nil
	}
	snapshot.Fork()
	was := s.destination[at]
	s.destination[at] = false
	if err := snapshot.ReplaceNode(at, ghost(n, s.l)); err != nil {
		return nil, "", fmt.Errorf("simulate the removal of node %s: %w", n.Name, err)
	}
	for _, p := range pods.Move {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		if !s.move(ctx, p) {
			snapshot.Revert()
			s.destination[at] = was
			return nil, nodeNoPlaceToMovePods + ": " + podName(p), nil
		}
	}
	snapshot.Commit()
	return &removal{node: n, group: s.l.groupOf[n.Name], move: pods.Move, waits: pods.Waits}, "", nil
}

// ghost is the empty node with a deletion taint that stays while pods look for places: constraints that count nodes
// whatever their taints still see it.
func ghost(n *corev1.Node, l *loop) *framework.NodeInfo {
	c := *n
	c.Spec.Taints = append([]corev1.Taint{nodetemplate.DeletionTaint(l.now)}, n.Spec.Taints...)
	return fit.NewNodeInfo(&c)
}

// move finds a place for a pod: the one it had in the last loop, else round robin.
func (s *simulation) move(ctx context.Context, p *corev1.Pod) bool {
	c, hints := s.l.a.checker, s.l.a.down.hints
	free := s.l.a.down.unbound(p)
	key := hintKey(p)
	if node, ok := hints.get(key); ok {
		if at, ok := c.Snapshot().Index(node); ok && at < len(s.destination) && s.destination[at] && c.Fits(ctx, free, at) {
			hints.set(key, node)
			c.Place(free, at)
			return true
		}
	}
	at, ok := c.FirstFitAmong(ctx, free, s.destination)
	if !ok {
		return false
	}
	hints.set(key, c.Snapshot().NodeInfo(at).Node().Name)
	c.Place(free, at)
	return true
}

// unbound is the pod as it looks for a place: without a node. Copies are kept from loop to loop, so that what is known
// of a pod is found again.
func (d *downState) unbound(p *corev1.Pod) *corev1.Pod {
	if p.Spec.NodeName == "" {
		return p
	}
	c, ok := d.copies[p]
	if !ok {
		if c, ok = d.oldCopies[p]; !ok {
			x := *p
			x.Spec.NodeName = ""
			c = &x
		}
		d.copies[p] = c
	}
	return c
}
