package metrics

import (
	"math"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	reports "github.com/scalehist/scalehist/report"
)

// scaled are the metrics of replicas and their work. A report has values of them where it has workloads: where controllers ran, or load was given. Other
// reports, and tables of such only, are as if there were none.
var scaled = []Metric{
	{Name: "replicas.peak", Title: "most replicas at once", Unit: "replicas", Whole: true, Better: Neither, Total: Largest,
		Definition: "The largest number of replicas that were wanted at any instant, of the workloads that a controller scaled or that have load, together.", Formula: "max over t of sum over these workloads of wanted(t)", Source: practice,
		of: ofWorkloads(func(m *measured) (float64, string) { return m.wanted().Max(), "" })},
	{Name: "replicas.hours", Title: "ready replica hours", Unit: "replica-hours", Better: Neither, Total: Sum,
		Definition: "Time of all replicas that were ready, of the same workloads.", Formula: "integral of sum over these workloads of ready(t) dt", Source: practice,
		of: ofWorkloads(func(m *measured) (float64, string) { return m.ready().integral(m.length, same), "" })},
	{Name: "replicas.missing-seconds", Title: "replica seconds missing", Unit: Seconds, Better: Less, Total: Sum,
		Definition: "Replicas that were wanted and not ready, times how long: what a controller asked for and the nodes did not have yet.", Formula: "sum over these workloads of the integral of max(0, wanted(t) - ready(t)) dt", Source: practice,
		of: ofWorkloads(func(m *measured) (float64, string) { return missingReplicas(m), "" })},
	{Name: "replicas.churn", Title: "changes of replicas", Unit: "replicas", Whole: true, Better: Less, Total: Sum,
		Definition: "Replicas by which controllers changed workloads, up and down together.", Formula: "sum over workloads of (scaled up + scaled down)", Source: practice,
		of: ofWorkloads(func(m *measured) (float64, string) {
			n := int32(0)
			for _, w := range m.r.Workloads {
				n += w.ScaledUp + w.ScaledDown
			}
			return float64(n), ""
		})},
	{Name: "work.unserved", Title: "work that was not served", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "Work that came in and was lost, or waits at the end: of the metric of a workload with the largest share. Cheaper because work was left undone is no saving.", Formula: "max over workloads and metrics of (lost + waiting) / in", Source: "conservation of work: in = served + lost + waiting",
		of: ofWorkloads(unserved)},
	{Name: "scale-from-zero.delay", Title: "longest time without a ready replica", Unit: Seconds, Better: Less, Total: Largest,
		Definition: "The longest time for which a workload had work and no replica ready to do it: what its first request waited at zero, or would have, had it been held. Work that is divided is lost meanwhile, which work.unserved has.", Formula: "max over workloads and metrics of the longest time with demand(t) > 0 or a queue, and ready(t) = 0", Source: practice,
		of: ofWorkloads(func(m *measured) (float64, string) {
			return mostWork(m, func(x scalehist.WorkResult) float64 { return x.LongestUnreadySeconds })
		})},
	{Name: "work.unready-seconds", Title: "time without a ready replica", Unit: Seconds, Better: Less, Total: Sum,
		Definition: "How long workloads had work and no replica ready to do it.", Formula: "max over workloads and metrics of the time with demand(t) > 0 or a queue, and ready(t) = 0", Source: practice,
		of: ofWorkloads(func(m *measured) (float64, string) {
			return mostWork(m, func(x scalehist.WorkResult) float64 { return x.UnreadySeconds })
		})},
}

// family are metrics that only some reports have.
type family struct {
	title string
	list  []Metric
	has   func(*scalehist.ReplayReport) bool
	// missing is why another report has no value.
	missing string
}

var families = []family{
	{"Of workloads, where controllers of workloads ran or load was given", scaled, hasWorkloads, noWorkloads},
	{"Of what containers use and ask for, where usage is known or a vertical autoscaler ran", sized, hasUsage, noUsage},
	{"Of requests that are held while no replica is ready, where the load has some (sharing: held)", held, hasHeld, noHeld},
	{"Of how long work takes, where the load says how long it may", judged, hasLimit, noLimit},
}

// Workloads are the metrics of reports with workloads, in the order tables show them.
func Workloads() []Metric {
	var out []Metric
	for _, f := range families {
		out = append(out, f.list...)
	}
	return out
}

// Defined are the metrics that tables of some reports show: All, and those of Workloads that any of the reports has.
func Defined(reports ...*scalehist.ReplayReport) []Metric {
	out := All()
	for _, f := range families {
		if slices.ContainsFunc(reports, f.has) {
			out = append(out, f.list...)
		}
	}
	return out
}

func hasWorkloads(r *scalehist.ReplayReport) bool { return len(r.Workloads) > 0 }

// shown are the workloads that are measured: those that a controller scaled or that have work. Of others a recording has the replicas that
// somebody wanted, and pods that end on their own are not missing.
func shown(r *scalehist.ReplayReport) []scalehist.WorkloadResult {
	var out []scalehist.WorkloadResult
	for _, w := range r.Workloads {
		if reports.Shown(w) {
			out = append(out, w)
		}
	}
	return out
}

// noWorkloads is why a report without workloads has no value.
const noWorkloads = "replayed without a controller of workloads (--horizontal) and without load"

// ofWorkloads is for metrics that mean nothing without time, or without workloads.
func ofWorkloads(f func(*measured) (float64, string)) func(*measured) (float64, string) {
	return timed(func(m *measured) (float64, string) {
		if !hasWorkloads(m.r) {
			return 0, noWorkloads
		}
		return f(m)
	})
}

// Replicas are the replicas of a workload over time: those that were wanted, and those that were ready.
func Replicas(w *scalehist.WorkloadResult) (wanted, ready Curve) {
	for _, at := range w.Replicas {
		wanted = append(wanted, Point{Offset: at.Offset, Value: float64(at.Wanted)})
		ready = append(ready, Point{Offset: at.Offset, Value: float64(at.Ready)})
	}
	return wanted.compact(), ready.compact()
}

// wanted and ready are the replicas of all workloads together.
func (m *measured) wanted() Curve {
	return m.replicas(func(p scalehist.ReplicasAt) int32 { return p.Wanted })
}
func (m *measured) ready() Curve {
	return m.replicas(func(p scalehist.ReplicasAt) int32 { return p.Ready })
}

func (m *measured) replicas(of func(scalehist.ReplicasAt) int32) Curve {
	var steps []step
	for _, w := range shown(m.r) {
		last := int32(0)
		for _, p := range w.Replicas {
			steps = append(steps, step{time.Duration(p.Offset), float64(of(p) - last)})
			last = of(p)
		}
	}
	return curveOf(steps)
}

func missingReplicas(m *measured) float64 {
	sum := 0.0
	for _, w := range shown(m.r) {
		wanted, ready := Replicas(&w)
		join(wanted, ready, m.length, func(d duration, wanted, ready float64) { sum += max(0, wanted-ready) * d.Seconds() })
	}
	return sum
}

func unserved(m *measured) (float64, string) {
	return mostWork(m, func(x scalehist.WorkResult) float64 { return 100 * (x.Lost + x.Waiting) / x.In })
}

// mostWork is the largest value of the works of which something came in.
func mostWork(m *measured, of func(scalehist.WorkResult) float64) (float64, string) {
	largest := math.Inf(-1)
	for _, w := range m.r.Workloads {
		for _, x := range w.Work {
			if x.In > 0 {
				largest = max(largest, of(x))
			}
		}
	}
	if math.IsInf(largest, -1) {
		return 0, "replayed without load: nobody knows the work"
	}
	return largest, ""
}
