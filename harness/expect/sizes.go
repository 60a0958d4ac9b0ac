package expect

import (
	"fmt"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/report"
)

// ScaleUps and ScaleDowns are changes in nodes by node group; a group that is absent must not have moved.
type (
	ScaleUps   map[string]int
	ScaleDowns map[string]int
)

// HaveScaledUp succeeds when every node group grew by exactly the nodes wanted, counting each granted step.
func HaveScaledUp(want ScaleUps) Matcher {
	return &sizesMatcher{want: want, dir: report.Up}
}

// HaveScaledDown succeeds when every node group lost exactly the nodes wanted, counting each granted step.
func HaveScaledDown(want ScaleDowns) Matcher {
	return &sizesMatcher{want: want, dir: report.Down}
}

type sizesMatcher struct {
	want   map[string]int
	dir    report.Direction
	report *scalehist.ReplayReport
	table  string
}

func (m *sizesMatcher) Match(actual any) (bool, error) {
	r, err := asReport(actual)
	if err != nil {
		return false, err
	}
	m.report = r
	var equal bool
	m.table, equal, err = report.DiffTable(m.want, r, m.dir)
	return equal, err
}

func (m *sizesMatcher) FailureMessage(any) string {
	lines := []string{fmt.Sprintf("scenario %q: node group sizes differ (%s)", m.report.Scenario, m.dir), m.table}
	moment := ""
	if d := report.Diverging(m.want, m.report); d != nil && m.dir != report.Down {
		moment = report.Moment(m.report, d)
		lines = append(lines, "  first diverging decision: "+strings.ReplaceAll(report.Explain(m.report, *d), "\n", "\n  "))
	}
	return joinNonEmpty(append(lines, report.WhereAt(m.report, moment)))
}

func (m *sizesMatcher) NegatedFailureMessage(any) string {
	return joinNonEmpty([]string{
		fmt.Sprintf("scenario %q: node groups %s exactly as they should not have", m.report.Scenario, m.dir), m.table, report.Where(m.report),
	})
}

// asReport takes what a spec passes to Expect.
func asReport(actual any) (*scalehist.ReplayReport, error) {
	r, err := wholeReport(actual)
	if err != nil {
		return nil, err
	}
	return plaintext.Values(r), nil // what is said of it is text in lines
}

// wholeReport is the report as it is.
func wholeReport(actual any) (*scalehist.ReplayReport, error) {
	switch r := actual.(type) {
	case *scalehist.ReplayReport:
		if r == nil {
			return nil, fmt.Errorf("the report is nil: did the replay fail?")
		}
		return r, nil
	case scalehist.ReplayReport:
		return &r, nil
	}
	return nil, fmt.Errorf("want a *scalehist.ReplayReport, got %T", actual)
}

func joinNonEmpty(parts []string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n")
}
