package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
)

// Curve is a number over the time of a replay: each point holds until the next, the first one is at the start.
type Curve []Point

// Point is a value from an offset on.
type Point struct {
	Offset scalehist.Duration `json:"offset"`
	Value  float64            `json:"value"`
}

// at is the value at an offset.
func (c Curve) at(offset time.Duration) float64 {
	v := 0.0
	for _, p := range c {
		if time.Duration(p.Offset) > offset {
			break
		}
		v = p.Value
	}
	return v
}

// At is the value at an offset; the curve need not have a point there.
func (c Curve) At(offset time.Duration) float64 { return c.at(offset) }

// Max is the largest value, 0 of an empty curve.
func (c Curve) Max() float64 {
	v := 0.0
	for _, p := range c {
		v = max(v, p.Value)
	}
	return v
}

// integral is the sum of each piece's value times its length in hours, over [0, until).
func (c Curve) integral(until time.Duration, f func(float64) float64) float64 {
	sum := 0.0
	for i, p := range c {
		to := until
		if i+1 < len(c) {
			to = min(until, time.Duration(c[i+1].Offset))
		}
		if from := time.Duration(p.Offset); to > from {
			sum += f(p.Value) * (to - from).Hours()
		}
	}
	return sum
}

func same(v float64) float64 { return v }

// step is a change of a sum at an offset.
type step struct {
	at time.Duration
	by float64
}

// curveOf sums steps up, those of one offset together.
func curveOf(steps []step) Curve {
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	c := Curve{{}}
	for _, s := range steps {
		last := &c[len(c)-1]
		if time.Duration(last.Offset) == s.at || s.at < 0 {
			last.Value += s.by
			continue
		}
		c = append(c, Point{Offset: scalehist.Duration(s.at), Value: last.Value + s.by})
	}
	return c.compact()
}

// compact drops points that change nothing.
func (c Curve) compact() Curve {
	out := c[:0]
	for _, p := range c {
		if len(out) == 0 || out[len(out)-1].Value != p.Value {
			out = append(out, p)
		}
	}
	return out
}

// join calls f for each stretch of [0, until) in which both curves hold still.
func join(a, b Curve, until time.Duration, f func(length time.Duration, a, b float64)) {
	at := slices.DeleteFunc(cuts(a, b), func(d time.Duration) bool { return d >= until })
	at = append(at, until)
	for i := 0; i+1 < len(at); i++ {
		f(at[i+1]-at[i], a.at(at[i]), b.at(at[i]))
	}
}

// cuts are the offsets at which one of two curves has a point.
func cuts(a, b Curve) []time.Duration {
	var out []time.Duration
	for _, c := range []Curve{a, b} {
		for _, p := range c {
			out = append(out, time.Duration(p.Offset))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Product is one curve times another, over [0, until).
func Product(a, b Curve, until time.Duration) Curve {
	var out Curve
	for _, at := range cuts(a, b) {
		if at < until {
			out = append(out, Point{scalehist.Duration(at), a.at(at) * b.at(at)})
		}
	}
	return out.compact()
}

// Nodes is the sum of the target sizes of all node groups over time.
func Nodes(r *scalehist.ReplayReport) Curve {
	var steps []step
	for _, g := range r.NodeGroups {
		size := 0
		for _, s := range g.Sizes {
			steps = append(steps, step{time.Duration(s.Offset), float64(s.Size - size)})
			size = s.Size
		}
	}
	return curveOf(steps)
}

// Unschedulable is the number of pods without a node over time, as of the end of each step of the replay.
func Unschedulable(r *scalehist.ReplayReport) Curve {
	return stepwise(r, len(r.Start.UnscheduledPods), func(b scalehist.Batch) int { return b.Unschedulable })
}

// heldCurve is the number of pods that scheduling gates hold back. Those of the start are among the unscheduled there.
func heldCurve(r *scalehist.ReplayReport) Curve {
	return stepwise(r, 0, func(b scalehist.Batch) int { return b.HeldBack })
}

// stepwise is a number of each step, from its instant on.
func stepwise(r *scalehist.ReplayReport, start int, of func(scalehist.Batch) int) Curve {
	c := Curve{{Value: float64(start)}}
	for _, b := range r.Batches {
		p := Point{Offset: scalehist.Duration(b.At.Sub(r.StartTime)), Value: float64(of(b))}
		if last := &c[len(c)-1]; last.Offset >= p.Offset {
			last.Value = p.Value
			continue
		}
		c = append(c, p)
	}
	return c.compact()
}
