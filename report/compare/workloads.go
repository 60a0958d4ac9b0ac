package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/metrics"
)

// WorkloadCurve is a workload over time on one side: the replicas that were wanted, and those that were ready.
type WorkloadCurve struct {
	Name   string        `json:"name"`
	Wanted metrics.Curve `json:"wanted"`
	Ready  metrics.Curve `json:"ready"`
}

// workloads are the replicas of the workloads that a controller scaled, or that have load, on any side, in name order; nil without any.
func workloads(sides []Side) []Row {
	var rows []Row
	for _, s := range sides {
		for _, w := range s.Report.Workloads {
			if report.Shown(w) && !slices.ContainsFunc(rows, func(r Row) bool { return r.Name == w.String() }) {
				rows = append(rows, Row{Name: w.String(), Sizes: absent(len(sides))})
			}
		}
	}
	for i, s := range sides {
		for _, w := range s.Report.Workloads {
			for n := range rows {
				if rows[n].Name == w.String() {
					rows[n].Sizes[i] = Sizes{Initial: int(w.Initial), Final: int(w.Final), Peak: int(w.Peak), ScaledUp: int(w.ScaledUp), ScaledDown: int(w.ScaledDown)}
				}
			}
		}
	}
	return finished(rows)
}

// workloadCurves are the workloads of rows over time on one side.
func workloadCurves(r *scalehist.ReplayReport, rows []Row) []WorkloadCurve {
	var out []WorkloadCurve
	for _, row := range rows {
		c := WorkloadCurve{Name: row.Name}
		for i := range r.Workloads {
			if r.Workloads[i].String() == row.Name {
				c.Wanted, c.Ready = metrics.Replicas(&r.Workloads[i])
			}
		}
		out = append(out, c)
	}
	return out
}

// mostCurves bounds the workloads that are drawn over time: those that differ most between the sides.
const mostCurves = 5

// drawn are the workloads to draw, the rows whose largest and smallest peak part most first.
func drawn(rows []Row) []int {
	var out []int
	for i := range rows {
		out = append(out, i)
	}
	spread := func(r Row) int {
		low, high := r.Sizes[0].Peak, r.Sizes[0].Peak
		for _, s := range r.Sizes {
			low, high = min(low, s.Peak), max(high, s.Peak)
		}
		return high - low
	}
	slices.SortStableFunc(out, func(a, b int) int { return spread(rows[b]) - spread(rows[a]) })
	out = out[:min(len(out), mostCurves)]
	slices.Sort(out)
	return out
}

// controllers is what a report's controllers are called, for the table of settings.
func controllers(r *scalehist.ReplayReport) string {
	if len(r.Controllers) == 0 {
		return "(none)"
	}
	return strings.Join(r.Controllers, ", ")
}

// replicaCurves are the curves of the workloads that are drawn, for the page.
func replicaCurves(c *Comparison) []overTime {
	var out []overTime
	for _, n := range drawn(c.Workloads) {
		out = append(out, overTime{fmt.Sprintf("replicas wanted of %s", c.Workloads[n].Name), func(s SideInfo) metrics.Curve { return s.Workloads[n].Wanted }})
	}
	return out
}
