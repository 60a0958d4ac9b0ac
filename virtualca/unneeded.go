package virtualca

import (
	"sort"
	"time"

	"github.com/scalehist/scalehist/virtualca/listing"
	"github.com/scalehist/scalehist/virtualca/quota"
)

// nodesToDelete lists the unneeded nodes whose time has come and whose group and cluster may shrink: those without pods
// to move, then those with, of these the risky ones last (core/scaledown/unneeded). Upstream walks maps here.
func (l *loop) nodesToDelete() (empty, drained []*unneededNode) {
	sizes := make(map[string]int, len(l.groups))
	for _, g := range l.groups {
		sizes[g.Name] = g.TargetSize - l.a.down.deletions.inGroup(g.Name)
	}
	floor := l.newFloor()
	order := l.a.down.order
	switch {
	case l.a.settings.NodesAsStored:
		order = listing.FreshWalk(order, l.a.settings.Seed, l.d.Loop)
	case !l.a.settings.NodesAsListed:
		order = listing.Circle(order, l.a.settings.Seed, l.d.Loop, listing.Name(l.a.settings.NamelessTies, func(n string) string { return n }))
	}
	for _, withPods := range []bool{false, true} {
		for _, name := range order {
			u := l.a.down.unneeded[name]
			if (len(u.move) > 0) != withPods {
				continue
			}
			if why := l.keep(u, sizes, floor); why != "" {
				l.unremovable(name, why)
				continue
			}
			if withPods {
				drained = append(drained, u)
			} else {
				empty = append(empty, u)
			}
		}
	}
	sort.SliceStable(drained, func(i, j int) bool { return !drained[i].risky && drained[j].risky })
	return l.wholeGroups(empty, drained)
}

// keep says why an unneeded node is unremovable for now; "" when it may go, and then it is counted as gone.
func (l *loop) keep(u *unneededNode, sizes map[string]int, floor *quota.Floor) string {
	if u.node.Annotations[noScaleDownAnnotation] == "true" {
		return nodeScaleDownDisabled
	}
	t := l.a.thresholds(u.group)
	if isReady, _ := ready(u.node); isReady {
		if !longEnough(u.since, t.unneeded, l.now) {
			return nodeNotUnneededLong
		}
	} else if !longEnough(u.since, t.unready, l.now) {
		return nodeNotUnreadyLong
	}
	if sizes[u.group] <= l.group[u.group].MinSize {
		return nodeGroupMinSizeReached
	}
	if r := floor.Below(u.group, u.node); r != "" {
		return nodeMinimalResourceLimit + ": " + r
	}
	sizes[u.group]--
	floor.Take(u.group, u.node)
	return ""
}

// longEnough: strictly more time has passed than asked for; with no time to pass, at once.
func longEnough(since time.Time, d time.Duration, now time.Time) bool {
	return d <= 0 || since.Add(d).Before(now)
}

// wholeGroups leaves of zero-or-max groups only those that can go as a whole: all of the target size or all nodes that
// are registered. Nodes that wait for pods to complete stay as well.
func (l *loop) wholeGroups(empty, drained []*unneededNode) (_, _ []*unneededNode) {
	going, registered := map[string]int{}, map[string]int{}
	for _, list := range [][]*unneededNode{empty, drained} {
		for _, u := range list {
			if !u.waits {
				going[u.group]++
			}
		}
	}
	for _, n := range l.nodes {
		registered[l.groupOf[n.Name]]++
	}
	filter := func(in []*unneededNode) []*unneededNode {
		var out []*unneededNode
		for _, u := range in {
			switch {
			case u.waits:
				l.unremovable(u.node.Name, nodeWaitsForCompletion)
			case l.zeroOrMax(u.group) && going[u.group] < l.group[u.group].TargetSize && going[u.group] < registered[u.group]:
				l.unremovable(u.node.Name, nodeAtomicScaleDown)
			default:
				out = append(out, u)
			}
		}
		return out
	}
	return filter(empty), filter(drained)
}
