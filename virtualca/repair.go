package virtualca

import (
	"context"
	"fmt"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// removeLongUnregistered deletes instances whose node never came, down to the group's min size.
func (l *loop) removeLongUnregistered(ctx context.Context) {
	for _, g := range l.groups {
		for _, i := range l.a.state.of(g.Name).longUnregistered {
			now := l.group[g.Name]
			if now.TargetSize <= now.MinSize && !l.a.settings.ForceDeleteUnregistered {
				l.note("%s: instance %s never registered; it stays, the group is at its min size", g.Name, i.NodeName)
				break
			}
			l.deleteInstance(ctx, g.Name, i, "DeleteUnregistered", "never registered")
		}
	}
}

// removeFailed deletes instances that could not be created. It tries again every loop until they are gone. Of a
// zero-or-max group all instances are removed when one could not be created, unless it may grow in part.
func (l *loop) removeFailed(ctx context.Context) {
	present := map[string]bool{}
	for _, g := range l.groups {
		before := len(l.d.ScaleDowns)
		for _, i := range l.a.state.instances[g.Name] {
			if i.State != cloudprovider.InstanceCreating || i.Error == nil {
				continue
			}
			present[i.ID] = true
			if l.allOrNone(g.Name) {
				if len(l.d.ScaleDowns) == before {
					l.deleteAll(ctx, g.Name, i.Error.Message)
				}
				continue
			}
			l.deleteInstance(ctx, g.Name, i, "", "could not be created: "+i.Error.Message)
		}
		if n := len(l.d.ScaleDowns) - before; n > 0 {
			l.note("deleted %s of %s that could not be created", plural.Of(n, "instance"), g.Name)
		}
	}
	for id := range l.a.state.failed {
		if !present[id] {
			delete(l.a.state.failed, id)
		}
	}
}

// allOrNone: the group has no nodes or all of them, and a growth in part is none.
func (l *loop) allOrNone(group string) bool {
	o, ok := l.a.provider.GroupOptions(group)
	return ok && l.zeroOrMax(group) && (o.AllowNonAtomicScaleUpToMax == nil || !*o.AllowNonAtomicScaleUpToMax)
}

// deleteAll deletes every instance of a group in one call.
func (l *loop) deleteAll(ctx context.Context, group, why string) {
	var names []string
	for _, i := range l.a.state.instances[group] {
		if i.State != cloudprovider.InstanceDeleting {
			names = append(names, i.NodeName)
		}
	}
	from := l.group[group].TargetSize
	if err := l.a.provider.DeleteNodes(ctx, l.now, group, names); err != nil {
		l.note("%s: an instance could not be created (%s), so none is wanted; deleting all %d: %v", group, why, len(names), err)
		return
	}
	l.refresh()
	for i, n := range names {
		l.d.ScaleDowns = append(l.d.ScaleDowns, scalehist.ScaleDown{NodeGroup: group, Node: n, From: from - i, To: from - i - 1,
			Reason: "the group has all nodes or none, and an instance could not be created: " + why})
	}
}

func (l *loop) deleteInstance(ctx context.Context, group string, i cloudprovider.Instance, event, why string) {
	from := l.group[group].TargetSize
	if err := l.a.provider.DeleteNodes(ctx, l.now, group, []string{i.NodeName}); err != nil {
		if event != "" {
			l.event(event+"Failed", l.statusObject(), fmt.Sprintf("Failed to remove node %s: %v", i.NodeName, err))
		}
		l.note("%s: instance %s %s; deleting it: %v", group, i.NodeName, why, err)
		return
	}
	if event != "" {
		l.event(event, l.statusObject(), fmt.Sprintf("Removed unregistered node %s", i.NodeName))
	}
	l.refresh()
	l.d.ScaleDowns = append(l.d.ScaleDowns, scalehist.ScaleDown{NodeGroup: group, Node: i.NodeName, From: from, To: l.group[group].TargetSize, Reason: "instance " + why})
}

// fixSizes lowers target sizes that have been ahead of the nodes for too long. It says whether the loop is over: it is
// when a size was changed, or the provider refused to.
func (l *loop) fixSizes(ctx context.Context) bool {
	fixed := false
	for _, g := range l.groups {
		size, ok := l.a.state.incorrect[g.Name]
		if !ok || size.current >= size.expected || !size.since.Add(l.a.provisionTime(g.Name)).Before(l.now) {
			continue
		}
		delta := size.expected - size.current
		if err := l.a.provider.DecreaseTargetSize(ctx, l.now, g.Name, delta); err != nil {
			l.note("%s: target size %d is ahead of %s for too long; lowering it: %v", g.Name, size.expected, plural.Of(size.current, "node"), err)
			return true
		}
		l.d.ScaleDowns = append(l.d.ScaleDowns, scalehist.ScaleDown{NodeGroup: g.Name, From: size.expected, To: size.current, Reason: "target size ahead of the nodes for too long"})
		fixed = true
	}
	if fixed {
		l.refresh()
	}
	return fixed
}
