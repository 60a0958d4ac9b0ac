package trial

import (
	"time"

	"github.com/scalehist/scalehist/recommender/vertical"
)

// Curve is what a container wanted, requested and was recommended over time, in points of equal length. A point of which nothing is known
// has Seconds 0.
type Curve struct {
	From   time.Time
	Step   time.Duration
	Points []Point
}

// Point is one point: means over all pods, CPU in cores and memory in bytes.
type Point struct {
	Seconds float64
	// Wanted is the mean, Most the highest of a pod, Requested the mean.
	Wanted, Most, Requested [2]float64
	// Recommended is what was recommended at the end of it.
	Recommended vertical.Recommendation
}

func newCurve(from, to time.Time, points int) *Curve {
	step := max(time.Minute, to.Sub(from)/time.Duration(points))
	n := int((to.Sub(from) + step - 1) / step)
	return &Curve{From: from, Step: step, Points: make([]Point, n)}
}

// add books a sample at the point where it begins.
func (c *Curve) add(at time.Time, seconds float64, wanted, requested [2]float64, r vertical.Recommendation) {
	i := int(at.Sub(c.From) / c.Step)
	if i < 0 || i >= len(c.Points) {
		return
	}
	p := &c.Points[i]
	p.Seconds += seconds
	for k := range 2 {
		p.Wanted[k] += (wanted[k] - p.Wanted[k]) * seconds / p.Seconds
		p.Requested[k] += (requested[k] - p.Requested[k]) * seconds / p.Seconds
		p.Most[k] = max(p.Most[k], wanted[k])
	}
	p.Recommended = r
}
