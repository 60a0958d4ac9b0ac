package hpa

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Why explains the size of a decision in lines of plain text: each metric, which one decided, and what changed its proposal.
func (d *Decision) Why() []string {
	var lines []string
	for i := range d.Metrics {
		line := fmt.Sprintf("metric %d of %d: %s", i+1, len(d.Metrics), d.Metrics[i].text())
		if i == d.Decided {
			line += " (decides)"
		}
		lines = append(lines, line)
	}
	if d.Decided < 0 && len(d.Metrics) > 0 {
		lines = append(lines, "metrics without a value might want more replicas: the size is kept")
	}
	for _, l := range d.Limits {
		lines = append(lines, fmt.Sprintf("%s: %d becomes %d, %s", l.By, l.From, l.To, l.Detail))
	}
	for _, e := range d.Events {
		if e.Type == "Warning" {
			lines = append(lines, fmt.Sprintf("%s: %s", e.Reason, e.Message))
		}
	}
	switch {
	case d.Rescaled:
		lines = append(lines, fmt.Sprintf("scaled from %d to %d: %s", d.From, d.To, d.Reason))
	case d.To != d.From:
		lines = append(lines, fmt.Sprintf("wants %d instead of %d: %s", d.To, d.From, d.Reason))
	default:
		lines = append(lines, fmt.Sprintf("stays at %d", d.From))
	}
	return lines
}

// text is what a metric says: its value, its target, the pods that count, what it proposes.
func (m *Metric) text() string {
	if m.Error != "" {
		return "no value: " + m.Error
	}
	current, target := m.Current(), m.Target()
	text := fmt.Sprintf("%s is %s of %s, ratio %.3g", m.Name, value(current.AverageUtilization, current.AverageValue, current.Value),
		value(target.AverageUtilization, target.AverageValue, target.Value), m.Ratio)
	if m.Pods != (PodCounts{}) {
		text += fmt.Sprintf(" of %d ready pods", m.Pods.Ready)
		for _, other := range []struct {
			n    int
			name string
		}{{m.Pods.Unready, "unready"}, {m.Pods.Missing, "without a sample"}, {m.Pods.Ignored, "ended"}} {
			if other.n > 0 {
				text += fmt.Sprintf(", %d %s", other.n, other.name)
			}
		}
	}
	text += fmt.Sprintf(": proposes %d", m.Proposal)
	if m.Kept != "" {
		text += ", " + string(m.Kept)
	}
	return text
}

// Target is what the metric is held against.
func (m *Metric) Target() (out autoscalingv2.MetricTarget) {
	switch s := &m.Spec; {
	case s.Resource != nil:
		out = s.Resource.Target
	case s.ContainerResource != nil:
		out = s.ContainerResource.Target
	case s.Pods != nil:
		out = s.Pods.Target
	case s.Object != nil:
		out = s.Object.Target
	case s.External != nil:
		out = s.External.Target
	}
	return out
}

// Current is the value of the metric; zero where there is an error.
func (m *Metric) Current() (out autoscalingv2.MetricValueStatus) {
	switch s := &m.Status; {
	case s.Resource != nil:
		out = s.Resource.Current
	case s.ContainerResource != nil:
		out = s.ContainerResource.Current
	case s.Pods != nil:
		out = s.Pods.Current
	case s.Object != nil:
		out = s.Object.Current
	case s.External != nil:
		out = s.External.Current
	}
	return out
}

// value is the first that is set: a share of the requests, an average, a sum.
func value(utilization *int32, average, sum *resource.Quantity) string {
	switch {
	case utilization != nil:
		return fmt.Sprintf("%d%%", *utilization)
	case average != nil:
		return average.String() + " a pod"
	case sum != nil:
		return sum.String()
	}
	return "nothing"
}
