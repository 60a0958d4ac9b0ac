package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/scalehist/scalehist"
)

// scaledBecause says why a workload has as many replicas.
func scaledBecause(s scalehist.WorkloadScale) []string {
	var out []string
	if s.Reason != "" {
		out = append(out, s.Reason)
	}
	for _, m := range s.Metrics {
		switch {
		case m.Error != "" && m.Error != s.Reason && !strings.Contains(s.Reason, m.Error):
			out = append(out, fmt.Sprintf("%s: %s", m.Metric, m.Error))
		case m.Error == "":
			out = append(out, readingLine(m))
		}
	}
	return append(out, s.Limited...)
}

// scaleParts are the parts of a decision about replicas: the reason, each metric, and what kept it from more.
func scaleParts(s scalehist.WorkloadScale) []Part {
	var out []Part
	add := func(title string, lines ...string) {
		if len(lines) > 0 {
			out = append(out, Part{title, slices.Clone(lines)})
		}
	}
	if s.By != "" {
		add("asked for by", s.By)
	}
	if s.Reason != "" {
		add("reason", s.Reason)
	}
	var lines []string
	for _, m := range s.Metrics {
		if m.Error != "" {
			lines = append(lines, m.Metric+": "+m.Error)
			continue
		}
		lines = append(lines, readingLine(m))
	}
	add("metrics", lines...)
	add("limited by", s.Limited...)
	return out
}

// readingLine is "cpu: 93% of 60%, asks for 7".
func readingLine(m scalehist.MetricReading) string {
	return fmt.Sprintf("%s: %s of %s, asks for %d", m.Metric, m.Value, m.Target, m.Proposal)
}

// Shown says whether a workload belongs into tables and charts: a controller set its replicas or requests, or it has work to do.
func Shown(w scalehist.WorkloadResult) bool {
	return w.Controller != "" || w.SizedBy != "" || len(w.Work) > 0
}

// workloadTable shows the replicas of the workloads that a controller looked at or that have work to do; empty where there are none.
func workloadTable(r *scalehist.ReplayReport) string {
	t := newTable()
	t.AppendHeader(table.Row{"workload", "controller", "initial", "final", "peak", "up", "down", "work not served"})
	rows := 0
	for _, w := range r.Workloads {
		if !Shown(w) {
			continue
		}
		rows++
		t.AppendRow(table.Row{w.String(), w.Controller, w.Initial, w.Final, w.Peak, signed("+", int(w.ScaledUp)), signed("-", int(w.ScaledDown)), Unserved(w)})
	}
	if rows == 0 {
		return ""
	}
	return "\n" + t.Render() + "\n"
}

// Unserved is what of the work of a workload was lost or still waits, metric by metric, in percent of what came.
func Unserved(w scalehist.WorkloadResult) string {
	var out []string
	for _, m := range w.Work {
		if rest := m.Lost + m.Waiting; rest > 0 {
			out = append(out, fmt.Sprintf("%s %.3g%%", m.Metric, 100*rest/m.In))
		}
	}
	if len(out) == 0 && len(w.Work) > 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
