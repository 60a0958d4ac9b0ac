package expect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/report"
)

// LeaveUnschedulable succeeds when exactly these pods have no node at the end. A name is "namespace/name", or "name" in
// namespace default; no names means no pods.
func LeaveUnschedulable(pods ...string) types.GomegaMatcher {
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

type unschedulableMatcher struct {
	want, got []string
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
	return slices.Equal(m.want, m.got), nil
}

func (m *unschedulableMatcher) FailureMessage(any) string {
	lines := []string{fmt.Sprintf("scenario %q: pods without a node at the end differ", m.report.Scenario)}
	moment := ""
	for _, p := range m.report.UnschedulableAtEnd {
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
