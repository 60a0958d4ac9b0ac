package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
)

// Entry is one decision of any autoscaler, as lists of decisions show it: one of a node autoscaler, or what a controller decided
// about one workload. Another kind of decision of controllers enters in controlEntries, Because and Parts, and every list has it.
type Entry struct {
	At time.Time
	// Controller decided it; empty for the node autoscaler, whose decision is Node.
	Controller string
	Node       *scalehist.Decision
	// Workload is what a controller decided about, nil for a note. Scale is the decision where it is about replicas, Resizes where it is about
	// requests: one, or the same about several pods.
	Workload *scalehist.WorkloadRef
	Scale    *scalehist.WorkloadScale
	Resizes  []*scalehist.WorkloadResize
	// Summary is one line: "ScaleUpSuccessful {p3 1->3 (max: 3)}", "hpa Deployment/shop/web 3->7".
	Summary string
	// Up and Down: it asked for more or larger, or for fewer or smaller, of nodes, replicas or requests. Without either it changed nothing.
	Up, Down bool
}

// Acted says whether anything was asked for.
func (e Entry) Acted() bool { return e.Up || e.Down }

// Entries are the decisions of all autoscalers in time order. At one instant controllers of workloads come first, as they act.
func Entries(r *scalehist.ReplayReport) []Entry {
	out := make([]Entry, 0, len(r.Decisions)+len(r.WorkloadDecisions))
	for i := range r.WorkloadDecisions {
		out = append(out, controlEntries(&r.WorkloadDecisions[i])...)
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		out = append(out, Entry{At: d.At, Node: d, Summary: d.Summary(),
			Up: len(d.ScaleUps)+len(d.Failed) > 0, Down: len(d.ScaleDowns)+len(d.Deleting) > 0})
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return a.At.Compare(b.At) })
	return out
}

// controlEntries are what one run of a controller decided, a workload an entry, and its notes.
func controlEntries(d *scalehist.WorkloadDecision) []Entry {
	var out []Entry
	for i := range d.Scales {
		s := &d.Scales[i]
		out = append(out, Entry{At: d.At, Controller: d.Controller, Workload: &s.Workload, Scale: s,
			Summary: d.Controller + " " + s.String(), Up: s.To > s.From, Down: s.To < s.From})
	}
	for _, same := range alike(d.Resizes) {
		s := same[0]
		up, down := direction(s)
		out = append(out, Entry{At: d.At, Controller: d.Controller, Workload: &s.Workload, Resizes: same,
			Summary: d.Controller + " " + resizeSummary(same), Up: up, Down: down})
	}
	for _, n := range d.Notes {
		out = append(out, Entry{At: d.At, Controller: d.Controller, Summary: d.Controller + " " + n})
	}
	return out
}

// who is "loop 7" of a node autoscaler, and empty for a controller of workloads, whose summary names it.
func (e Entry) who() string {
	if e.Node == nil {
		return ""
	}
	return fmt.Sprintf("loop %d", e.Node.Loop)
}

// Because is why, line by line.
func (e Entry) Because() []string {
	switch {
	case e.Node != nil:
		return because(*e.Node)
	case e.Scale != nil:
		return scaledBecause(*e.Scale)
	case len(e.Resizes) > 0:
		return resizedBecause(e.Resizes[0])
	}
	return nil
}

// Explain is the decision with everything it weighed, for a failure message.
func (e Entry) Explain(r *scalehist.ReplayReport) string {
	if e.Node != nil {
		return Explain(r, *e.Node)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", offset(r, e.At), plaintext.Escape(e.Summary))
	for _, line := range e.Because() {
		fmt.Fprintf(&b, "  %s\n", plaintext.Escape(line))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Parts say what was decided and why, part by part, as ExplainDecision does of a node autoscaler's.
func (e Entry) Parts(r *scalehist.ReplayReport) []Part {
	if e.Node != nil {
		return ExplainDecision(r, *e.Node)
	}
	head := e.Summary
	if e.Workload != nil && !e.Acted() {
		head += ", which changes nothing"
	}
	out := []Part{{"outcome", []string{fmt.Sprintf("At %s: %s.", offset(r, e.At), head)}}}
	if len(e.Resizes) > 0 {
		out = append(out, resizeParts(e.Resizes[0])...)
	}
	if s := e.Scale; s != nil {
		out = append(out, scaleParts(*s)...)
	}
	for i := range out {
		for k, line := range out[i].Lines {
			out[i].Lines[k] = plaintext.Escape(line)
		}
	}
	return out
}

// Anchor is what follows the # of the page's address to open it at the decision.
func (e Entry) Anchor(r *scalehist.ReplayReport) string {
	if e.Node != nil {
		return Moment(r, e.Node)
	}
	return fmt.Sprintf("t=%s&by=%s", offset(r, e.At), e.Controller)
}
