package metrics

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
)

const (
	autopilot = "Autopilot, EuroSys 2020, of requests"
	vpa       = "the Vertical Pod Autoscaler's updater"
)

// sized are the metrics of what containers use and ask for. A report has values of them where usage was known or a vertical autoscaler ran.
var sized = []Metric{
	{Name: "slack.usage.cpu", Title: "CPU asked for and not used", Unit: "core-hours", Better: Less, Total: Sum,
		Definition: "CPU that running replicas asked for and did not use, of the workloads whose usage is known. Read it beside overrun.cpu, throttling and cost: what is taken away from pods that need it is no saving.", Formula: "sum over replicas of the integral of max(0, request - usage) dt", Source: "absolute slack (" + autopilot + ")",
		of: usage(corev1.ResourceCPU, func(w scalehist.WorkResult) float64 { return w.Slack })},
	{Name: "slack.usage.memory", Title: "memory asked for and not used", Unit: "GiB-hours", Better: Less, Total: Sum,
		Definition: "Memory that running replicas asked for and did not use, of the workloads whose usage is known.", Formula: "as slack.usage.cpu", Source: "absolute slack (" + autopilot + ")",
		of: usage(corev1.ResourceMemory, func(w scalehist.WorkResult) float64 { return w.Slack })},
	{Name: "slack.usage.relative.cpu", Title: "share of CPU asked for and not used", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "CPU that running replicas asked for and did not use, of what they asked for, over the whole time.", Formula: "100 * slack.usage.cpu / sum over replicas of the integral of request dt", Source: "relative slack (" + autopilot + ", weighted by request)",
		of: relativeUsage(corev1.ResourceCPU)},
	{Name: "slack.usage.relative.memory", Title: "share of memory asked for and not used", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "Memory that running replicas asked for and did not use, of what they asked for, over the whole time.", Formula: "as slack.usage.relative.cpu", Source: "relative slack (" + autopilot + ", weighted by request)",
		of: relativeUsage(corev1.ResourceMemory)},
	{Name: "overrun.cpu", Title: "CPU used and not asked for", Unit: "core-hours", Better: Less, Total: Sum,
		Definition: "CPU that running replicas used beyond what they asked for: on a full node they would not get it.", Formula: "sum over replicas of the integral of max(0, usage - request) dt", Source: "overrun (smart-vpa)",
		of: usage(corev1.ResourceCPU, func(w scalehist.WorkResult) float64 { return w.Overrun })},
	{Name: "overrun.memory", Title: "memory used and not asked for", Unit: "GiB-hours", Better: Less, Total: Sum,
		Definition: "Memory that running replicas used beyond what they asked for: on a full node they are the first to be evicted.", Formula: "as overrun.cpu", Source: "overrun (smart-vpa)",
		of: usage(corev1.ResourceMemory, func(w scalehist.WorkResult) float64 { return w.Overrun })},
	{Name: "throttling", Title: "CPU kept back by limits", Unit: "core-hours", Better: Less, Total: Sum,
		Definition: "CPU that ready replicas would have used and that their limits kept them from. Usage that was recorded at a limit is a lower bound, of which a warning says so, and so is this.", Formula: "sum over replicas of the integral of max(0, demand / ready - limit) dt", Source: practice + ": throttled core-seconds",
		of: func(m *measured) (float64, string) {
			sum, known := 0.0, false
			for w := range m.work(corev1.ResourceCPU) {
				if w.In > 0 {
					sum, known = sum+w.Throttled, true
				}
			}
			if !known {
				return 0, noUsage
			}
			return sum / 3600, ""
		}},
	{Name: "oom.kills", Title: "containers out of memory", Unit: "kills", Whole: true, Better: Less, Total: Sum,
		Definition: "Containers that were killed because they used more memory than their limit.", Formula: "count of kills", Source: "OOM count (Autopilot, EuroSys 2020)",
		of: func(m *measured) (float64, string) {
			n, known := 0, false
			for range m.work(corev1.ResourceMemory) {
				known = true
			}
			for i := range m.r.Workloads {
				n += len(m.r.Workloads[i].OOMKills)
			}
			if n == 0 && !known {
				return 0, "the memory that containers use is not known"
			}
			return float64(n), ""
		}},
	{Name: "evictions.resizing", Title: "pods evicted to be resized", Unit: "evictions", Whole: true, Better: Less, Total: Sum,
		Definition: "Pods that a vertical autoscaler evicted so that their successors ask for something else.", Formula: "sum over workloads of evicted", Source: vpa,
		of: ofSized(func(w *scalehist.WorkloadResult) int32 { return w.Evicted })},
	{Name: "resizes.in-place", Title: "pods resized in place", Unit: "resizes", Whole: true, Better: Neither, Total: Sum,
		Definition: "How often a vertical autoscaler gave a running pod other requests.", Formula: "sum over workloads of resized", Source: vpa,
		of: ofSized(func(w *scalehist.WorkloadResult) int32 { return w.Resized })},
	{Name: "recommendation.quality.cpu", Title: "CPU recommendations that fit", Unit: Percent, Better: More, Total: NoTotal,
		Definition: "Share of the time in which what a replica used was within 30 % of what was recommended for it, of the containers with a recommendation. Usage is a mean of five minutes, so that shorter spikes do not count; time without a recommendation, a ready replica or known usage is left out.", Formula: "100 * time with 0.7 <= usage / (recommendation * ready) <= 1.3 / time", Source: "quality of a recommendation, usage / recommendation within 1 ± r (gardener/gardener#12730), with r = 0.3",
		of: quality(corev1.ResourceCPU)},
	{Name: "recommendation.quality.memory", Title: "memory recommendations that fit", Unit: Percent, Better: More, Total: NoTotal,
		Definition: "Share of the time in which what a replica used was within 30 % of what was recommended for it, of the containers with a recommendation.", Formula: "as recommendation.quality.cpu", Source: "quality of a recommendation, usage / recommendation within 1 ± r (gardener/gardener#12730), with r = 0.3",
		of: quality(corev1.ResourceMemory)},
}

