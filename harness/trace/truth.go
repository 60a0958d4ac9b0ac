package trace

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

var (
	// triggered is the event a cluster-autoscaler writes on a pod: "pod triggered scale-up: [{ng 1->2 (max: 5)}]".
	triggered = regexp.MustCompile(`\{(\S+) (\d+)->(\d+) \(max: \d+\)\}`)
	// sized is its event on the status ConfigMap, after the fact.
	sized = regexp.MustCompile(`^Scale-up: group (\S+) size set to (\d+) instead of (\d+) \(max: \d+\)$`)
)

const markedToBeDeleted = "marked the node as toBeDeleted/unschedulable"

// truth is what really happened, nil when the recording shows no autoscaler at work: a bare trace of pods proves
// nothing about node groups that never moved. Target sizes are complete, so they win; a cluster-autoscaler drops events it has
// sent within five minutes, so events are the second choice.
func (r *recorded) truth() *scalehist.RecordedTruth {
	t := &scalehist.RecordedTruth{
		Source: "target sizes", ScaledUpNodeGroups: map[string]int{}, ScaledDownNodeGroups: map[string]int{},
		FinalSizes: map[string]int{}, Steps: r.sizeSteps(),
	}
	if len(t.Steps) == 0 {
		if steps := r.eventSteps(); len(steps) > 0 {
			t.Source, t.Steps = "events", steps
		}
	}
	if len(t.Steps) == 0 && len(r.initial.CASettings.Flags) == 0 {
		return nil
	}
	r.namePods(t.Steps)
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
	size := r.initialSizes()
	var steps []scalehist.RecordedStep
	for _, ch := range r.changes {
		g, ok := ch.Object.(*v1alpha1.NodeGroup)
		if !ok || ch.Op == scalehist.OpDelete {
			continue
		}
		from, known := size[g.Name]
		if to := int(g.Spec.TargetSize); known && to != from {
			steps = append(steps, scalehist.RecordedStep{At: ch.At, NodeGroup: g.Name, From: from, To: to})
			size[g.Name] = to
		}
	}
	return steps
}

func (r *recorded) initialSizes() map[string]int {
	size := map[string]int{}
	for _, g := range r.groups {
		size[g.Name] = g.TargetSize
	}
	for name, g := range r.late {
		size[name] = g.group.TargetSize // what it came with is no step
	}
	return size
}

// sameTold is how far apart events may tell one step: all come out of one loop, and loops are a scan interval apart.
const sameTold = 10 * time.Second

// eventSteps reads the steps from the autoscaler's events. The same step is told on many pods; it counts once. A step
// that does not begin where the last one ended tells of one that no event told: it becomes a step too.
func (r *recorded) eventSteps() []scalehist.RecordedStep {
	type key struct {
		group    string
		from, to int
	}
	size := r.initialSizes()
	nodes := r.nodeLives()
	told := map[key]time.Time{}
	var steps []scalehist.RecordedStep
	grow := func(at time.Time, name string, from, to int) {
		k := key{name, from, to}
		last, again := told[k]
		now, known := size[name]
		// Told about another pod, or, just after the start, about a step before it.
		retold := again && at.Sub(last) < sameTold || !again && now == to && at.Sub(r.start) < sameTold
		if !known || from >= to || retold {
			return
		}
		told[k] = at
		if now != from {
			steps = append(steps, scalehist.RecordedStep{At: at, NodeGroup: name, From: now, To: from})
		}
		steps = append(steps, scalehist.RecordedStep{At: at, NodeGroup: name, From: from, To: to})
		size[name] = to
	}
	for _, e := range r.eventsAfter() {
		switch {
		case e.Reason == "TriggeredScaleUp":
			for _, m := range triggered.FindAllStringSubmatch(e.Message, -1) {
				grow(e.ObservedAt, m[1], atoi(m[2]), atoi(m[3]))
			}
		case e.Reason == "ScaledUpGroup":
			if m := sized.FindStringSubmatch(e.Message); m != nil {
				grow(e.ObservedAt, m[1], atoi(m[3]), atoi(m[2]))
			}
		case e.Reason == "ScaleDown" && e.Regarding.Kind == "Node" && e.Message == markedToBeDeleted:
			n := nodeRegarded(nodes, e)
			if n == nil || n.group == "" || n.marked {
				continue
			}
			n.marked = true
			steps = append(steps, scalehist.RecordedStep{At: e.ObservedAt, NodeGroup: n.group, From: size[n.group], To: size[n.group] - 1})
			size[n.group]--
		}
	}
	return steps
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

// namePods adds the pods whose events name a step.
func (r *recorded) namePods(steps []scalehist.RecordedStep) {
	for _, e := range r.eventsAfter() {
		if e.Reason != "TriggeredScaleUp" {
			continue
		}
		for _, m := range triggered.FindAllStringSubmatch(e.Message, -1) {
			i := -1
			for j, s := range steps { // a group may take the same step twice: the nearest is meant
				if s.NodeGroup == m[1] && s.From == atoi(m[2]) && s.To == atoi(m[3]) &&
					(i < 0 || s.At.Sub(e.ObservedAt).Abs() < steps[i].At.Sub(e.ObservedAt).Abs()) {
					i = j
				}
			}
			if i < 0 {
				continue
			}
			if pod := e.Regarding.Namespace + "/" + e.Regarding.Name; !slices.Contains(steps[i].Pods, pod) {
				steps[i].Pods = append(steps[i].Pods, pod)
			}
		}
	}
	for i := range steps {
		slices.Sort(steps[i].Pods)
	}
}

// atoi reads digits a regular expression has matched.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
