package trace

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/observed"
)

// truth is what really happened, nil when the recording shows no autoscaler at work: a bare trace of pods proves
// nothing about node groups that never moved. Target sizes are complete, so they win; a cluster-autoscaler drops events it has
// sent within five minutes, so events are the second choice.
func (r *recorded) truth() *scalehist.RecordedTruth {
	t := &scalehist.RecordedTruth{
		Source: observed.StepsFromSizes, ScaledUpNodeGroups: map[string]int{}, ScaledDownNodeGroups: map[string]int{},
		FinalSizes: map[string]int{}, Steps: r.sizeSteps(),
	}
	if len(t.Steps) == 0 {
		if steps := r.eventSteps(); len(steps) > 0 {
			t.Source, t.Steps = observed.StepsFromEvents, steps
		}
	}
	if len(t.Steps) == 0 && len(r.initial.CASettings.Flags) == 0 {
		return nil
	}
	t.Steps = observed.NamePods(t.Steps, r.eventsAfter())
	groups := r.groups
	for _, name := range slices.Sorted(maps.Keys(r.late)) {
		groups = append(slices.Clip(groups), r.late[name].group)
	}
	sum(t, groups)
	for name := range r.went {
		t.FinalSizes[name] = 0
	}
	return t
}

// steps are the recorded size changes, from target sizes if those were recorded at all, else from events.
func (r *recorded) steps() []scalehist.RecordedStep {
	if steps := r.sizeSteps(); len(steps) > 0 {
		return steps
	}
	return r.eventSteps()
}

// TruthUntil is what had happened by an instant: a replay that ends before the recording is held against that part.
func (in *Input) TruthUntil(until time.Time) *scalehist.RecordedTruth {
	t := in.Truth
	out := &scalehist.RecordedTruth{
		Source: t.Source, ScaledUpNodeGroups: map[string]int{}, ScaledDownNodeGroups: map[string]int{}, FinalSizes: map[string]int{},
	}
	for _, s := range t.Steps {
		if !s.At.After(until) {
			out.Steps = append(out.Steps, s)
		}
	}
	sum(out, in.AllGroups())
	in.recordWaits(out, until)
	return out
}

// recordWaits adds to a truth how long pods had waited by an instant and how many had no node then, where that was recorded.
func (in *Input) recordWaits(t *scalehist.RecordedTruth, until time.Time) {
	if in.waits == nil {
		return
	}
	pending, left := recordedUntil(in.waits, until)
	t.Pending, t.UnschedulableAtEnd = &pending, left
}

// sum fills in the totals of a truth from its steps.
func sum(t *scalehist.RecordedTruth, groups []scalehist.NodeGroup) {
	for _, g := range groups {
		t.FinalSizes[g.Name] = g.TargetSize
	}
	for _, s := range t.Steps {
		t.FinalSizes[s.NodeGroup] = s.To
		if s.To > s.From {
			t.ScaledUpNodeGroups[s.NodeGroup] += s.To - s.From
		} else {
			t.ScaledDownNodeGroups[s.NodeGroup] += s.From - s.To
		}
	}
}

// sizeSteps are the changes of recorded target sizes.
func (r *recorded) sizeSteps() []scalehist.RecordedStep {
	var sizes []observed.NodeGroupSize
	for _, ch := range r.changes {
		if g, ok := ch.Object.(*v1alpha1.NodeGroup); ok {
			sizes = append(sizes, observed.NodeGroupSize{At: ch.At, NodeGroup: g.Name, TargetSize: int(g.Spec.TargetSize), Deleted: ch.Op == scalehist.OpDelete})
		}
	}
	return observed.StepsOfSizes(r.initialSizes(), sizes)
}

func (r *recorded) initialSizes() map[string]int {
	size := map[string]int{}
	for _, g := range r.groups {
		size[g.Name] = g.TargetSize
	}
	return size
}

// eventSteps are the changes that the autoscaler's events state, of groups that are known.
func (r *recorded) eventSteps() []scalehist.RecordedStep {
	size := r.initialSizes()
	for name, g := range r.late {
		size[name] = g.group.TargetSize
	}
	nodes := observed.NewNodes(r.groupOf)
	for _, n := range r.initial.Objects.Nodes {
		nodes.See(n, r.start)
	}
	for _, ch := range r.changes {
		nodes.Change(ch)
	}
	return slices.DeleteFunc(observed.StepsOfEvents(size, r.start, r.events, nodes), func(s scalehist.RecordedStep) bool {
		_, known := size[s.NodeGroup]
		return !known
	})
}

// nodeGroups maps every node ever seen to its group.
func (r *recorded) nodeGroups() map[string]string {
	out := map[string]string{}
	for _, n := range r.initial.Objects.Nodes {
		out[n.Name] = r.groupOf(n)
	}
	for _, ch := range r.changes {
		if n, ok := ch.Object.(*corev1.Node); ok {
			out[n.Name] = r.groupOf(n)
		}
	}
	return out
}
