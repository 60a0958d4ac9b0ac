package expect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report"
)

// LeaveUnschedulable succeeds when exactly these pods have no node at the end. A name is "namespace/name", or "name" in
// namespace default; no names means no pods.
func LeaveUnschedulable(pods ...string) Matcher {
	m := &unschedulableMatcher{}
	for _, p := range pods {
		if !strings.Contains(p, "/") {
			p = "default/" + p
		}
		m.want = append(m.want, p)
	}
	slices.Sort(m.want)
	return m
}

// LeaveUnschedulableCount succeeds when a wanted number of pods have no node at the end.
func LeaveUnschedulableCount(want Count) Matcher {
	return &unschedulableMatcher{count: &want}
}

type unschedulableMatcher struct {
	want, got []string
	count     *Count // instead of want
	report    *scalehist.ReplayReport
}

func (m *unschedulableMatcher) Match(actual any) (bool, error) {
	r, err := asReport(actual)
	if err != nil {
		return false, err
	}
	m.report, m.got = r, nil
	for _, p := range r.UnschedulableAtEnd {
		m.got = append(m.got, p.Namespace+"/"+p.Name)
	}
	slices.Sort(m.got)
	if m.count != nil {
		return m.count.Holds(len(m.got)), nil
	}
	return slices.Equal(m.want, m.got), nil
}

func (m *unschedulableMatcher) FailureMessage(any) string {
	lines := []string{fmt.Sprintf("scenario %q: pods without a node at the end differ", m.report.Scenario)}
	if m.count != nil {
		lines[0] = fmt.Sprintf("scenario %q: %s without a node at the end, want %s", m.report.Scenario, plural.Of(len(m.got), "pod"), m.count)
	}
	moment := ""
	for i, p := range m.report.UnschedulableAtEnd {
		if i == 20 && m.count != nil {
			lines = append(lines, fmt.Sprintf("     and %d more", len(m.got)-i))
			break
		}
		if m.count != nil {
			lines = append(lines, fmt.Sprintf("     %s/%s: %s", p.Namespace, p.Name, p.Message))
			moment = cmp.Or(moment, "pod="+p.Namespace+"/"+p.Name)
			continue
		}
		if name := p.Namespace + "/" + p.Name; !slices.Contains(m.want, name) {
			lines = append(lines, fmt.Sprintf("  ✗  %s should have a node: %s", name, p.Message))
			moment = cmp.Or(moment, "pod="+name)
		}
	}
	for _, name := range m.want {
		if !slices.Contains(m.got, name) {
			lines = append(lines, fmt.Sprintf("  ✗  %s should have none, %s", name, whereIs(m.report, name)))
			moment = cmp.Or(moment, "pod="+name)
		}
	}
	if d := lastLook(m.report); d != nil {
		lines = append(lines, "  last decision with unschedulable pods: "+strings.ReplaceAll(report.Explain(m.report, *d), "\n", "\n  "))
	}
	return joinNonEmpty(append(lines, report.WhereAt(m.report, moment)))
}

func (m *unschedulableMatcher) NegatedFailureMessage(any) string {
	if m.count != nil {
		return fmt.Sprintf("scenario %q: %s without a node at the end, and that should not be", m.report.Scenario, plural.Of(len(m.got), "pod"))
	}
	return fmt.Sprintf("scenario %q: exactly these pods have no node at the end, and should not: %s", m.report.Scenario, strings.Join(m.got, ", "))
}

func whereIs(r *scalehist.ReplayReport, name string) string {
	for _, p := range r.End.ScheduledPods {
		if p.Namespace+"/"+p.Name == name {
			return "it runs on " + p.NodeName
		}
	}
	return "there is no such pod at the end"
}

func lastLook(r *scalehist.ReplayReport) *scalehist.Decision {
	for i := len(r.Decisions) - 1; i >= 0; i-- {
		if len(r.Decisions[i].UnschedulablePods) > 0 {
			return &r.Decisions[i]
		}
	}
	return nil
}
