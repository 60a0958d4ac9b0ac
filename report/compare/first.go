package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

// Difference is the first decision in which two replays part, of node autoscalers or of controllers.
type Difference struct {
	// Kind is "action" when they did different things, "reason" when they did the same throughout and explained it
	// otherwise.
	Kind string `json:"kind"`
	// Offset is the instant, from the start of the replays.
	Offset scalehist.Duration `json:"offset"`
	// Controller decided it, on one side at least; empty for the node autoscaler.
	Controller string `json:"controller,omitempty"`
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
	// Acted: it did something at the instant of the difference. Else Decision or Scale is the one that was in force, if any.
	Acted    bool                `json:"acted"`
	Summary  string              `json:"summary"`
	Explain  string              `json:"explain,omitempty"`
	Decision *scalehist.Decision `json:"decision,omitempty"`
	// Scale is what a controller decided about the replicas of a workload.
	Scale *scalehist.WorkloadScale `json:"scale,omitempty"`
	// Entry is its number among report.Entries, -1 for none.
	Entry int `json:"-"`
}

// side is one report with its decisions of all kinds.
type side struct {
	r   *scalehist.ReplayReport
	all []report.Entry
	// acts are the numbers of those that did something: asked for nodes or replicas, or began to take some away.
	acts []int
}

func sideOf(r *scalehist.ReplayReport) *side {
	s := &side{r: r, all: report.Entries(r)}
	for i, e := range s.all {
		if e.Acted() {
			s.acts = append(s.acts, i)
		}
	}
	return s
}

func (s *side) offset(i int) time.Duration { return s.all[i].At.Sub(s.r.StartTime) }

// did is what a decision did and when; not the number of its loop, which differs with the scan interval.
func (s *side) did(i int) string { return fmt.Sprint(s.offset(i), " ", s.all[i].Summary) }

// FirstDifference is where b first parts from a; nil when all decisions are the same. Instants are taken from each
// replay's own start. At one instant controllers of workloads come first, as they act.
func FirstDifference(a, b *scalehist.ReplayReport) *Difference {
	sides := [2]*side{sideOf(a), sideOf(b)}
	for n := range max(len(sides[0].acts), len(sides[1].acts)) {
		if n < len(sides[0].acts) && n < len(sides[1].acts) && sides[0].did(sides[0].acts[n]) == sides[1].did(sides[1].acts[n]) {
			continue
		}
		first := -1 // the side that acts first
		var at time.Duration
		for i, s := range sides {
			if n < len(s.acts) && (first < 0 || s.before(s.acts[n], sides[first], sides[first].acts[n])) {
				first, at = i, s.offset(s.acts[n])
			}
		}
		who := sides[first].all[sides[first].acts[n]]
		return &Difference{Kind: "action", Offset: scalehist.Duration(at), Controller: who.Controller,
			Baseline: sides[0].decidedAt(sides[0].acts[min(n, len(sides[0].acts)):], who, at), Side: sides[1].decidedAt(sides[1].acts[min(n, len(sides[1].acts)):], who, at)}
	}
	return firstReason(sides)
}

// before says whether a decision is before another one of another report: earlier, or at its instant one of a controller where the other is not.
func (s *side) before(i int, o *side, k int) bool {
	if at, other := s.offset(i), o.offset(k); at != other {
		return at < other
	}
	return s.all[i].Controller != "" && o.all[k].Controller == ""
}

// firstReason is the first decision that is explained otherwise.
func firstReason(sides [2]*side) *Difference {
	for n := range max(len(sides[0].all), len(sides[1].all)) {
		if n < len(sides[0].all) && n < len(sides[1].all) && sides[0].all[n].Explain(sides[0].r) == sides[1].all[n].Explain(sides[1].r) {
			continue
		}
		d := &Difference{Kind: "reason"}
		var offsets []time.Duration
		for i, into := range []*Decided{&d.Baseline, &d.Side} {
			s := sides[i]
			if n >= len(s.all) {
				*into = Decided{Summary: "no further decision that mattered", Entry: -1}
				continue
			}
			if offset := s.offset(n); len(offsets) == 0 || offset < offsets[0] {
				d.Controller = s.all[n].Controller
			}
			offsets = append(offsets, s.offset(n))
			*into = s.decided(n, s.all[n].Node == nil && s.all[n].Acted() || s.all[n].Node != nil && s.all[n].Node.Acted())
		}
		d.Offset = scalehist.Duration(slices.Min(offsets))
		return d
	}
	return nil
}

// decidedAt is what a side decided at an offset: the first of the rest of its actions if it is then and of the same autoscaler and workload
// as another decision, else what that autoscaler had decided by then.
func (s *side) decidedAt(rest []int, as report.Entry, at time.Duration) Decided {
	for _, i := range rest {
		if s.offset(i) == at && alike(s.all[i], as) {
			return s.decided(i, true)
		}
	}
	for i := range slices.Backward(s.all) {
		offset := s.offset(i)
		if offset > at || !alike(s.all[i], as) {
			continue
		}
		out := s.decided(i, false)
		if offset < at {
			out.Summary = fmt.Sprintf("nothing new since +%s: %s", offset.Round(time.Millisecond), out.Summary)
		}
		return out
	}
	if as.Controller != "" {
		return Decided{Summary: fmt.Sprintf("no decision of %s that mattered by then", as.Controller), Entry: -1}
	}
	return Decided{Summary: "no decision that mattered by then", Entry: -1}
}

// alike says whether two decisions are of one autoscaler, and about one workload where they are of a controller.
func alike(a, b report.Entry) bool {
	if a.Controller != b.Controller || (a.Workload == nil) != (b.Workload == nil) {
		return false
	}
	return a.Workload == nil || *a.Workload == *b.Workload
}

func (s *side) decided(i int, acted bool) Decided {
	e := s.all[i]
	out := Decided{Acted: acted, Summary: strings.TrimSpace(e.Summary), Explain: e.Explain(s.r), Scale: e.Scale, Entry: i}
	if e.Node != nil {
		d := *e.Node
		d.Events = nil
		out.Decision = &d
	}
	return out
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
