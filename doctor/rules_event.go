package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/observed"
	"github.com/scalehist/scalehist/recorder/sources"
)

var eventRules = []Rule{
	{Code: "SH501", Title: "scale-up without demand", Severity: Warning, run: noDemand,
		Doc: "The autoscaler's event names a pod that triggered a scale-up, and the history shows no such pod waiting then: it was not recorded, had a " +
			"node already, or it was a time in which nobody watched. A replay cannot decide what the real autoscaler decided without what it saw.",
		Advice: "choose a window without the event, or know that this scale-up will be missing in a replay"},
	{Code: "SH502", Title: "scale-up of an unknown group", Severity: Warning, run: unknownScaleUp,
		Doc:    "The autoscaler's event names a node group that was not recorded: a replay cannot choose it.",
		Advice: "record with a node-group source that calls groups as the autoscaler does, or a mapping file"},
	{Code: "SH503", Title: "step that no event states", Severity: Info, run: silentSteps,
		Doc: "A target size grew and no event of the autoscaler says so. Upstream sends an event on one object once in five minutes, so some are always " +
			"missing; where none is there at all, somebody else may have scaled.",
		Advice: "nothing where the autoscaler's other events are there; else find out who scales the group"},
	{Code: "SH504", Title: "event without its step", Severity: Warning, run: missingSteps,
		Doc: "The autoscaler says that it grew a group, and the recorded target size does not follow. The target sizes win over events where any was seen " +
			"to change, so the recorded truth lacks this step.",
		Advice: "check the node-group source; a verdict about this group means little"},
	{Code: "SH505", Title: "sizes read from events", Severity: Info, run: sizesFromEvents,
		Doc:    "No target size was seen to change, and events state scale-ups: the recorded truth is read from the events, of which upstream leaves some out.",
		Advice: "record with a node-group source that follows target sizes"},
	{Code: "SH506", Title: "events recorded twice", Severity: Info, run: duplicateEvents,
		Doc: "Two event objects say the same, of the same object, at the same time: they were recorded through both event APIs, or a log was put together " +
			"from parts that overlap. Steps are counted once all the same.",
		Advice: "nothing for a replay; counts of events in this history are too high"},
}

// loop is how far apart events and sizes of one loop may be: loops are a scan interval apart, 10 s by default.
const loop = 10 * time.Second

// growths are the scale-ups that events of the window state. Events that only repeat in the window are left out.
func (in *Input) growths() []observed.Growth {
	var out []observed.Growth
	for _, e := range in.Events {
		if !e.ObservedAt.Before(in.From) {
			out = append(out, observed.Growths(e)...)
		}
	}
	return out
}

func regarding(e history.Event) string {
	return ref{e.Regarding.Kind, e.Regarding.Namespace, e.Regarding.Name}.String()
}

func component(e history.Event) string {
	if e.Component == "" {
		return "an unnamed component"
	}
	return e.Component
}

func noDemand(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	for _, e := range in.Events {
		if e.Reason != "TriggeredScaleUp" || e.Regarding.Kind != "Pod" || e.ObservedAt.Before(in.From) || e.At.Before(in.From) {
			continue
		}
		l := in.scene.podOf(e)
		why := ""
		switch gap, blind := in.inGap(e.At); {
		case blind:
			why = fmt.Sprintf("nobody watched pods or nodes from %s to %s", moment.Stamp(gap.From), moment.Stamp(gap.To))
		case l == nil:
			why = "the pod was not recorded"
		case l.seen.After(e.ObservedAt.Add(ahead)):
			why = fmt.Sprintf("the pod was first seen %s later", l.seen.Sub(e.ObservedAt))
		case !l.bound.IsZero() && l.bound.Add(ahead).Before(e.At):
			why = fmt.Sprintf("the pod had node %s since %s", l.pod.Spec.NodeName, moment.Stamp(l.bound))
		case !l.gone.IsZero() && l.gone.Add(ahead).Before(e.At):
			why = fmt.Sprintf("the pod was gone since %s", moment.Stamp(l.gone))
		default:
			continue
		}
		out = append(out, Finding{At: e.ObservedAt, Object: regarding(e), Message: fmt.Sprintf("%s: %s", e.Message, why)})
	}
	return out, nil
}

func unknownScaleUp(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	done := map[string]bool{}
	for _, g := range in.growths() {
		if r := (ref{kind: "NodeGroup", name: g.NodeGroup}); !in.scene.seen[r] && !done[g.NodeGroup] {
			done[g.NodeGroup] = true
			out = append(out, Finding{At: g.Event.ObservedAt, Object: r.String(), Message: fmt.Sprintf("event %s says %d->%d, and the group was not recorded", g.Event.Reason, g.From, g.To)})
		}
	}
	return out, nil
}

