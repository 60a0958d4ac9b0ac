package expect

import (
	"fmt"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

// controlMatcher is Decide about decisions of controllers.
type controlMatcher struct {
	want     Decided
	report   *scalehist.ReplayReport
	workload *scalehist.WorkloadRef // that is asked for, if any
	found    *report.Entry
	wrong    []string
}

func (m *controlMatcher) Match(actual any) (bool, error) {
	r, err := asReport(actual)
	if err != nil {
		return false, err
	}
	m.report, m.workload, m.found, m.wrong = r, nil, nil, nil
	if m.want.Workload != "" {
		w, err := report.FindWorkload(r, m.want.Workload)
		if err != nil {
			return false, err
		}
		m.workload = &w.WorkloadRef
	}
	some := m.want.Which == SomeDecision
	last := m.want.Which == LastScaleUp || m.want.Which == LastScaleDown
	for _, e := range report.Entries(r) {
		if e.Workload == nil || m.workload != nil && *e.Workload != *m.workload || m.want.Controller != "" && e.Controller != m.want.Controller {
			continue
		}
		if some && m.want.Timed && !m.inTime(e) || !some && !m.picked(e) {
			continue
		}
		wrong := m.differs(e)
		switch {
		case len(wrong) == 0 && some:
			m.found, m.wrong = &e, nil
			return true, nil
		case m.found == nil || last:
			m.found, m.wrong = &e, wrong
		}
	}
	return m.found != nil && len(m.wrong) == 0, nil
}

// picked says whether a decision is of the direction that is asked for.
func (m *controlMatcher) picked(e report.Entry) bool {
	if m.want.Which == FirstScaleDown || m.want.Which == LastScaleDown {
		return e.Down
	}
	return e.Up
}

func (m *controlMatcher) inTime(e report.Entry) bool {
	at := e.At.Sub(m.report.StartTime)
	return at >= m.want.From && at <= m.want.To
}

// differs says how a decision is not what is wanted.
func (m *controlMatcher) differs(e report.Entry) []string {
	var out []string
	if m.want.Timed && !m.inTime(e) {
		out = append(out, fmt.Sprintf("it was at +%s, want %s", e.At.Sub(m.report.StartTime), offsets(m.want.From, m.want.To)))
	}
	if n := m.want.Replicas; n != nil {
		switch {
		case e.Scale == nil:
			out = append(out, "it is not about replicas")
		case !n.Holds(int(e.Scale.To)):
			out = append(out, fmt.Sprintf("it set %d replicas, want %s", e.Scale.To, n))
		}
	}
	if m.want.Because != "" && !strings.Contains(e.Explain(m.report), m.want.Because) {
		out = append(out, fmt.Sprintf("it does not say %q", m.want.Because))
	}
	return out
}

func (m *controlMatcher) what() string {
	what := string(m.want.Which)
	if m.want.Controller != "" {
		what += " of " + m.want.Controller
	}
	if m.workload != nil {
		what += " about " + m.workload.String()
	}
	if m.want.Which == SomeDecision && m.want.Timed {
		what += " at " + offsets(m.want.From, m.want.To)
	}
	return what
}

func (m *controlMatcher) FailureMessage(any) string {
	if m.found == nil {
		lines := []string{fmt.Sprintf("scenario %q: there is no decision like that: %s", m.report.Scenario, m.what())}
		for _, e := range report.Entries(m.report) {
			if e.Workload != nil && e.Acted() && len(lines) < 12 {
				lines = append(lines, fmt.Sprintf("  there is +%s %s", e.At.Sub(m.report.StartTime), e.Summary))
			}
		}
		return joinNonEmpty(append(lines, report.Where(m.report)))
	}
	lines := []string{fmt.Sprintf("scenario %q: %s is not as wanted", m.report.Scenario, m.what())}
	for _, w := range m.wrong {
		lines = append(lines, "  ✗  "+w)
	}
	lines = append(lines, "  the decision: "+strings.ReplaceAll(m.found.Explain(m.report), "\n", "\n  "))
	return joinNonEmpty(append(lines, report.WhereAt(m.report, m.found.Anchor(m.report))))
}

func (m *controlMatcher) NegatedFailureMessage(any) string {
	return joinNonEmpty([]string{fmt.Sprintf("scenario %q: %s is as it should not be", m.report.Scenario, m.what()), m.found.Explain(m.report)})
}