// judged are the metrics of how long work takes, where somebody said how long it may.
var judged = []Metric{
	{Name: "slo", Title: "work that took too long", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "Work that took longer than the load says it may, or was lost: of the metric of a workload with the largest share. Of a queue, how long its items wait, first in, first out; of CPU, the mean response time of a replica that shares its processor: service / (1 - u), u being what it uses of its limit, or of its request without one.", Formula: "100 * max over workloads and metrics of late / in", Source: "cumulative curves of a queue (Newell, 1982); M/G/1 with processor sharing (Kleinrock, Queueing Systems II, 1976)",
		of: func(m *measured) (float64, string) {
			largest, known := 0.0, false
			for _, w := range m.r.Workloads {
				for _, x := range w.Work {
					if x.LimitSeconds > 0 && x.In > 0 {
						largest, known = max(largest, 100*x.Late/x.In), true
					}
				}
			}
			if !known {
				return 0, noLimit
			}
			return largest, ""
		}},
}

const (
	noUsage = "replayed without load: nobody knows what containers use"
	noLimit = "the load does not say how long work may take (latency in its file)"
)

// hasUsage says whether a report knows what containers use or ask for.
func hasUsage(r *scalehist.ReplayReport) bool {
	for i := range r.Workloads {
		w := &r.Workloads[i]
		if w.SizedBy != "" || len(w.OOMKills) > 0 {
			return true
		}
		for _, x := range w.Work {
			if x.Requested > 0 {
				return true
			}
		}
	}
	return false
}

func hasLimit(r *scalehist.ReplayReport) bool {
	for i := range r.Workloads {
		for _, x := range r.Workloads[i].Work {
			if x.LimitSeconds > 0 {
				return true
			}
		}
	}
	return false
}

// work are the works of a resource, of all workloads.
func (m *measured) work(name corev1.ResourceName) func(func(scalehist.WorkResult) bool) {
	return func(yield func(scalehist.WorkResult) bool) {
		for i := range m.r.Workloads {
			for _, w := range m.r.Workloads[i].Work {
				if w.Metric == string(name) && !yield(w) {
					return
				}
			}
		}
	}
}

// requested is what replicas asked for, in unit seconds.
func (m *measured) requested(name corev1.ResourceName) (sum float64, missing string) {
	known := false
	for w := range m.work(name) {
		sum, known = sum+w.Requested, true
	}
	switch {
	case !known:
		return 0, noUsage
	case sum == 0:
		return 0, "no workload whose usage is known asks for " + string(name)
	}
	return sum, ""
}

// usage sums something up in core-hours or GiB-hours.
func usage(name corev1.ResourceName, of func(scalehist.WorkResult) float64) func(*measured) (float64, string) {
	unit := 3600.0
	if name == corev1.ResourceMemory {
		unit *= 1 << 30
	}
	return func(m *measured) (float64, string) {
		if _, missing := m.requested(name); missing != "" {
			return 0, missing
		}
		sum := 0.0
		for w := range m.work(name) {
			sum += of(w)
		}
		return sum / unit, ""
	}
}

func relativeUsage(name corev1.ResourceName) func(*measured) (float64, string) {
	return func(m *measured) (float64, string) {
		requested, missing := m.requested(name)
		if missing != "" {
			return 0, missing
		}
		slack := 0.0
		for w := range m.work(name) {
			slack += w.Slack
		}
		return 100 * slack / requested, ""
	}
}

