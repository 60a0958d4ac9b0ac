package ledger

import (
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	// asks are what the pods of a workload asked for when it was looked at last.
	asks map[scalehist.WorkloadRef]map[*corev1.Pod]podAsks
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

// Workload notes how a workload is at t. loaded says whether what its pods ask for can be compared with what they use.
func (l *Ledger) Workload(t time.Time, o scalehist.Workload, loaded bool) {
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
	r.Replicas = changed(r.Replicas, at, func(o *scalehist.ReplicasAt) *scalehist.Duration { return &o.Offset })
	if o.SizedBy != "" {
		r.SizedBy = o.SizedBy
	}
	if r.SizedBy != "" || loaded {
		w.requests(r, at.Offset, o.Pods)
	}
}

// podAsks is what a pod asks for, and each of its containers: CPU in milli, memory in bytes.
type podAsks struct {
	cpu, memory int64
	containers  []containerAsks
}

type containerAsks struct {
	name        string
	cpu, memory int64
}

func podAsksOf(p *corev1.Pod) podAsks {
	all := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	out := podAsks{cpu: all.Cpu().MilliValue(), memory: all.Memory().Value()}
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		out.containers = append(out.containers, containerAsks{c.Name, c.Resources.Requests.Cpu().MilliValue(), c.Resources.Requests.Memory().Value()})
	}
	return out
}

// requests notes what the pods of a workload ask for. Pods never change: of those that were there the last time it is known.
func (w *workloads) requests(r *scalehist.WorkloadResult, offset scalehist.Duration, pods []*corev1.Pod) {
	known, next := w.asks[r.WorkloadRef], make(map[*corev1.Pod]podAsks, len(pods))
	var all podAsks
	for _, p := range pods {
		asks, ok := known[p]
		if !ok {
			asks = podAsksOf(p)
		}
		next[p] = asks
		all.cpu, all.memory = all.cpu+asks.cpu, all.memory+asks.memory
		for _, c := range asks.containers {
			i := slices.IndexFunc(all.containers, func(m containerAsks) bool { return m.name == c.name })
			if i < 0 {
				all.containers = append(all.containers, c)
				continue
			}
			most := &all.containers[i]
			most.cpu, most.memory = max(most.cpu, c.cpu), max(most.memory, c.memory)
		}
	}
	if w.asks == nil {
		w.asks = map[scalehist.WorkloadRef]map[*corev1.Pod]podAsks{}
	}
	w.asks[r.WorkloadRef] = next
	at := func(cpu, memory int64) scalehist.RequestsAt {
		return scalehist.RequestsAt{Offset: offset, CPU: float64(cpu) / 1000, Memory: float64(memory)}
	}
	r.Requests = asked(r.Requests, at(all.cpu, all.memory))
	for _, c := range all.containers {
		i := slices.IndexFunc(r.Containers, func(known scalehist.ContainerRequests) bool { return known.Name == c.name })
		if i < 0 {
			i = len(r.Containers)
			r.Containers = append(r.Containers, scalehist.ContainerRequests{Name: c.name})
		}
		r.Containers[i].Requests = asked(r.Containers[i].Requests, at(c.cpu, c.memory))
	}
}

func asked(list []scalehist.RequestsAt, at scalehist.RequestsAt) []scalehist.RequestsAt {
	return changed(list, at, func(o *scalehist.RequestsAt) *scalehist.Duration { return &o.Offset })
}

// changed adds what is so from an offset on, if something else was; of one offset the last counts.
func changed[T comparable](list []T, at T, offset func(*T) *scalehist.Duration) []T {
	if n := len(list); n > 0 {
		last := list[n-1]
		if *offset(&last) == *offset(&at) {
			list[n-1] = at
			return list
		}
		if *offset(&last) = *offset(&at); last == at {
			return list
		}
	}
	return append(list, at)
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
		next.Containers = nil
		for _, c := range r.Containers {
			next.Containers = append(next.Containers, scalehist.ContainerRequests{Name: c.Name, Requests: slices.Clone(c.Requests)})
		}
		for _, b := range balances {
			if s := b.Series; s.Workload.Key() == r.Key() && b.Balance.In+b.Balance.Requested > 0 {
				next.Work = append(next.Work, scalehist.WorkResult{
					Metric: s.Metric, Container: s.Container,
					In: micro(b.Balance.In), Served: micro(b.Balance.Served), Lost: micro(b.Balance.Lost), Waiting: micro(b.Balance.Waiting),
					Throttled: micro(b.Balance.Throttled), Requested: micro(b.Balance.Requested), Slack: micro(b.Balance.Slack), Overrun: micro(b.Balance.Overrun),
					UnknownSeconds: micro(b.Balance.Unknown), LimitSeconds: limit(s), Late: micro(b.Balance.Late),
					UnreadySeconds: micro(b.Balance.Unready), LongestUnreadySeconds: micro(b.Balance.LongestUnready), Used: usedOf(b.Used, l.in.Start), Held: heldWork(s.Sharing, b.Delays),
				})
			}
		}
		out.Workloads = append(out.Workloads, next)
	}
}

func limit(s *load.Series) float64 {
	if s.Latency == nil {
		return 0
	}
	return s.Latency.Limit.Seconds()
}

// usedOf is a curve of usage as a report has it.
func usedOf(points []load.Point, start time.Time) []scalehist.UsedAt {
	var out []scalehist.UsedAt
	for _, p := range points {
		at := scalehist.UsedAt{Offset: scalehist.Duration(p.At.Sub(start))}
		if !math.IsNaN(p.Value) {
			at.Value = &p.Value
		}
		out = append(out, at)
	}
	return out
}

// heldWork is nil where nothing would be held.
func heldWork(sharing load.Sharing, d load.Delays) *scalehist.HeldWork {
	if sharing != load.Held {
		return nil
	}
	return &scalehist.HeldWork{Work: micro(d.Work), P50Seconds: micro(d.P50), P90Seconds: micro(d.P90), P99Seconds: micro(d.P99), MaxSeconds: micro(d.Max)}
}

// micro leaves out what sums of floating point are not exact in.
func micro(v float64) float64 { return math.Round(v*1e6) / 1e6 }