// step is a growth of a recorded target size.
type step struct {
	at       time.Time
	group    string
	from, to int
}

// steps are the growths of target sizes that are not counted from nodes, and all sizes of each group over time.
func (in *Input) steps() (steps []step, sizes map[string][]step) {
	size := map[string]int{}
	sizes = map[string][]step{}
	for _, g := range in.scene.groups {
		name, to := g.object.Name, int(g.object.Spec.TargetSize)
		if g.object.Annotations[sources.TargetSizeFrom] == sources.FromNodes {
			continue
		}
		from, known := size[name]
		size[name] = to
		s := step{g.at, name, from, to}
		sizes[name] = append(sizes[name], s)
		if known && to > from {
			steps = append(steps, s)
		}
	}
	return steps, sizes
}

func silentSteps(_ context.Context, in *Input) ([]Finding, error) {
	growths := in.growths()
	steps, _ := in.steps()
	if len(steps) == 0 {
		return nil, nil
	}
	if len(growths) == 0 {
		return []Finding{{At: steps[0].at, Object: "NodeGroup " + steps[0].group,
			Message: fmt.Sprintf("target sizes grew in %s (this one is the first), and no event of an autoscaler says so", plural.Of(len(steps), "step"))}}, nil
	}
	var out []Finding
	for _, s := range steps {
		found := false
		for _, g := range growths {
			apart := min(g.Event.At.Sub(s.at).Abs(), g.Event.ObservedAt.Sub(s.at).Abs())
			found = found || g.NodeGroup == s.group && g.From < s.to && g.To > s.from && apart <= loop
		}
		if !found {
			out = append(out, Finding{At: s.at, Object: "NodeGroup " + s.group, Message: fmt.Sprintf("target size %d->%d, and no event says so", s.from, s.to)})
		}
	}
	return out, nil
}

func missingSteps(_ context.Context, in *Input) ([]Finding, error) {
	steps, sizes := in.steps()
	if len(steps) == 0 {
		return nil, nil // SH505
	}
	var out []Finding
	done := map[step]bool{}
	for _, g := range in.growths() {
		if len(sizes[g.NodeGroup]) == 0 || g.Event.ObservedAt.Add(loop).After(in.To) {
			continue // unknown, counted from nodes, or the size may have followed after the window
		}
		reached := 0 // the largest size in force around the event
		for i, s := range sizes[g.NodeGroup] {
			over := i+1 < len(sizes[g.NodeGroup]) && sizes[g.NodeGroup][i+1].at.Before(g.Event.At.Add(-loop))
			if !over && !s.at.After(g.Event.ObservedAt.Add(loop)) {
				reached = max(reached, s.to)
			}
		}
		key := step{g.Event.At, g.NodeGroup, g.From, g.To} // one event for each pod
		if reached >= g.To || done[key] {
			continue
		}
		done[key] = true
		out = append(out, Finding{At: g.Event.ObservedAt, Object: "NodeGroup " + g.NodeGroup,
			Message: fmt.Sprintf("event %s says %d->%d, the target size was %d at most", g.Event.Reason, g.From, g.To, reached)})
	}
	return out, nil
}

func sizesFromEvents(_ context.Context, in *Input) ([]Finding, error) {
	growths := in.growths()
	if steps, _ := in.steps(); len(steps) > 0 || len(growths) == 0 {
		return nil, nil
	}
	return []Finding{{At: growths[0].Event.ObservedAt, Message: fmt.Sprintf("events state %s of a group (this one is the first), and no recorded target size grows", plural.Of(len(growths), "growth"))}}, nil
}

func duplicateEvents(_ context.Context, in *Input) ([]Finding, error) {
	type key struct {
		component, reason, message, object string
		at                                 time.Time
	}
	seen := map[key]bool{}
	at := map[string]int{} // finding of a reason
	count := map[string]int{}
	var out []Finding
	for _, e := range in.Events {
		k := key{e.Component, e.Reason, e.Message, regarding(e) + "/" + string(e.Regarding.UID), e.At.UTC()}
		if !seen[k] {
			seen[k] = true
			continue
		}
		i, ok := at[e.Reason]
		if !ok {
			i = len(out)
			at[e.Reason] = i
			out = append(out, Finding{At: e.ObservedAt, Object: regarding(e)})
		}
		count[e.Reason]++
		out[i].Message = fmt.Sprintf("%s %s recorded before, word for word (this one is the first)", plural.Of(count[e.Reason], e.Reason+" event"), plural.Verb(count[e.Reason], "was", "were"))
	}
	return out, nil
}
