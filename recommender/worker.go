package recommender

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/simulator/fit"
)

// change is one step of a plan: a new node, or a pod placed on a node.
type change struct {
	g    *group
	node string
	pod  *corev1.Pod
}

// worker has a snapshot of its own, in step with the plan's changes.
type worker struct {
	c       *fit.Checker
	applied int
	// followed is the number of changes, and one, that wide classes were last brought up to.
	followed int
}

// catchUp applies the changes made since the last time.
func (w *worker) catchUp(changes []change) error {
	s := w.c.Snapshot()
	for ; w.applied < len(changes); w.applied++ {
		ch := &changes[w.applied]
		if ch.g != nil {
			if err := s.AddNode(ch.g.fresh(ch.node)); err != nil {
				return fmt.Errorf("add node: %w", err)
			}
			continue
		}
		at, ok := s.Index(ch.node)
		if !ok {
			return fmt.Errorf("place pod %s: there is no node %s", podName(ch.pod), ch.node)
		}
		w.c.Place(ch.pod, at)
	}
	return nil
}

// follow brings what the plugins know of wide classes up to date before a fork: what they learn within one is lost with it.
func (w *worker) follow(ctx context.Context, changes []change, q *queue) error {
	if err := w.catchUp(changes); err != nil {
		return err
	}
	if w.c.Snapshot().Len() == 0 || w.followed == len(changes)+1 {
		return nil
	}
	w.followed = len(changes) + 1
	for i, cl := range q.classes {
		if rest := q.rest(i); cl.wide && len(rest) > 0 {
			w.c.Check(ctx, rest[0], 0)
		}
	}
	return nil
}

// tryNode packs pods of the queue onto one new node of a group and takes it back.
func (w *worker) tryNode(ctx context.Context, g *group, name string, q *queue, t *table) (*outcome, error) {
	s := w.c.Snapshot()
	s.Fork()
	defer s.Revert()
	if err := s.AddNode(g.fresh(name)); err != nil {
		return nil, fmt.Errorf("try node group %s: %w", g.Name, err)
	}
	o := &outcome{g: g, counts: pack(ctx, w.c, s.Len()-1, q, t)}
	if !slices.ContainsFunc(o.counts, func(n int) bool { return n > 0 }) {
		o.why = whyNone(ctx, w.c, s.Len()-1, q)
	}
	return o, nil
}

// whyNone says in the scheduler's words why the node at a position takes none of the pods: of the first class, and how many
// more there are.
func whyNone(ctx context.Context, c *fit.Checker, at int, q *queue) string {
	for i := range q.classes {
		rest := q.rest(i)
		if len(rest) == 0 {
			continue
		}
		why := "a node of it would take no pod"
		if r := c.Check(ctx, rest[0], at); r != nil {
			why += ": " + podName(rest[0]) + ": " + r.String()
		}
		return why
	}
	return ""
}

// pack places pods on the node at a position, class by class, and counts them. Of a class the first that does not fit
// ends it: the others are no different. Classes for which other pods may make room are tried again as long as any pod
// is placed.
func pack(ctx context.Context, c *fit.Checker, at int, q *queue, t *table) []int {
	free := t.free(c.Snapshot().NodeInfo(at))
	counts := make([]int, len(q.classes))
	closed := make([]bool, len(q.classes))
	for again := true; again && ctx.Err() == nil; {
		again = false
		ordered := false
		for i, cl := range q.classes {
			if closed[i] && !cl.ordered {
				continue
			}
			for _, p := range q.rest(i)[counts[i]:] {
				// Most questions are answered by what is left of the node.
				if cl.demand.exceeds(free) || !c.Fits(ctx, p, at) {
					break
				}
				c.Place(p, at)
				free.add(cl.demand, -1)
				counts[i]++
				again = true
			}
			closed[i] = true
			ordered = ordered || cl.ordered && counts[i] < len(q.rest(i))
		}
		again = again && ordered
	}
	return counts
}
