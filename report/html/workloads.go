package html

import (
	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/metrics"
)

// workloads are those that a controller scaled or that have load: lines of the chart of replicas, rows of the table.
func (b *builder) workloads() {
	for i := range b.r.Workloads {
		w := &b.r.Workloads[i]
		if !report.Shown(*w) {
			continue
		}
		wanted, ready := metrics.Replicas(w)
		next := workload{
			Name: w.String(), Controller: w.Controller, Initial: int(w.Initial), Final: int(w.Final), Peak: int(w.Peak),
			Up: int(w.ScaledUp), Down: int(w.ScaledDown), Unserved: report.Unserved(*w), Wanted: fromMetric(wanted), Ready: fromMetric(ready),
		}
		b.requests(w, &next)
		b.run.Workloads = append(b.run.Workloads, next)
	}
}

// controlled is a decision of a controller. What its kind has no place of its own for is in the parts.
func (b *builder) controlled(e report.Entry) decided {
	out := decided{At: b.at(e.At), Summary: e.Summary, Kind: "none", By: e.Controller}
	switch {
	case e.Up:
		out.Kind = "up"
	case e.Down:
		out.Kind = "down"
	}
	if e.Workload != nil {
		out.Workload = e.Workload.String()
	}
	if s := e.Scale; s != nil {
		out.Scale = scaleOf(s)
		return out
	}
	for _, p := range e.Parts(b.r)[1:] { // the first is the summary
		out.Parts = append(out.Parts, part{p.Title, p.Lines})
	}
	return out
}

func scaleOf(s *scalehist.WorkloadScale) *scale {
	out := &scale{By: s.By, From: int(s.From), To: int(s.To), Reason: s.Reason, Limited: s.Limited}
	for _, m := range s.Metrics {
		out.Metrics = append(out.Metrics, reading{m.Metric, m.Value, m.Target, int(m.Proposal), m.Error})
	}
	return out
}
