package ledger

import (
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/load"
)

// workloads is what controllers did, and the workloads they did it to.
type workloads struct {
	controllers []string
	decisions   []scalehist.WorkloadDecision
	// explained is the last explanation of each workload.
	explained map[scalehist.WorkloadRef]string
	results   []*scalehist.WorkloadResult
	byRef     map[scalehist.WorkloadRef]*scalehist.WorkloadResult
}

// Controller notes a controller that runs.
func (l *Ledger) Controller(name string) {
	l.workloads.controllers = append(l.workloads.controllers, name)
}

// Controlled keeps what a controller did: what it scaled, and what it explains otherwise than the last time.
func (l *Ledger) Controlled(d scalehist.WorkloadDecision) {
	w := &l.workloads
	if w.explained == nil {
		w.explained = map[scalehist.WorkloadRef]string{}
	}
	d.Scales = slices.DeleteFunc(d.Scales, func(s scalehist.WorkloadScale) bool {
		why, last := reasons(s), w.explained[s.Workload]
		same := s.From == s.To && (last == why || why == calm && !strings.Contains(last, failed))
		w.explained[s.Workload] = why
		if s.From != s.To {
			if r := w.byRef[s.Workload]; r != nil {
				r.Controller = d.Controller
				r.ScaledUp += max(0, s.To-s.From)
				r.ScaledDown += max(0, s.From-s.To)
			}
		}
		return same
	})
	for _, s := range d.Resizes {
		r := w.byRef[s.Workload]
		if r == nil || s.Error != "" {
			continue
		}
		switch s.Action {
		case scalehist.Evicted:
			r.Evicted++
		case scalehist.Resized:
			r.Resized++
		}
	}
	if len(d.Scales)+len(d.Resizes)+len(d.Events)+len(d.Notes) > 0 {
		w.decisions = append(w.decisions, d)
	}
}

const (
	calm   = "calm"   // nothing is to be done, and everything could be read
	failed = "failed" // something could not be read
)

// reasons are what a decision says beside numbers.
func reasons(s scalehist.WorkloadScale) string {
	out := s.Reason
	for _, limit := range s.Limited {
		by, _, _ := strings.Cut(limit, ":") // the rest are numbers, which change from run to run
		out += "\n" + by
	}
	for _, m := range s.Metrics {
		if m.Error != "" {
			out += "\n" + failed + " " + m.Metric + " " + m.Error
		}
	}
	switch {
	case out == "":
		return calm
	case len(s.Metrics) == 0:
		return failed + " " + out
	}
	return out
}

// Workload notes how a workload is at t.
func (l *Ledger) Workload(t time.Time, o scalehist.Workload) {
	w := &l.workloads
	if w.byRef == nil {
		w.byRef = map[scalehist.WorkloadRef]*scalehist.WorkloadResult{}
	}
	at := scalehist.ReplicasAt{Offset: scalehist.Duration(t.Sub(l.in.Start)), Wanted: o.Replicas}
	for _, p := range o.Pods {
		if load.Ready(p) {
			at.Ready++
		}
	}
	r := w.byRef[o.WorkloadRef]
	if r == nil {
		r = &scalehist.WorkloadResult{WorkloadRef: o.WorkloadRef, Initial: at.Wanted}
		w.byRef[o.WorkloadRef] = r
		w.results = append(w.results, r)
	}
	r.Final, r.Peak = at.Wanted, max(r.Peak, at.Wanted)
	switch last := len(r.Replicas) - 1; {
	case last >= 0 && r.Replicas[last].Offset == at.Offset:
		r.Replicas[last] = at
	case last < 0 || r.Replicas[last].Wanted != at.Wanted || r.Replicas[last].Ready != at.Ready:
		r.Replicas = append(r.Replicas, at)
	}
	if o.SizedBy != "" {
		r.SizedBy = o.SizedBy
		requests(r, at.Offset, o.Pods)
	}
}

// requests notes what the pods of a workload ask for.
func requests(r *scalehist.WorkloadResult, offset scalehist.Duration, pods []*corev1.Pod) {
	at := scalehist.RequestsAt{Offset: offset}
	var cpu, memory resource.Quantity
	for _, p := range pods {
		asks := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
		cpu.Add(asks[corev1.ResourceCPU])
		memory.Add(asks[corev1.ResourceMemory])
	}
	at.CPU, at.Memory = cpu.AsApproximateFloat64(), memory.AsApproximateFloat64()
	switch last := len(r.Requests) - 1; {
	case last >= 0 && r.Requests[last].Offset == at.Offset:
		r.Requests[last] = at
	case last < 0 || r.Requests[last].CPU != at.CPU || r.Requests[last].Memory != at.Memory:
		r.Requests = append(r.Requests, at)
	}
}

// Killed notes a container of a workload's pod that ran out of memory.
func (l *Ledger) Killed(t time.Time, over load.Over, status corev1.ContainerStatus) {
	i := slices.IndexFunc(l.workloads.results, func(r *scalehist.WorkloadResult) bool { return r.Key() == over.Workload.Key() })
	if i >= 0 {
		r := l.workloads.results[i]
		r.OOMKills = append(r.OOMKills, scalehist.OOMKill{
			Offset: scalehist.Duration(t.Sub(l.in.Start)), Pod: over.Pod, Container: status.Name, Limit: over.Limit, Restarts: status.RestartCount,
		})
	}
}

// Controllers puts into a report what controllers did, with the balances of the load.
func (l *Ledger) Controllers(out *scalehist.ReplayReport, balances []load.Entry) {
	w := &l.workloads
	out.Controllers, out.WorkloadDecisions = slices.Clone(w.controllers), slices.Clone(w.decisions)
	for _, r := range w.results {
		next := *r
		next.Replicas, next.Requests, next.OOMKills = slices.Clone(r.Replicas), slices.Clone(r.Requests), slices.Clone(r.OOMKills)
		for _, b := range balances {
			if s := b.Series; s.Workload.Key() == r.Key() && b.Balance.In+b.Balance.Requested > 0 {
				next.Work = append(next.Work, scalehist.WorkResult{
					Metric: s.Metric, Container: s.Container,
					In: micro(b.Balance.In), Served: micro(b.Balance.Served), Lost: micro(b.Balance.Lost), Waiting: micro(b.Balance.Waiting),
					Throttled: micro(b.Balance.Throttled), Requested: micro(b.Balance.Requested), Slack: micro(b.Balance.Slack), Overrun: micro(b.Balance.Overrun),
					UnknownSeconds: micro(b.Balance.Unknown), Held: heldWork(b.Delays),
				})
			}
		}
		out.Workloads = append(out.Workloads, next)
	}
}

// heldWork is nil where nothing was held.
func heldWork(d load.Delays) *scalehist.HeldWork {
	if d.Work == 0 {
		return nil
	}
	return &scalehist.HeldWork{Work: micro(d.Work), P50Seconds: micro(d.P50), P90Seconds: micro(d.P90), P99Seconds: micro(d.P99), MaxSeconds: micro(d.Max)}
}

// micro leaves out what sums of floating point are not exact in.
func micro(v float64) float64 { return math.Round(v*1e6) / 1e6 }