// ofSized counts what a vertical autoscaler did.
func ofSized(of func(*scalehist.WorkloadResult) int32) func(*measured) (float64, string) {
	return func(m *measured) (float64, string) {
		n, ran := int32(0), false
		for i := range m.r.Workloads {
			w := &m.r.Workloads[i]
			n, ran = n+of(w), ran || w.SizedBy != ""
		}
		if !ran {
			return 0, "no vertical autoscaler set requests (--vertical)"
		}
		return float64(n), ""
	}
}

// Used is what the replicas of a workload used of a resource together, of all containers whose usage is known; -1 where that of one is not. It is
// empty where nobody knows any.
func Used(w *scalehist.WorkloadResult, name corev1.ResourceName) Curve {
	var steps, unknown []step
	for i := range w.Work {
		x := &w.Work[i]
		if x.Metric != string(name) || len(x.Used) == 0 {
			continue
		}
		sum, gap := 0.0, 0.0
		for j, p := range usedBy(x) {
			if j == 0 || p.Value >= 0 != (gap == 0) {
				now := 0.0
				if p.Value < 0 {
					now = 1
				}
				unknown, gap = append(unknown, step{time.Duration(p.Offset), now - gap}), now
			}
			v := max(0, p.Value)
			steps, sum = append(steps, step{time.Duration(p.Offset), v - sum}), v
		}
	}
	if len(steps) == 0 {
		return nil
	}
	var out Curve
	total, missing := curveOf(steps), curveOf(unknown)
	for _, at := range cuts(total, missing) {
		v := -1.0
		if missing.at(at) == 0 {
			v = total.at(at)
		}
		out = append(out, Point{scalehist.Duration(at), v})
	}
	return out.compact()
}

// usedBy is what the replicas used of one metric of one container; -1 where it is not known.
func usedBy(w *scalehist.WorkResult) Curve {
	out := Curve{}
	if len(w.Used) > 0 && w.Used[0].Offset > 0 {
		out = append(out, Point{Value: -1})
	}
	for _, p := range w.Used {
		v := -1.0
		if p.Value != nil {
			v = *p.Value
		}
		out = append(out, Point{p.Offset, v})
	}
	return out
}

// Bounds are what is recommended over time for one container of a workload, or for all of them where container is empty: the target, and what is
// left alone. They are 0 where nothing is.
type Bounds struct{ Target, Lower, Upper Curve }

// Recommended are the recommendations for a workload that a report has.
func Recommended(r *scalehist.ReplayReport, w scalehist.WorkloadRef, container string, name corev1.ResourceName) Bounds {
	var target, lower, upper []step
	was := map[string][3]float64{}
	for _, d := range r.WorkloadDecisions {
		for _, s := range d.Resizes {
			if s.Action != scalehist.Recommended || s.Workload.Key() != w.Key() {
				continue
			}
			at := d.At.Sub(r.StartTime)
			for _, c := range s.Containers {
				if container != "" && c.Name != container {
					continue
				}
				is, before := [3]float64{quantity(c.To, name), quantity(c.Lower, name), quantity(c.Upper, name)}, was[c.Name]
				target, lower, upper = append(target, step{at, is[0] - before[0]}), append(lower, step{at, is[1] - before[1]}), append(upper, step{at, is[2] - before[2]})
				was[c.Name] = is
			}
		}
	}
	return Bounds{curveOf(target), curveOf(lower), curveOf(upper)}
}

// quantity is an amount in cores or bytes; 0 for one that is not there.
func quantity(list corev1.ResourceList, name corev1.ResourceName) float64 {
	q, ok := list[name]
	if !ok {
		q = resource.Quantity{}
	}
	return q.AsApproximateFloat64()
}

// quality is how much of the time usage was near what is recommended.
func quality(name corev1.ResourceName) func(*measured) (float64, string) {
	const r = 0.3
	return func(m *measured) (float64, string) {
		var within, all time.Duration
		recommended := false
		for i := range m.r.Workloads {
			w := &m.r.Workloads[i]
			_, ready := Replicas(w)
			for k := range w.Work {
				x := &w.Work[k]
				if x.Metric != string(name) {
					continue
				}
				target := Recommended(m.r, w.WorkloadRef, x.Container, name).Target
				if target.Max() == 0 {
					continue
				}
				recommended = true
				join(usedBy(x), Product(target, ready, m.length), m.length, func(d duration, used, fits float64) {
					if used < 0 || fits < 1e-9 {
						return
					}
					all += d
					if ratio := used / fits; ratio >= 1-r && ratio <= 1+r {
						within += d
					}
				})
			}
		}
		switch {
		case all > 0:
			return 100 * within.Hours() / all.Hours(), ""
		case recommended:
			return 0, "there was no time with a recommendation, a ready replica and known usage"
		}
		return 0, "nothing was recommended for " + string(name) + " of a workload whose usage is known (--vertical)"
	}
}
