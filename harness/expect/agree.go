package expect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/report"
)

// AgreeWithRecording succeeds when every node group's net change is the one that was recorded. A recording of scalehist's
// own autoscaler (scalehist.OriginScripted) is no evidence to agree with: that is an error.
func AgreeWithRecording() types.GomegaMatcher { return &agreeMatcher{} }

type agreeMatcher struct {
	report *scalehist.ReplayReport
	table  string
}

func (m *agreeMatcher) Match(actual any) (bool, error) {
	r, err := asReport(actual)
	if err != nil {
		return false, err
	}
	if r.Origin == scalehist.OriginScripted {
		return false, fmt.Errorf("%s was recorded from scalehist's own autoscaler: goldens and conformance judge it, its recording cannot; expect sizes or a golden", r.Scenario)
	}
	if r.Recorded == nil || r.Agreement == nil {
		return false, errors.New("the report holds no recorded truth to agree with: it was not replayed from a history")
	}
	m.report = r
	m.table, _, err = report.DiffTable(recordedNet(r), r, report.Net)
	return r.Agreement.Agreed, err
}

func (m *agreeMatcher) FailureMessage(any) string {
	lines := []string{fmt.Sprintf("scenario %q: the replay differs from the recording (WANT is what was recorded)", m.report.Scenario), m.table}
	for _, d := range m.report.Agreement.Differences {
		lines = append(lines, fmt.Sprintf("  %s: %s", d.Kind, d.Reason))
	}
	d := report.Diverging(recordedNet(m.report), m.report)
	if d != nil {
		lines = append(lines, "  first diverging decision: "+strings.ReplaceAll(report.Explain(m.report, *d), "\n", "\n  "))
	}
	return joinNonEmpty(append(lines, report.WhereAt(m.report, report.Moment(m.report, d))))
}

func (m *agreeMatcher) NegatedFailureMessage(any) string {
	return joinNonEmpty([]string{fmt.Sprintf("scenario %q: the replay agrees with the recording, and should not", m.report.Scenario), m.table, report.Where(m.report)})
}

func recordedNet(r *scalehist.ReplayReport) map[string]int {
	net := map[string]int{}
	for _, g := range r.NodeGroups {
		net[g.Name] = r.Recorded.ScaledUpNodeGroups[g.Name] - r.Recorded.ScaledDownNodeGroups[g.Name]
	}
	return net
}
