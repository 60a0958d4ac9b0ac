package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

// Difference is the first decision in which two replays part.
type Difference struct {
	// Kind is "action" when they did different things, "reason" when they did the same throughout and explained it
	// otherwise.
	Kind string `json:"kind"`
	// Offset is the instant, from the start of the replays.
	Offset scalehist.Duration `json:"offset"`
	// Baseline and Side are what each decided then.
	Baseline Decided `json:"baseline"`
	Side     Decided `json:"side"`
}

// At is the offset for a reader: "+1m40s", to the millisecond.
func (d *Difference) At() string {
	return "+" + time.Duration(d.Offset).Round(time.Millisecond).String()
}

// Decided is a decision as one side explains it.
type Decided struct {
	// Acted: it did something at the instant of the difference. Else Decision is the one that was in force, if any.
	Acted    bool                `json:"acted"`
	Summary  string              `json:"summary"`
	Explain  string              `json:"explain,omitempty"`
	Decision *scalehist.Decision `json:"decision,omitempty"`
}

// FirstDifference is where b first parts from a; nil when all decisions are the same. Instants are taken from each
// replay's own start.
func FirstDifference(a, b *scalehist.ReplayReport) *Difference {
	actsA, actsB := acting(a), acting(b)
	for i := range max(len(actsA), len(actsB)) {
		if i < len(actsA) && i < len(actsB) && did(a, actsA[i]) == did(b, actsB[i]) {
			continue
		}
		var at time.Duration
		switch {
		case i >= len(actsA):
			at = actsB[i].At.Sub(b.StartTime)
		case i >= len(actsB):
			at = actsA[i].At.Sub(a.StartTime)
		default:
			at = min(actsA[i].At.Sub(a.StartTime), actsB[i].At.Sub(b.StartTime))
		}
		return &Difference{Kind: "action", Offset: scalehist.Duration(at), Baseline: decidedAt(a, actsA[min(i, len(actsA)):], at), Side: decidedAt(b, actsB[min(i, len(actsB)):], at)}
	}
	for i := range max(len(a.Decisions), len(b.Decisions)) {
		if i < len(a.Decisions) && i < len(b.Decisions) && report.Explain(a, a.Decisions[i]) == report.Explain(b, b.Decisions[i]) {
			continue
		}
		d := &Difference{Kind: "reason"}
		var offsets []time.Duration
		for _, side := range []struct {
			r    *scalehist.ReplayReport
			into *Decided
		}{{a, &d.Baseline}, {b, &d.Side}} {
			if i < len(side.r.Decisions) {
				offsets = append(offsets, side.r.Decisions[i].At.Sub(side.r.StartTime))
				*side.into = decided(side.r, side.r.Decisions[i], side.r.Decisions[i].Acted())
			} else {
				*side.into = Decided{Summary: "no further decision that mattered"}
			}
		}
		d.Offset = scalehist.Duration(slices.Min(offsets))
		return d
	}
	return nil
}

// acting are the decisions that did something: asked for nodes, or began to take some away.
func acting(r *scalehist.ReplayReport) []scalehist.Decision {
	var out []scalehist.Decision
	for _, d := range r.Decisions {
		if d.Acted() || len(d.Deleting) > 0 {
			out = append(out, d)
		}
	}
	return out
}

// did is what a decision did and when; not the number of its loop, which differs with the scan interval.
func did(r *scalehist.ReplayReport, d scalehist.Decision) string {
	return fmt.Sprint(d.At.Sub(r.StartTime), " ", d.Summary())
}

// decidedAt is what a side decided at an offset: the first of the rest of its actions if it is then, else what was in force.
func decidedAt(r *scalehist.ReplayReport, rest []scalehist.Decision, at time.Duration) Decided {
	if len(rest) > 0 && rest[0].At.Sub(r.StartTime) == at {
		return decided(r, rest[0], true)
	}
	for _, d := range slices.Backward(r.Decisions) {
		offset := d.At.Sub(r.StartTime)
		if offset > at {
			continue
		}
		out := decided(r, d, false)
		if offset < at {
			out.Summary = fmt.Sprintf("nothing new since +%s: %s", offset.Round(time.Millisecond), out.Summary)
		}
		return out
	}
	return Decided{Summary: "no decision that mattered by then"}
}

func decided(r *scalehist.ReplayReport, d scalehist.Decision, acted bool) Decided {
	d.Events = nil
	return Decided{Acted: acted, Summary: strings.TrimSpace(d.Summary()), Explain: report.Explain(r, d), Decision: &d}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
