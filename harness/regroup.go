package harness

import (
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/trace"
)

// regroup takes a recorded change of a group over to the provider. A group that comes has its nodes from r.join on.
func (r *run) regroup(t time.Time, c trace.GroupChange) error {
	was, known := r.provider.Group(c.Group.Name)
	if c.Op == scalehist.OpDelete {
		if !known {
			return nil
		}
		r.ledger.GroupWent(t, was)
		r.arrived = slices.DeleteFunc(r.arrived, func(n string) bool { return n == was.Name })
		return r.provider.RemoveGroup(t, was.Name, func(node string) bool { return slices.Contains(c.Keep, node) })
	}
	if err := r.provider.UpdateGroup(c.Group); err != nil {
		return err
	}
	if !known {
		r.ledger.GroupCame(t, c.Group)
		r.arrived = append(r.arrived, c.Group.Name)
	}
	return nil
}

// join gives groups that have just come the nodes that exist and name them, and asks for those that are missing: who made
// the group asked for them, so no autoscaler counts them as its own.
func (r *run) join(t time.Time) error {
	if len(r.arrived) == 0 {
		return nil
	}
	for _, n := range r.plane.Objects().Nodes {
		g, ok := r.provider.GroupForNode(n)
		if !ok || !slices.Contains(r.arrived, g) {
			continue
		}
		if err := r.provider.Adopt(n); err != nil {
			return err
		}
		r.ledger.Joined(n.Name, g)
	}
	for _, g := range r.arrived {
		r.provider.FillGroup(t, g)
	}
	r.arrived = nil
	return nil
}
