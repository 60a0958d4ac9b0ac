package virtualca

import (
	"context"
	"fmt"
	"strings"

	"github.com/scalehist/scalehist"
)

// startDeletions taints the nodes that may go now and begins their removal, those without pods first
// (core/scaledown/actuation). A node that cannot be tainted ends it: those tainted with it are set free again.
func (l *loop) startDeletions(ctx context.Context, empty, drained []*unneededNode) {
	empty, drained = l.crop(empty, drained)
	if len(empty)+len(drained) == 0 {
		l.d.ScaleDown = scalehist.ScaleDownNoNodeDeleted
		return
	}
	sizes := map[string]int{}
	for _, list := range [][]*unneededNode{empty, drained} {
		for _, u := range list {
			sizes[u.group]++
		}
	}
	for _, list := range [][]*unneededNode{empty, drained} {
		if err := l.taintAll(ctx, list); err != nil {
			l.d.ScaleDown = scalehist.ScaleDownError
			l.a.down.cooldown.failed = l.now
			l.note("scale-down: %v", err)
			return
		}
		for _, u := range list {
			l.begin(u, sizes[u.group])
		}
	}
	l.d.ScaleDown = scalehist.ScaleDownNodeDeleteStarted
	l.a.down.cooldown.deleted = l.now
}

// taintAll puts deletion taints on nodes, or on none.
func (l *loop) taintAll(ctx context.Context, nodes []*unneededNode) error {
	for i, u := range nodes {
		err := l.markToBeDeleted(ctx, u.node.Name)
		if err == nil {
			l.event("ScaleDown", "Node/"+u.node.Name, "marked the node as toBeDeleted/unschedulable")
			continue
		}
		l.event("ScaleDownFailed", "Node/"+u.node.Name, fmt.Sprintf("failed to mark the node as toBeDeleted/unschedulable: %v", err))
		for _, done := range nodes[:i] {
			l.release(ctx, done.node.Name)
		}
		l.release(ctx, u.node.Name)
		return err
	}
	return nil
}

// begin starts the removal of a tainted node.
func (l *loop) begin(u *unneededNode, together int) {
	name := u.node.Name
	x := &deletion{node: name, group: u.group, drain: len(u.move) > 0, next: l.now.Add(l.a.settings.Down.DelayAfterTaint), began: l.now}
	if l.zeroOrMax(u.group) {
		x.together = together
	}
	l.a.down.deletions.add(x)
	var pods []string
	for _, p := range u.move {
		pods = append(pods, podName(p))
	}
	used := l.a.down.utilization[name]
	l.d.Deleting = append(l.d.Deleting, scalehist.NodeDeletion{NodeGroup: u.group, Node: name, UnneededSince: u.since, Utilization: used, Pods: pods})
	if x.drain {
		l.event("ScaleDown", l.statusObject(), fmt.Sprintf("Scale-down: removing node %s, utilization: %.4f, pods to reschedule: %s", name, used, strings.Join(pods, ",")))
	} else {
		l.event("ScaleDownEmpty", l.statusObject(), fmt.Sprintf("Scale-down: removing empty node %q", name))
	}
}

// deleteNodes asks the provider to delete nodes of a group in one call and ends their removal.
func (l *loop) deleteNodes(ctx context.Context, group string, nodes []*deletion) {
	names := make([]string, len(nodes))
	for i, x := range nodes {
		names[i] = x.node
	}
	from := l.targetSize(group)
	if err := l.a.provider.DeleteNodes(ctx, l.now, group, names); err != nil {
		for _, x := range nodes {
			l.fail(ctx, x, err.Error())
		}
		return
	}
	for _, x := range nodes {
		l.a.down.deletions.end(x)
		l.event("ScaleDown", "Node/"+x.node, "nodes removed by cluster autoscaler")
		reason := "unneeded and empty"
		if x.drain {
			reason = "unneeded and drained"
			l.event("ScaleDown", l.statusObject(), fmt.Sprintf("Scale-down: node %s removed with drain", x.node))
		} else {
			l.event("ScaleDownEmpty", l.statusObject(), fmt.Sprintf("Scale-down: empty node %s removed", x.node))
		}
		l.d.ScaleDowns = append(l.d.ScaleDowns, scalehist.ScaleDown{NodeGroup: group, Node: x.node, From: from, To: from - 1, Reason: reason})
		from--
	}
	l.a.down.cooldown.of(group).deleted = l.now
	l.refresh()
}

func (l *loop) targetSize(group string) int {
	for _, g := range l.a.provider.Groups() {
		if g.Name == group {
			return g.TargetSize
		}
	}
	return 0
}

// fail ends a removal that went wrong: the node is free again. In a zero-or-max group none goes without all.
func (l *loop) fail(ctx context.Context, x *deletion, why string) {
	if l.a.down.deletions.of(x.node) != x {
		return
	}
	l.a.down.deletions.end(x)
	text := "failed to delete empty node: " + why
	if x.drain {
		text = "failed to drain and delete node: " + why
	}
	l.event("ScaleDownFailed", "Node/"+x.node, text)
	l.note("node %s is not removed: %s", x.node, text)
	l.release(ctx, x.node)
	l.a.down.cooldown.of(x.group).failed = l.now
	if x.together == 0 {
		return
	}
	delete(l.a.down.deletions.queues, x.group)
	for _, o := range append([]*deletion(nil), l.a.down.deletions.list...) {
		if o.group == x.group {
			l.fail(ctx, o, "the group goes as a whole, and node "+x.node+" could not")
		}
	}
}
