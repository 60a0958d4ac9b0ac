package html

import (
	"cmp"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/report/metrics"
)

// draw computes what the charts show over time.
func (b *builder) draw() {
	b.run.Curves.Pending = fromMetric(metrics.Unschedulable(b.r))
	b.run.Curves.Nodes = fromMetric(metrics.Nodes(b.r))
	var cpu, memory []int64
	if z := b.run.Resizes; z != nil {
		cpu, memory = z.CPU, z.Memory
	}
	b.run.Curves.CPU = b.used(b.run.Nodes.CPU, b.run.Pods.CPU, cpu)
	b.run.Curves.Memory = b.used(b.run.Nodes.Memory, b.run.Pods.Memory, memory)
	b.cost()
}

func fromMetric(c metrics.Curve) curve {
	var out curve
	for _, p := range c {
		out.add(ms(time.Duration(p.Offset)), p.Value)
	}
	return out
}

// delta is a change of three sums at an offset.
type delta struct {
	at int64
	by [3]float64
}

// sums adds the changes up in the order of time and calls f with the sums after each instant.
func sums(list []delta, f func(at int64, sum [3]float64)) {
	slices.SortStableFunc(list, func(a, b delta) int { return cmp.Compare(a.at, b.at) })
	var sum [3]float64
	for i, d := range list {
		for k := range sum {
			sum[k] += d.by[k]
		}
		if i+1 == len(list) || list[i+1].at != d.at {
			f(d.at, sum)
		}
	}
}

// unknownValue marks a stretch of a curve of which the report says nothing; all true values are 0 or more.
const unknownValue = -1

// asking calls f for each part of a stay in which its pod asks for the same; later has the amounts of run.Resizes, changes those of the pod.
func (b *builder) asking(from, to, first int64, changes []int, later []int64, f func(from, to, asks int64)) {
	now, since := first, from
	for _, i := range changes {
		at := b.run.Resizes.At[i]
		switch {
		case at <= from:
			now = later[i]
		case to < 0 || at < to:
			f(since, at, now)
			now, since = later[i], at
		}
	}
	f(since, to, now)
}

// used is what pods on nodes ask for, at first and later, of what the nodes offer, in percent with two digits; nil when no node's size is known. While
// a pod or a node is there whose size is unknown, so is the value.
func (b *builder) used(offers, asks, later []int64) *curve {
	var list []delta
	known := false
	for row, v := range offers {
		from, to := b.run.Nodes.From[row], b.run.Nodes.To[row]
		switch {
		case from == to: // only a name
		case v > 0:
			known = true
			list = b.over(list, from, to, [3]float64{float64(v), 0, 0})
		default:
			list = b.over(list, from, to, [3]float64{0, 0, 1})
		}
	}
	if !known {
		return nil
	}
	changes := map[int][]int{}
	if z := b.run.Resizes; z != nil {
		for i, pod := range z.Pod {
			changes[pod] = append(changes[pod], i)
		}
	}
	s := &b.run.Stays
	for i, pod := range s.Pod {
		if s.Node[i] == waiting {
			continue
		}
		b.asking(s.From[i], s.To[i], asks[pod], changes[pod], later, func(from, to, asks int64) {
			switch {
			case asks < 0:
				list = b.over(list, from, to, [3]float64{0, 0, 1})
			case asks > 0:
				list = b.over(list, from, to, [3]float64{0, float64(asks), 0})
			}
		})
	}
	c := &curve{}
	c.add(0, 0)
	sums(list, func(at int64, sum [3]float64) {
		v := 0.0
		switch {
		case sum[2] > 0:
			v = unknownValue
		case sum[0] > 0:
			v = math.Round(1e4*sum[1]/sum[0]) / 100
		}
		if n := len(c.V); c.T[n-1] == at || c.V[n-1] != v {
			c.add(at, v)
		}
	})
	if slices.Max(c.V) <= 0 {
		return nil
	}
	return c
}

// over adds an amount from an offset to another.
func (b *builder) over(list []delta, from, to int64, by [3]float64) []delta {
	list = append(list, delta{from, by})
	if to >= 0 {
		list = append(list, delta{to, [3]float64{-by[0], -by[1], -by[2]}})
	}
	return list
}

// cost is the price of an hour over time: what an hour of a group's nodes cost on average, for the nodes that are there.
func (b *builder) cost() {
	if b.r.Cost == nil {
		return
	}
	var list []delta
	for row, g := range b.run.Nodes.Group {
		name := "(not autoscaled)"
		if g >= 0 {
			name = b.run.Groups[g].Name
		}
		if hours := b.r.Cost.NodeHours[name]; hours > 0 && b.run.Nodes.From[row] != b.run.Nodes.To[row] {
			list = b.over(list, b.run.Nodes.From[row], b.run.Nodes.To[row], [3]float64{b.r.Cost.NodeGroups[name] / hours, 0, 0})
		}
	}
	c := &curve{}
	c.add(0, 0)
	sums(list, func(at int64, sum [3]float64) { c.add(at, math.Round(1e6*sum[0])/1e6+0) })
	b.run.Curves.Cost = c
}

// milli is an amount in thousandths, mebi one in MiB; -1 when the list does not have it.
func milli(list map[string]string, name string) int64 {
	q, err := resource.ParseQuantity(list[name])
	if err != nil {
		return -1
	}
	return q.MilliValue()
}

func mebi(list map[string]string) int64 {
	q, err := resource.ParseQuantity(list["memory"])
	if err != nil {
		return -1
	}
	return q.Value() >> 20
}
