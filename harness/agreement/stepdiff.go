package agreement

import (
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
)

// differences lists the steps in which replay and recording differ, with the reason as far as it is known.
func (c Comparison) differences() []scalehist.Difference {
	var out []scalehist.Difference
	used := make([]bool, len(c.Replayed))
	var reached []time.Time
	var order, other []scalehist.RecordedStep
	for _, step := range c.Truth.Steps {
		i := c.match(step, used)
		if i < 0 || !sameStep(step, c.Replayed[i]) {
			other = append(other, step)
		}
		if i < 0 {
			out = append(out, c.missing(step))
			continue
		}
		if sameStep(step, c.Replayed[i]) {
			used[i] = true
		}
		reached, order = append(reached, c.Replayed[i].At), append(order, step)
		if d, ok := c.differs(step, c.Replayed[i]); ok {
			out = append(out, d)
		}
	}
	out = append(out, c.disordered(order, reached)...)
	for i, step := range c.Replayed {
		if !used[i] && !c.explained(step, other) {
			out = append(out, c.extra(step))
		}
	}
	return out
}

func sameStep(a, b scalehist.RecordedStep) bool {
	return a.NodeGroup == b.NodeGroup && a.From == b.From && a.To == b.To
}

// match finds the replayed step that is the recorded one, else the one that took the group past the same size.
func (c Comparison) match(step scalehist.RecordedStep, used []bool) int {
	best := -1
	for i, r := range c.Replayed {
		if sameStep(step, r) && !used[i] {
			return i
		}
		if best < 0 && !used[i] && r.NodeGroup == step.NodeGroup && passes(r, step) {
			best = i
		}
	}
	return best
}

// passes says whether a step takes the group to, or past, the size the other one reached, in the same direction.
func passes(r, step scalehist.RecordedStep) bool {
	if step.To > step.From {
		return r.From < step.To && r.To >= step.To
	}
	return r.From > step.To && r.To <= step.To
}

func (c Comparison) differs(step, got scalehist.RecordedStep) (scalehist.Difference, bool) {
	late := got.At.Sub(step.At)
	d := scalehist.Difference{Recorded: &step, Replayed: &got, Within: late.Abs() <= c.Scan}
	switch {
	case !sameStep(step, got):
		d.Kind = "size"
		d.Within = d.Within && c.recordedToo(got)
		d.Reason = fmt.Sprintf("the replay went %d->%d in one step at %s: %s", got.From, got.To, c.offset(got.At), c.why(got))
	case late == 0:
		return d, false
	case d.Within:
		d.Kind = "time"
		d.Reason = fmt.Sprintf("%s, within the scan interval %s", lateness(late), c.Scan)
	default:
		d.Kind = "time"
		d.Reason = lateness(late) + ": " + c.why(got)
	}
	return d, true
}

// recordedToo: the recording reached the size of a replayed step as well, within the tolerance.
func (c Comparison) recordedToo(got scalehist.RecordedStep) bool {
	return slices.ContainsFunc(c.Truth.Steps, func(t scalehist.RecordedStep) bool {
		return t.NodeGroup == got.NodeGroup && passes(t, got) && t.At.Sub(got.At).Abs() <= c.Scan
	})
}

func (c Comparison) missing(step scalehist.RecordedStep) scalehist.Difference {
	if step.To < step.From {
		return scalehist.Difference{Kind: "missing", Recorded: &step, Reason: "no loop of the replay took a node off the group"}
	}
	reason := "no loop of the replay looked at unschedulable pods after it"
	for _, d := range c.Decisions {
		if d.At.Before(step.At.Add(-c.Scan)) {
			continue
		}
		reason = fmt.Sprintf("at %s the replay decided %s", c.offset(d.At), d.Summary())
		if about := aboutGroup(d, step.NodeGroup); about != "" {
			reason += "; " + about
		}
		break
	}
	return scalehist.Difference{Kind: "missing", Recorded: &step, Reason: reason}
}

func (c Comparison) extra(step scalehist.RecordedStep) scalehist.Difference {
	return scalehist.Difference{Kind: "extra", Replayed: &step, Reason: c.why(step)}
}

// explained: a replayed step that is part of a recorded one, or the other way round; other are the recorded steps that the
// replay did not take alike.
func (c Comparison) explained(step scalehist.RecordedStep, other []scalehist.RecordedStep) bool {
	return slices.ContainsFunc(other, func(t scalehist.RecordedStep) bool {
		return t.NodeGroup == step.NodeGroup && (passes(step, t) || passes(t, step))
	})
}

// why quotes the decision behind a replayed step.
func (c Comparison) why(step scalehist.RecordedStep) string {
	for _, d := range c.Decisions {
		if !d.At.Equal(step.At) {
			continue
		}
		for _, s := range d.ScaleUps {
			if s.NodeGroup == step.NodeGroup && s.From == step.From {
				return aboutGroup(d, step.NodeGroup)
			}
		}
		for _, s := range d.ScaleDowns {
			if s.NodeGroup == step.NodeGroup {
				return "scale-down: " + s.Reason
			}
		}
	}
	return "no decision of that instant names the group"
}

// aboutGroup says in a few words what a decision holds about a group.
func aboutGroup(d scalehist.Decision, group string) string {
	for _, o := range d.Options {
		if o.NodeGroup == group || slices.Contains(o.SimilarNodeGroups, group) {
			word := "not chosen"
			if o.Chosen {
				word = "chosen"
			}
			text := fmt.Sprintf("option %s (nodes %d, pods %d) was %s", o.NodeGroup, o.NodeCount, o.Pods, word)
			if o.Reason != "" {
				text += ": " + o.Reason
			}
			return text
		}
	}
	for _, list := range [][]scalehist.GroupReason{d.Skipped, d.Rejected} {
		for _, s := range list {
			if s.NodeGroup == group {
				return group + ": " + s.Reason
			}
		}
	}
	return ""
}

// disordered lists neighbours in recorded order that the replay reached the other way round. Loops of another phase may turn
// round what is less than a scan interval apart.
func (c Comparison) disordered(order []scalehist.RecordedStep, reached []time.Time) []scalehist.Difference {
	var out []scalehist.Difference
	for i := 1; i < len(order); i++ {
		if order[i].NodeGroup == order[i-1].NodeGroup || !reached[i].Before(reached[i-1]) {
			continue
		}
		out = append(out, scalehist.Difference{Kind: "order", Recorded: &order[i], Within: reached[i-1].Sub(reached[i]) <= c.Scan,
			Reason: fmt.Sprintf("recorded after %s %d->%d, replayed before it", order[i-1].NodeGroup, order[i-1].From, order[i-1].To)})
	}
	return out
}

func (c Comparison) offset(t time.Time) string { return "+" + t.Sub(c.Start).String() }

func lateness(d time.Duration) string {
	if d < 0 {
		return (-d).String() + " earlier than recorded"
	}
	return d.String() + " later than recorded"
}
