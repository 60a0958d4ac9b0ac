package metrics

import "github.com/scalehist/scalehist"

// held are the metrics of work that waits for a first replica. A report has them where the load has such work, though none of it had to wait.
var held = []Metric{
	{Name: "held.share", Title: "work that waited for a first replica", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "Work that came while no replica was ready, and was served later: of the metric of a workload with the largest share.", Formula: "max over workloads and metrics of held / in", Source: practice,
		of: ofHeld(func(x scalehist.WorkResult) float64 { return 100 * x.Held.Work / x.In })},
	{Name: "held.delay.p99", Title: "wait for a first replica, 99 %", Unit: Seconds, Better: Less, Total: Largest,
		Definition: "What 99 % of the work that waited for a first replica did not exceed: a look at the trigger, the scheduler, a node, the start of the pod. Of the workload with the longest.", Formula: "max over workloads and metrics of the 99th percentile, by work, of the wait of what was held", Source: practice,
		of: ofHeld(func(x scalehist.WorkResult) float64 { return x.Held.P99Seconds })},
	{Name: "held.delay.max", Title: "longest wait for a first replica", Unit: Seconds, Better: Less, Total: Largest,
		Definition: "The longest that work waited for a first replica and was served.", Formula: "max over workloads and metrics of the longest wait of what was held", Source: practice,
		of: ofHeld(func(x scalehist.WorkResult) float64 { return x.Held.MaxSeconds })},
	{Name: "held.lost", Title: "work that waited too long for a first replica", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "Work that came while no replica was ready and was lost, because none was within the time for which the load holds it: of the metric of a workload with the largest share.", Formula: "max over workloads and metrics of (lost - throttled) / in", Source: practice,
		of: ofHeld(func(x scalehist.WorkResult) float64 { return 100 * (x.Lost - x.Throttled) / x.In })},
}

// noHeld is why a report without held work has no value.
const noHeld = "the load has no work that is held (sharing: held)"

func ofHeld(of func(scalehist.WorkResult) float64) func(*measured) (float64, string) {
	return ofWorkloads(func(m *measured) (float64, string) {
		largest, any := 0.0, false
		for _, w := range m.r.Workloads {
			for _, x := range w.Work {
				if x.Held != nil && x.In > 0 {
					largest, any = max(largest, of(x)), true
				}
			}
		}
		if !any {
			return 0, noHeld
		}
		return largest, ""
	})
}

func hasHeld(r *scalehist.ReplayReport) bool {
	for i := range r.Workloads {
		for _, x := range r.Workloads[i].Work {
			if x.Held != nil {
				return true
			}
		}
	}
	return false
}
