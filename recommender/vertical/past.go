package vertical

import (
	"math"
	"time"
)

// PastStep is the time of a step of what learned recommenders remember.
const PastStep = 5 * time.Minute

// Steps of the windows that they look at.
const (
	pastHour = int(time.Hour / PastStep)
	pastDay  = 24 * pastHour
	// keptSteps is how much they remember: two days, and what comes after.
	keptSteps = 2*pastDay + 1
)

// past is the usage of one resource: the highest of each step over all pods, the last step not over yet; Unset where none is known.
type past struct {
	// Last is the number of the last step since the epoch.
	Last   int64   `json:"last"`
	Values []int64 `json:"values"`
}

// pasts are both resources of a container.
type pasts struct{ CPU, Memory past }

// add takes a value at an instant; Unset says only that it is that late.
func (p *past) add(at time.Time, value int64) {
	step := at.UnixNano() / int64(PastStep)
	switch {
	case len(p.Values) == 0:
		p.Last = step
		p.Values = append(p.Values, value)
		return
	case step-p.Last >= int64(keptSteps):
		p.Values = p.Values[:0]
		p.Last = step
		p.Values = append(p.Values, value)
		return
	}
	for ; p.Last < step; p.Last++ {
		p.Values = append(p.Values, Unset)
	}
	if over := len(p.Values) - keptSteps; over > 2*pastDay { // cut seldom
		p.Values = append(p.Values[:0], p.Values[over:]...)
	}
	last := &p.Values[len(p.Values)-1]
	*last = max(*last, value)
}

// window is the highest and the mean of known values from a step to before another, counted back from the end: 0 is after the last.
// highest is Unset where none is known.
func (p *past) window(from, to int) (highest int64, mean float64) {
	highest = Unset
	sum, n := 0.0, 0
	for _, v := range p.Values[max(0, len(p.Values)-from):max(0, len(p.Values)-to)] {
		if v >= 0 {
			highest = max(highest, v)
			sum += float64(v)
			n++
		}
	}
	if n == 0 {
		return Unset, Unset
	}
	return highest, sum / float64(n)
}

// Features is how many numbers the boosted recommender looks at.
const Features = 18

// row is what the boosted recommender looks at, as shares of scale, the highest value of a day. A share of what is not known is -1. ok is
// false where nothing was used.
func (p *past) row(horizon int) (row [Features]float64, scale float64, ok bool) {
	most, mean := p.window(pastDay, 0)
	if most <= 0 {
		return row, 0, false
	}
	scale = float64(most)
	share := func(v float64) float64 {
		if v < 0 {
			return -1
		}
		return v / scale
	}
	highest := func(from, to int) float64 {
		v, _ := p.window(from, to)
		return share(float64(v))
	}
	ago := func(steps int) float64 { return highest(steps-1, max(0, steps-1-horizon)) } // the same time then, and the horizon after it
	_, hour := p.window(pastHour, 0)
	_, before := p.window(2*pastHour, pastHour)
	_, six := p.window(6*pastHour, 0)
	least, since, passed := scale, 0, false
	for i := len(p.Values) - 1; i >= max(0, len(p.Values)-pastDay); i-- {
		v := float64(p.Values[i])
		if v >= 0 {
			least = min(least, v)
		}
		if passed = passed || v >= 0.9*scale; !passed {
			since++
		}
	}
	trend := 0.0
	if before >= 0 && hour >= 0 {
		trend = (hour - before) / scale
	}
	day := 2 * math.Pi * float64(p.Last%int64(pastDay)) / float64(pastDay)
	return [Features]float64{
		highest(1, 0), highest(3, 0), highest(pastHour, 0), highest(6*pastHour, 0), share(hour), share(six), share(mean), share(least),
		ago(6 * pastHour), ago(8 * pastHour), ago(12 * pastHour), ago(pastDay), ago(2 * pastDay), trend,
		math.Sin(day), math.Cos(day), float64(min(len(p.Values), 2*pastDay)) / float64(pastDay), float64(since) / float64(pastDay),
	}, scale, true
}

// mostShare bounds what is learned of growth: so many times the highest value of a day.
const mostShare = 10

// BoostedRows are the rows and targets that usage at equal steps of PastStep gives, from an instant on: the target is the highest of the
// horizon after a step, as a share of the highest of the day before it. Steps of which too little is known are left out.
func BoostedRows(from time.Time, usage []int64, horizon time.Duration) (rows [][]float64, targets []float64) {
	var p past
	n := int(horizon / PastStep)
	for i, v := range usage {
		p.add(from.Add(time.Duration(i)*PastStep), v)
		if i < pastHour || i+n >= len(usage) {
			continue
		}
		row, scale, ok := p.row(n)
		if !ok {
			continue
		}
		next := int64(0)
		for _, v := range usage[i+1 : i+1+n] {
			next = max(next, v)
		}
		rows, targets = append(rows, row[:]), append(targets, min(float64(next)/scale, mostShare))
	}
	return rows, targets
}
