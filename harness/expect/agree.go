package expect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

// The questions that AgreeWithRecording may be asked besides those that always decide.
const (
	PeakSize = scalehist.QuestionPeakSize
	Steps    = scalehist.QuestionSteps
	Waits    = scalehist.QuestionWaits
)

// AgreeWithRecording succeeds when every node group grew and shrank by as many nodes as recorded and as many pods have no node at
// the end, as far as that is known (scalehist.Agreement). A recording of scalehist's own autoscaler (scalehist.OriginScripted) is no
// evidence to agree with: that is an error. Questions that are named besides must be known and agree as well:
// AgreeWithRecording(Steps, Waits).
func AgreeWithRecording(questions ...scalehist.Question) Matcher {
	return &agreeMatcher{asked: questions}
}

// DifferFromRecordingIn succeeds when the replay differs from the recording in each of these questions: a replay of another
// autoscaler, or of another what-if, that must not come out as recorded.
func DifferFromRecordingIn(questions ...scalehist.Question) Matcher {
	return &differMatcher{questions: questions}
}

type agreeMatcher struct {
	asked  []scalehist.Question
	report *scalehist.ReplayReport
}

func (m *agreeMatcher) Match(actual any) (bool, error) {
	r, err := compared(actual, m.asked)
	if err != nil {
		return false, err
	}
	if r.Origin == scalehist.OriginScripted {
		return false, fmt.Errorf("%s was recorded from scalehist's own autoscaler: goldens and conformance judge it, its recording cannot; expect sizes or a golden", r.Scenario)
	}
	m.report = r
	return r.Agreement.Agrees(m.asked...), nil
}

// compared is a report that can be asked these questions.
func compared(actual any, questions []scalehist.Question) (*scalehist.ReplayReport, error) {
	r, err := asReport(actual)
	if err != nil {
		return nil, err
	}
	if r.Recorded == nil || r.Agreement == nil {
		return nil, errors.New("the report holds no recorded truth to agree with: it was not replayed from a history")
	}
	return r, nil
}

func (m *agreeMatcher) FailureMessage(any) string {
	lines := []string{fmt.Sprintf("scenario %q: the replay differs from the recording (WANT is what was recorded)", m.report.Scenario)}
	lines = append(lines, m.tables()...)
	lines = append(lines, m.verdict())
	for _, d := range m.report.Agreement.Differences {
		if !d.Within {
			lines = append(lines, fmt.Sprintf("  %s: %s", d.Kind, d.Reason))
		}
	}
	d := report.Diverging(recordedNet(m.report), m.report)
	if d != nil {
		lines = append(lines, "  first diverging decision: "+strings.ReplaceAll(report.Explain(m.report, *d), "\n", "\n  "))
	}
	return joinNonEmpty(append(lines, report.WhereAt(m.report, report.Moment(m.report, d))))
}

func (m *agreeMatcher) NegatedFailureMessage(any) string {
	return joinNonEmpty([]string{fmt.Sprintf("scenario %q: the replay agrees with the recording, and should not", m.report.Scenario), m.verdict(), report.Where(m.report)})
}

// verdict is the list of answers.
func (m *agreeMatcher) verdict() string {
	return report.Indent(report.VerdictText(m.report, m.asked...), "  ")
}

// tables compare sizes group by group in the direction that differs.
func (m *agreeMatcher) tables() []string {
	r := m.report
	var out []string
	table := func(want map[string]int, dir report.Direction) {
		if text, equal, err := report.DiffTable(want, r, dir); err == nil && !equal {
			out = append(out, text)
		}
	}
	if r.Agreement.Until != nil { // the report's sizes go on after what is compared
		return nil
	}
	table(known(r, r.Recorded.ScaledUpNodeGroups), report.Up)
	table(known(r, r.Recorded.ScaledDownNodeGroups), report.Down)
	return out
}

// known leaves out groups that the report does not have: those that came later than the replay began.
func known(r *scalehist.ReplayReport, sizes map[string]int) map[string]int {
	out := map[string]int{}
	for _, g := range r.NodeGroups {
		out[g.Name] = sizes[g.Name]
	}
	return out
}

func recordedNet(r *scalehist.ReplayReport) map[string]int {
	net := map[string]int{}
	for _, g := range r.NodeGroups {
		net[g.Name] = r.Recorded.ScaledUpNodeGroups[g.Name] - r.Recorded.ScaledDownNodeGroups[g.Name]
	}
	return net
}

type differMatcher struct {
	questions []scalehist.Question
	report    *scalehist.ReplayReport
	alike     []string
}

func (m *differMatcher) Match(actual any) (bool, error) {
	if len(m.questions) == 0 {
		return false, errors.New("DifferFromRecordingIn without a question: name at least one of scalehist.Questions")
	}
	r, err := compared(actual, m.questions)
	if err != nil {
		return false, err
	}
	m.report, m.alike = r, nil
	differing := r.Agreement.Differing()
	for _, q := range m.questions {
		if !slices.Contains(differing, q) {
			m.alike = append(m.alike, string(q))
		}
	}
	return len(m.alike) == 0, nil
}

func (m *differMatcher) FailureMessage(any) string {
	return m.message("does not differ from the recording in " + strings.Join(m.alike, ", "))
}

func (m *differMatcher) NegatedFailureMessage(any) string {
	return m.message("differs from the recording in all that was named, and should not")
}

func (m *differMatcher) message(what string) string {
	return joinNonEmpty([]string{fmt.Sprintf("scenario %q: the replay %s", m.report.Scenario, what), report.Indent(report.VerdictText(m.report), "  "), report.Where(m.report)})
}
