package html

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report/metrics"
)

// sized is one resource of a workload over time: all of its pods together, CPU in cores, memory in GiB.
type sized struct {
	Resource  string `json:"resource"`
	Requested curve  `json:"requested"`
	// Used is absent where nobody knows it; -1 while that is unknown.
	Used *curve `json:"used,omitempty"`
	// Target is what a vertical autoscaler recommends for the replicas that are ready, Lower and Upper within what it leaves pods alone.
	Target *curve `json:"target,omitempty"`
	Lower  *curve `json:"lower,omitempty"`
	Upper  *curve `json:"upper,omitempty"`
}

// mark is something that happened to pods of a workload: "out of memory", "evicted" or "resized", to so many of them at once.
type mark struct {
	At   int64  `json:"at"`
	Kind string `json:"kind"`
	Pods int    `json:"pods"`
}

// requests are the curves of a workload's requests and its marks.
func (b *builder) requests(w *scalehist.WorkloadResult, out *workload) {
	if len(w.Requests) == 0 {
		return
	}
	end := b.r.EndTime.Sub(b.r.StartTime)
	_, ready := metrics.Replicas(w)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		s := sized{Resource: string(name)}
		for _, at := range w.Requests {
			v := at.CPU
			if name == corev1.ResourceMemory {
				v = at.Memory
			}
			s.Requested.step(ms(time.Duration(at.Offset)), shown(v, name))
		}
		s.Used = usedOf(w, name)
		bounds := metrics.Recommended(b.r, w.WorkloadRef, "", name)
		if bounds.Target.Max() > 0 {
			s.Target, s.Lower, s.Upper = amounts(bounds.Target, ready, end, name), amounts(bounds.Lower, ready, end, name), amounts(bounds.Upper, ready, end, name)
		}
		if s.Used == nil && s.Target == nil && slices.Max(s.Requested.V) == 0 {
			continue // neither asked for nor used
		}
		out.Sized = append(out.Sized, s)
	}
	out.Marks = b.marks(w)
}

// usedOf is what a workload used of a resource; nil where nobody knows.
func usedOf(w *scalehist.WorkloadResult, name corev1.ResourceName) *curve {
	sum := metrics.Used(w, name)
	if len(sum) == 0 {
		return nil
	}
	out := &curve{}
	for _, p := range sum {
		v := p.Value
		if v >= 0 {
			v = shown(v, name)
		}
		out.step(ms(time.Duration(p.Offset)), v)
	}
	return out
}

// amounts is what is recommended for all replicas.
func amounts(per, replicas metrics.Curve, end time.Duration, name corev1.ResourceName) *curve {
	out := &curve{}
	for _, p := range metrics.Product(per, replicas, end) {
		out.step(ms(time.Duration(p.Offset)), shown(p.Value, name))
	}
	return out
}

// shown is an amount as the page has it: cores, or GiB, to four digits after the point.
func shown(v float64, name corev1.ResourceName) float64 {
	if name == corev1.ResourceMemory {
		v /= 1 << 30
	}
	return math.Round(1e4*v) / 1e4
}

// step adds a point where the value is another one.
func (c *curve) step(at int64, v float64) {
	if n := len(c.V); n == 0 || c.V[n-1] != v {
		c.add(at, v)
	}
}

// marks are what happened to pods of a workload, those of one kind and instant together, in time order.
func (b *builder) marks(w *scalehist.WorkloadResult) []mark {
	var out []mark
	add := func(at int64, kind string) {
		if i := slices.IndexFunc(out, func(m mark) bool { return m.At == at && m.Kind == kind }); i >= 0 {
			out[i].Pods++
			return
		}
		out = append(out, mark{at, kind, 1})
	}
	for _, k := range w.OOMKills {
		add(ms(time.Duration(k.Offset)), "out of memory")
	}
	kinds := map[scalehist.ResizeAction]string{scalehist.Evicted: "evicted", scalehist.Resized: "resized"}
	for _, d := range b.r.WorkloadDecisions {
		for _, s := range d.Resizes {
			if kind := kinds[s.Action]; kind != "" && s.Error == "" && s.Workload.Key() == w.Key() {
				add(b.at(d.At), kind)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b mark) int { return cmp.Compare(a.At, b.At) })
	return out
}
