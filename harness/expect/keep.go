package expect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/report"
)

// KeepNodes succeeds when the autoscaler removed none of these nodes.
func KeepNodes(nodes ...string) Matcher {
	want := map[string]string{}
	for _, n := range nodes {
		want[n] = ""
	}
	return KeepNodesBecause(want)
}

// KeepNodesBecause succeeds when the autoscaler removed none of these nodes, and gave a reason for keeping each that holds the text:
// {"std-0": "NotEnoughPdb"}. An empty text asks for no reason.
func KeepNodesBecause(want map[string]string) Matcher { return &keepMatcher{want: want} }

type keepMatcher struct {
	want   map[string]string
	report *scalehist.ReplayReport
	wrong  []string
}

func (m *keepMatcher) Match(actual any) (bool, error) {
	r, err := asReport(actual)
	if err != nil {
		return false, err
	}
	m.report, m.wrong = r, nil
	known := report.NodeNames(r)
	for _, node := range slices.Sorted(maps.Keys(m.want)) {
		if !slices.Contains(known, node) {
			return false, fmt.Errorf("unknown node %q: scenario %q never had it%s", node, r.Scenario, near.Suggest(node, known))
		}
		if d := removal(r, node); d != nil {
			m.wrong = append(m.wrong, fmt.Sprintf("%s should not have been removed: %s", node, report.Explain(r, *d)))
			continue
		}
		reasons := unremovable(r, node)
		if text := m.want[node]; !slices.ContainsFunc(reasons, func(s string) bool { return strings.Contains(s, text) }) && text != "" {
			said := "no reason was given"
			if len(reasons) > 0 {
				said = "the reasons were " + strings.Join(reasons, "; ")
			}
			m.wrong = append(m.wrong, fmt.Sprintf("%s was not removed, but not because of %q: %s", node, text, said))
		}
	}
	return len(m.wrong) == 0, nil
}

// removal is the decision that began to remove a node, or did.
func removal(r *scalehist.ReplayReport, node string) *scalehist.Decision {
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if slices.ContainsFunc(d.Deleting, func(n scalehist.NodeDeletion) bool { return n.Node == node }) ||
			slices.ContainsFunc(d.ScaleDowns, func(s scalehist.ScaleDown) bool { return s.Node == node }) {
			return d
		}
	}
	return nil
}

// unremovable are the reasons the autoscaler gave for not removing a node, each once.
func unremovable(r *scalehist.ReplayReport, node string) []string {
	var out []string
	for _, d := range r.Decisions {
		for _, n := range d.Unremovable {
			if n.Node == node && !slices.Contains(out, n.Reason) {
				out = append(out, n.Reason)
			}
		}
	}
	return out
}

func (m *keepMatcher) FailureMessage(any) string {
	lines := []string{fmt.Sprintf("scenario %q: nodes were not unremovable as they should be", m.report.Scenario)}
	for _, w := range m.wrong {
		lines = append(lines, "  ✗  "+strings.ReplaceAll(w, "\n", "\n     "))
	}
	return joinNonEmpty(append(lines, report.Where(m.report)))
}

func (m *keepMatcher) NegatedFailureMessage(any) string {
	return fmt.Sprintf("scenario %q: nodes were unremovable, and should not be: %s", m.report.Scenario, strings.Join(slices.Sorted(maps.Keys(m.want)), ", "))
}
