package expect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report"
)

// Which picks a decision of a report.
type Which string

// The decisions one asks for.
const (
	FirstScaleUp   Which = "first scale-up"
	LastScaleUp    Which = "last scale-up"
	FirstScaleDown Which = "first scale-down"
	LastScaleDown  Which = "last scale-down"
	// SomeDecision: one decision at least, of those at the wanted time and loop, is as wanted. It is what the zero value asks for.
	SomeDecision Which = "a decision"
)

// Choices are what Which may be.
var Choices = []Which{FirstScaleUp, LastScaleUp, FirstScaleDown, LastScaleDown, SomeDecision}

// Decided is what a decision should have been. Zero fields are not looked at.
type Decided struct {
	Which Which
	// From and To bound the offset from the start, both included; Timed says that they do.
	From, To time.Duration
	Timed    bool
	// Loop is the autoscaler's loop, from 1.
	Loop int
	// NodeGroup grew, or shrank where a scale-down is asked for; Nodes by so many, of this group or of all.
	NodeGroup string
	Nodes     *Count
	// Outcome is that of the scale-up part.
	Outcome scalehist.ScaleUpOutcome
	// Controller or Workload make it about a decision of a controller of workloads, not of the node autoscaler: then Loop, NodeGroup, Nodes and
	// Outcome are not looked at. A scale-up is one of replicas. Workload is named as for HaveReplicas.
	Controller, Workload string
	// Replicas are those that the controller set.
	Replicas *Count
	// Because is a text in what the decision says of itself: options, reasons, notes.
	Because string
}

// Decide succeeds when the decision asked for is there and is as wanted.
func Decide(want Decided) Matcher {
	if want.Which == "" {
		want.Which = SomeDecision
	}
	if want.Controller != "" || want.Workload != "" {
		return &controlMatcher{want: want}
	}
	return &decisionMatcher{want: want}
}

type decisionMatcher struct {
	want   Decided
	report *scalehist.ReplayReport
	found  *scalehist.Decision
	wrong  []string
}

func (m *decisionMatcher) Match(actual any) (bool, error) {
	r, err := asReport(actual)
	if err != nil {
		return false, err
	}
	m.report, m.found, m.wrong = r, nil, nil
	if g := m.want.NodeGroup; g != "" {
		if err := report.CheckGroups(map[string]bool{g: true}, r); err != nil {
			return false, err
		}
	}
	some := m.want.Which == SomeDecision
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if some && !m.placed(*d) || !some && !m.picked(*d) {
			continue
		}
		wrong := m.differs(*d)
		switch {
		case len(wrong) == 0 && some:
			m.found, m.wrong = d, nil
			return true, nil
		case m.found == nil || m.last():
			m.found, m.wrong = d, wrong
		}
	}
	return m.found != nil && len(m.wrong) == 0, nil
}

func (m *decisionMatcher) last() bool {
	return m.want.Which == LastScaleUp || m.want.Which == LastScaleDown
}

func (m *decisionMatcher) down() bool {
	return m.want.Which == FirstScaleDown || m.want.Which == LastScaleDown
}

// picked says whether a decision is of the kind that is asked for.
func (m *decisionMatcher) picked(d scalehist.Decision) bool {
	if m.down() {
		return len(d.ScaleDowns) > 0
	}
	return len(d.ScaleUps) > 0
}

// placed says whether a decision is when one is asked for.
func (m *decisionMatcher) placed(d scalehist.Decision) bool {
	return (!m.want.Timed || m.inTime(d)) && (m.want.Loop == 0 || m.want.Loop == d.Loop)
}

func (m *decisionMatcher) inTime(d scalehist.Decision) bool {
	at := d.At.Sub(m.report.StartTime)
	return at >= m.want.From && at <= m.want.To
}

