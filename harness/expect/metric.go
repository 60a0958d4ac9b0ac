package expect

import (
	"fmt"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/gate"
	"github.com/scalehist/scalehist/report/metrics"
)

// KeepMetric succeeds when a metric of the report is within a limit, in the names and words of a gate's policy: "pending.max",
// "<= 90s". There is no baseline here, so only limits of the value itself make sense.
func KeepMetric(name, limit string) Matcher {
	return &metricMatcher{name: name, text: limit}
}

// MetricLimit reads the limit of a metric for KeepMetric.
func MetricLimit(name, text string) (metrics.Metric, gate.Limit, error) {
	m, err := metrics.Find(name)
	if err != nil {
		return m, gate.Limit{}, err
	}
	l, err := gate.ParseLimit(text, m)
	if err != nil {
		return m, l, fmt.Errorf("%s: %w", name, err)
	}
	for _, b := range l.Alternatives {
		if b.Kind != gate.AtMost && b.Kind != gate.AtLeast {
			return m, l, fmt.Errorf("%s: %q is a change against a baseline, and a scenario has none: write <= or >= and the value", name, text)
		}
	}
	if l.Off {
		return m, l, fmt.Errorf("%s: off limits nothing: leave it out", name)
	}
	return m, l, nil
}

type metricMatcher struct {
	name, text string
	report     *scalehist.ReplayReport
	metric     metrics.Metric
	value      metrics.Value
}

func (m *metricMatcher) Match(actual any) (bool, error) {
	r, err := asReport(actual)
	if err != nil {
		return false, err
	}
	metric, limit, err := MetricLimit(m.name, m.text)
	if err != nil {
		return false, err
	}
	m.report, m.metric, m.value = r, metric, metrics.Of(r).Get(m.name)
	if m.value.Value == nil {
		return false, fmt.Errorf("scenario %q has no %s: %s", r.Scenario, m.name, m.value.Missing)
	}
	return limit.Holds(0, *m.value.Value, metric.Better), nil
}

func (m *metricMatcher) FailureMessage(any) string {
	return joinNonEmpty([]string{
		fmt.Sprintf("scenario %q: %s is %s, want %s", m.report.Scenario, m.name, metrics.Text(*m.value.Value, m.value.Unit), m.text),
		fmt.Sprintf("  %s: %s", m.metric.Title, m.metric.Definition), report.Where(m.report),
	})
}

func (m *metricMatcher) NegatedFailureMessage(any) string {
	return fmt.Sprintf("scenario %q: %s is %s, within %s, and should not be", m.report.Scenario, m.name, metrics.Text(*m.value.Value, m.value.Unit), m.text)
}
