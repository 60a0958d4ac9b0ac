package expect

import (
	"fmt"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/report"
)

// AgreeWithTruth succeeds when the replay did what a real autoscaler was seen to do with the same load: it ended as one of
// its runs, and began with the steps that all of them took alike. The path is that of a truth file.
func AgreeWithTruth(path string) Matcher { return &truthMatcher{path: path} }

type truthMatcher struct {
	path   string
	report *scalehist.ReplayReport
}

func (m *truthMatcher) Match(actual any) (bool, error) {
	r, err := asReport(actual)
	if err != nil {
		return false, err
	}
	file, err := truth.Read(m.path)
	if err != nil {
		return false, err
	}
	judged := *r
	if judged.Truth, err = file.Compare(r); err != nil {
		return false, err
	}
	m.report = &judged
	return judged.Truth.Agreed, nil
}

func (m *truthMatcher) FailureMessage(any) string {
	moment := ""
	if d := m.report.Truth.FirstDifference; d != nil {
		moment = report.Moment(m.report, d.Decision)
	}
	return joinNonEmpty([]string{
		fmt.Sprintf("scenario %q: the replay differs from %s", m.report.Scenario, m.path),
		report.TruthText(m.report), report.WhereAt(m.report, moment),
	})
}

func (m *truthMatcher) NegatedFailureMessage(any) string {
	return joinNonEmpty([]string{
		fmt.Sprintf("scenario %q: the replay agrees with %s, and should not", m.report.Scenario, m.path),
		report.TruthText(m.report), report.Where(m.report),
	})
}
