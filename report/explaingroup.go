package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
)

// ExplainNodeGroup says why a node group grew, did not grow, or shrank, in every loop that had something to say about it;
// with a time only in the last such loop by then, and in those of the same instant.
func ExplainNodeGroup(r *scalehist.ReplayReport, name string, at *time.Time) (*Explanation, error) {
	i := slices.IndexFunc(r.NodeGroups, func(g scalehist.NodeGroupResult) bool { return g.Name == name })
	if i < 0 {
		return nil, unknown(r, "node group", name, NodeGroupNames(r))
	}
	e := explaining(r, "node group "+name)
	g := r.NodeGroups[i]
	var last time.Time
	for _, d := range r.Decisions {
		if at != nil && !d.At.After(*at) && len(e.about(d, name)) > 0 {
			last = d.At
		}
	}
	when := r.StartTime
	if at != nil {
		when = *at
	}
	size := g.Initial
	for _, s := range g.Sizes {
		if !r.StartTime.Add(time.Duration(s.Offset)).After(when) {
			size = s.Size
		}
	}
	bounds := fmt.Sprintf("It may have %d to %d nodes%s", g.MinSize, g.MaxSize, g.Bounds().GuessNote())
	if at == nil {
		e.say(r.StartTime, "%s, and begins with %d.", bounds, g.Initial)
	} else {
		e.say(when, "%s, and its target size is %d.", bounds, size)
	}
	said := ""
	for _, d := range r.Decisions {
		if at != nil && !d.At.Equal(last) {
			continue
		}
		for _, text := range e.about(d, name) {
			if text != said { // a loop that repeats the one before says nothing new
				e.say(d.At, "%s: %s", loopName(d), text)
			}
			said = text
		}
	}
	if at != nil && last.IsZero() {
		e.say(when, "No loop by then had anything to say about it.")
	}
	if at == nil {
		e.say(r.EndTime, "It ends with %d.", g.Final)
	}
	return e.done(), nil
}

func loopName(d scalehist.Decision) string {
	if d.Outcome == "" {
		return fmt.Sprintf("After loop %d", d.Loop)
	}
	return fmt.Sprintf("Loop %d", d.Loop)
}

// about says what a decision means for a group.
func (e *explainer) about(d scalehist.Decision, group string) []string {
	var out []string
	if text := e.up(d, group); text != "" {
		out = append(out, text)
	}
	for _, f := range d.Failed {
		if f.NodeGroup == group {
			out = append(out, fmt.Sprintf("it was asked for %s more and did not deliver: %s.", plural.Of(f.Delta, "node"), f.Reason))
		}
	}
	for _, n := range d.Deleting {
		if n.NodeGroup != group {
			continue
		}
		what := "nothing to move"
		if len(n.Pods) > 0 {
			what = fmt.Sprintf("%s to move: %s", plural.Of(len(n.Pods), "pod"), some(n.Pods, 5))
		}
		out = append(out, fmt.Sprintf("node %s began to go: unneeded since %s, %.1f%% utilized, %s.", n.Node, offset(e.r, n.UnneededSince), 100*n.Utilization, what))
	}
	for _, s := range d.ScaleDowns {
		if s.NodeGroup != group {
			continue
		}
		node := "a node that never came"
		if s.Node != "" {
			node = "node " + s.Node
		}
		text := fmt.Sprintf("%s was taken off, %d->%d", node, s.From, s.To)
		if s.Reason != "" {
			text += ": " + s.Reason
		}
		out = append(out, text+".")
	}
	return out
}

// up says what the scale-up part of a decision means for a group.
func (e *explainer) up(d scalehist.Decision, group string) string {
	if len(d.UnschedulablePods) == 0 {
		return ""
	}
	head := fmt.Sprintf("%s found no room", plural.Of(len(d.UnschedulablePods), "pod"))
	if n := d.Upcoming[group]; n > 0 {
		head += fmt.Sprintf(", beside %s of it on the way", plural.Of(n, "node"))
	}
	for _, s := range d.ScaleUps {
		if s.NodeGroup != group {
			continue
		}
		head += fmt.Sprintf("; it grew %d->%d", s.From, s.To)
		if pick, ok := chosen(d); ok {
			if pick.NodeGroup != group {
				head += ", as it is similar to " + pick.NodeGroup
			}
			head += ", chosen with " + optionText(pick)
			if pick.Reason != "" {
				head += ": " + pick.Reason
			}
		}
		return sentence(head, others(d, group))
	}
	instead := "no group grew"
	if len(d.ScaleUps) > 0 {
		instead = grown(d) + " grew"
	}
	for _, o := range d.Options {
		if o.NodeGroup == group && !o.Chosen {
			head += fmt.Sprintf("; it was not chosen with %s", optionText(o))
			if o.Reason != "" {
				head += ": " + o.Reason
			}
			return head + "; " + instead + "."
		}
	}
	for _, s := range d.Skipped {
		if s.NodeGroup == group {
			head += "; it could not grow: " + s.Reason
			for _, b := range d.Backoff {
				if b.NodeGroup == group {
					head += fmt.Sprintf(" (until %s: %s)", offset(e.r, b.Until), b.Reason)
				}
			}
			return head + "; " + instead + "."
		}
	}
	for _, s := range d.Rejected {
		if s.NodeGroup == group {
			return fmt.Sprintf("%s; it would have helped none: %s; %s.", head, s.Reason, instead)
		}
	}
	return ""
}