// differs says how a decision is not what is wanted.
func (m *decisionMatcher) differs(d scalehist.Decision) []string {
	var out []string
	w := m.want
	if w.Timed && !m.inTime(d) {
		out = append(out, fmt.Sprintf("it was at +%s, want %s", d.At.Sub(m.report.StartTime), offsets(w.From, w.To)))
	}
	if w.Loop != 0 && w.Loop != d.Loop {
		out = append(out, fmt.Sprintf("it was loop %d, want %d", d.Loop, w.Loop))
	}
	if w.Outcome != "" && w.Outcome != d.Outcome {
		out = append(out, fmt.Sprintf("the outcome was %s, want %s", d.Outcome, w.Outcome))
	}
	if w.NodeGroup != "" || w.Nodes != nil {
		n, groups := m.moved(d)
		switch {
		case w.NodeGroup != "" && !slices.Contains(groups, w.NodeGroup):
			out = append(out, fmt.Sprintf("it chose %s, want %s", chosenGroups(groups), w.NodeGroup))
		case w.Nodes != nil && !w.Nodes.Holds(n):
			out = append(out, fmt.Sprintf("it was about %s%s, want %s", plural.Of(n, "node"), of(w.NodeGroup), w.Nodes))
		}
	}
	if w.Because != "" && !strings.Contains(report.Explain(m.report, d), w.Because) {
		out = append(out, fmt.Sprintf("it does not say %q", w.Because))
	}
	return out
}

// moved is by how many nodes a decision changed the group asked for, or all, and the groups it changed.
func (m *decisionMatcher) moved(d scalehist.Decision) (n int, groups []string) {
	add := func(group string, by int) {
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
		if m.want.NodeGroup == "" || m.want.NodeGroup == group {
			n += by
		}
	}
	if !m.down() {
		for _, s := range d.ScaleUps {
			add(s.NodeGroup, s.To-s.From)
		}
	}
	if m.down() || m.want.Which == SomeDecision && len(groups) == 0 {
		for _, s := range d.ScaleDowns {
			add(s.NodeGroup, s.From-s.To)
		}
	}
	return n, groups
}

func chosenGroups(groups []string) string {
	if len(groups) == 0 {
		return "no group"
	}
	return strings.Join(groups, " and ")
}

func of(group string) string {
	if group == "" {
		return ""
	}
	return " of " + group
}

func offsets(from, to time.Duration) string {
	if from == to {
		return "+" + from.String()
	}
	return fmt.Sprintf("+%s to +%s", from, to)
}

func (m *decisionMatcher) what() string {
	w := string(m.want.Which)
	if m.want.Which == SomeDecision {
		if m.want.Loop != 0 {
			w += fmt.Sprintf(" of loop %d", m.want.Loop)
		}
		if m.want.Timed {
			w += " at " + offsets(m.want.From, m.want.To)
		}
	}
	return w
}

func (m *decisionMatcher) FailureMessage(any) string {
	lines := []string{fmt.Sprintf("scenario %q: %s is not as wanted", m.report.Scenario, m.what())}
	if m.found == nil {
		lines[0] = fmt.Sprintf("scenario %q: there is no decision like that: %s", m.report.Scenario, m.what())
		for _, d := range m.report.Decisions {
			if d.Acted() && len(lines) < 12 {
				lines = append(lines, fmt.Sprintf("  there is +%s loop %d: %s", d.At.Sub(m.report.StartTime), d.Loop, d.Summary()))
			}
		}
		return joinNonEmpty(append(lines, report.Where(m.report)))
	}
	for _, w := range m.wrong {
		lines = append(lines, "  ✗  "+w)
	}
	lines = append(lines, "  the decision: "+strings.ReplaceAll(report.Explain(m.report, *m.found), "\n", "\n  "))
	return joinNonEmpty(append(lines, report.Where(m.report)))
}

func (m *decisionMatcher) NegatedFailureMessage(any) string {
	return joinNonEmpty([]string{fmt.Sprintf("scenario %q: %s is as it should not be", m.report.Scenario, m.what()), report.Explain(m.report, *m.found)})
}
