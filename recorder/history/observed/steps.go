package observed

import (
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
)

// The sources of steps.
const (
	StepsFromSizes  = "target sizes"
	StepsFromEvents = "events"
)

// sameStep is how far apart events may state one step: all come out of one loop, and loops are a scan interval apart.
const sameStep = 10 * time.Second

// Steps are the recorded changes of target sizes, in time order, with the pods that events name for them. They are read from
// the node groups; where no group's size was seen to change, from the events. source says which.
func Steps(ctx context.Context, db *history.DB) (steps []scalehist.RecordedStep, source string, err error) {
	from, to := db.Span()
	at, err := db.SnapshotAt(ctx, from, "NodeGroup", "Node")
	if err != nil {
		return nil, "", err
	}
	changes, err := NodeGroupSizes(ctx, db, from, to)
	if err != nil {
		return nil, "", err
	}
	events, err := db.Events(ctx, history.EventFilter{From: from, To: to, Reasons: scalingReasons})
	if err != nil {
		return nil, "", err
	}
	sizes := SizesAt(at)
	if steps = StepsOfSizes(sizes, changes); len(steps) > 0 {
		return NamePods(steps, events), StepsFromSizes, nil
	}
	if len(events) == 0 {
		return nil, StepsFromSizes, nil
	}
	nodes := NewNodes(func(n *corev1.Node) string { return n.Annotations[v1alpha1.NodeGroupAnnotation] })
	for _, n := range at.Objects.Nodes {
		nodes.See(n, from)
	}
	for ch, err := range db.Changes(ctx, from, to) {
		if err != nil {
			return nil, "", err
		}
		nodes.Change(ch)
	}
	if steps = StepsOfEvents(sizes, from, events, nodes); len(steps) > 0 {
		return NamePods(steps, events), StepsFromEvents, nil
	}
	return nil, StepsFromSizes, nil
}

// Departed are the nodes of a snapshot that the recorded autoscaler had taken off the target size already, but that were
// still there: tainted, and more than the target size of their group.
func Departed(s *scalehist.ClusterSnapshot) map[string]bool {
	over := map[string]int{}
	for _, n := range s.Nodes {
		over[n.NodeGroup]++
	}
	for _, g := range s.NodeGroups {
		over[g.Name] -= g.TargetSize
	}
	out := map[string]bool{}
	for _, n := range s.Nodes {
		if n.NodeGroup != "" && over[n.NodeGroup] > 0 && scalehist.BeingRemoved(n.Node) {
			over[n.NodeGroup]--
			out[n.Name] = true
		}
	}
	return out
}

// SizesAt are the target sizes of a snapshot's node groups. One behind the nodes is not believed: what is there was asked for.
func SizesAt(s *scalehist.ClusterSnapshot) map[string]int {
	sizes, nodes, departed := map[string]int{}, map[string]int{}, Departed(s)
	for _, n := range s.Nodes {
		if !departed[n.Name] {
			nodes[n.NodeGroup]++
		}
	}
	for _, g := range s.NodeGroups {
		sizes[g.Name] = max(g.TargetSize, nodes[g.Name])
	}
	return sizes
}

// StepsOfSizes reads steps from changes of node groups, in time order, that began with sizes. What a group comes with is no
// step, nor is its end.
func StepsOfSizes(sizes map[string]int, changes []NodeGroupSize) []scalehist.RecordedStep {
	sizes = maps.Clone(sizes)
	var steps []scalehist.RecordedStep
	for _, c := range changes {
		from, known := sizes[c.NodeGroup]
		if c.Deleted {
			delete(sizes, c.NodeGroup)
			continue
		}
		sizes[c.NodeGroup] = c.TargetSize
		if known && from != c.TargetSize {
			steps = append(steps, scalehist.RecordedStep{At: c.At, NodeGroup: c.NodeGroup, From: from, To: c.TargetSize})
		}
	}
	return steps
}

// StepsOfEvents reads steps from the autoscaler's events after start. One step is stated on many pods; it counts once. A step that
// does not begin where the last one ended shows one that no event states (upstream sends an event about one object once in five
// minutes): it becomes a step too. A group that sizes has not begins with what the first event says.
func StepsOfEvents(sizes map[string]int, start time.Time, events []history.Event, nodes *Nodes) []scalehist.RecordedStep {
	type key struct {
		group    string
		from, to int
	}
	sizes = maps.Clone(sizes)
	seen := map[key]time.Time{}
	removed := map[*NodeLife]bool{}
	var steps []scalehist.RecordedStep
	grow := func(at time.Time, g Growth) {
		k := key{g.NodeGroup, g.From, g.To}
		last, again := seen[k]
		now, known := sizes[g.NodeGroup]
		if !known {
			now = g.From
		}
		// Stated about another pod, or, just after the start, about a step before it.
		if g.From >= g.To || again && at.Sub(last) < sameStep || !again && now == g.To && at.Sub(start) < sameStep {
			return
		}
		seen[k] = at
		if now != g.From {
			steps = append(steps, scalehist.RecordedStep{At: at, NodeGroup: g.NodeGroup, From: now, To: g.From})
		}
		steps = append(steps, scalehist.RecordedStep{At: at, NodeGroup: g.NodeGroup, From: g.From, To: g.To})
		sizes[g.NodeGroup] = g.To
	}
	for _, e := range events {
		if !e.ObservedAt.After(start) {
			continue
		}
		for _, g := range Growths(e) {
			grow(e.ObservedAt, g)
		}
		if e.Reason != "ScaleDown" || e.Regarding.Kind != "Node" || e.Message != MarkedForRemoval {
			continue
		}
		n := nodes.Regarded(e)
		if n == nil || n.NodeGroup == "" || removed[n] {
			continue
		}
		removed[n] = true
		now := sizes[n.NodeGroup]
		steps = append(steps, scalehist.RecordedStep{At: e.ObservedAt, NodeGroup: n.NodeGroup, From: now, To: now - 1})
		sizes[n.NodeGroup] = now - 1
	}
	return steps
}

// NamePods adds to steps the pods whose events name them. A group may take the same step twice: the nearest is meant.
func NamePods(steps []scalehist.RecordedStep, events []history.Event) []scalehist.RecordedStep {
	for _, e := range events {
		if e.Reason != "TriggeredScaleUp" {
			continue
		}
		for _, g := range Growths(e) {
			nearest := -1
			for i, s := range steps {
				if s.NodeGroup == g.NodeGroup && s.From == g.From && s.To == g.To &&
					(nearest < 0 || s.At.Sub(e.ObservedAt).Abs() < steps[nearest].At.Sub(e.ObservedAt).Abs()) {
					nearest = i
				}
			}
			if nearest >= 0 {
				steps[nearest].Pods = append(steps[nearest].Pods, e.Regarding.Namespace+"/"+e.Regarding.Name)
			}
		}
	}
	for i := range steps {
		slices.Sort(steps[i].Pods)
		steps[i].Pods = slices.Compact(steps[i].Pods)
	}
	return steps
}
