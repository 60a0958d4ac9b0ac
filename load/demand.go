package load

import (
	"time"

	"github.com/scalehist/scalehist"
)

// Demand is what the series of a workload says of an instant, whatever does the work: of a queue what comes, not what waits.
func (m *Meter) Demand(w scalehist.WorkloadRef, metric string, at time.Time) (float64, bool) {
	for _, a := range m.of[w.Key()] {
		if a.series.Metric == metric {
			return a.series.At(at)
		}
	}
	return 0, false
}

// DemandFrom is the instant from which on the series of a workload says something; zero where there is none.
func (m *Meter) DemandFrom(w scalehist.WorkloadRef, metric string) time.Time {
	for _, a := range m.of[w.Key()] {
		if a.series.Metric == metric {
			return a.series.Points[0].At // Series.Check: there is one
		}
	}
	return time.Time{}
}
