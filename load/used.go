package load

import (
	"math"
	"strconv"
	"time"
)

// UsedEvery is over how long usage is averaged for people: longer than a spike, shorter than what a recommendation follows.
const UsedEvery = 5 * time.Minute

// used is what the replicas of a workload used together, as means of UsedEvery; NaN where it is not known.
type used struct {
	points []Point
	since  time.Time
	// sum and known are those of the stretch since then: unit seconds, and seconds.
	sum, known float64
}

// add notes a stretch.
func (u *used) add(amount, seconds float64) {
	u.sum += amount
	u.known += seconds
}

// until ends the stretch if it is long enough.
func (u *used) until(at time.Time) {
	if u.since.IsZero() {
		u.since = at
	}
	if at.Sub(u.since) >= UsedEvery {
		u.points = u.ended()
		u.since, u.sum, u.known = at, 0, 0
	}
}

// ended are the points with that of the last stretch, which replaces none: a value that goes on has one point.
func (u *used) ended() []Point {
	value := math.NaN()
	if u.known > 0 {
		value = significant(u.sum / u.known)
	}
	if n := len(u.points); n > 0 {
		if last := u.points[n-1].Value; last == value || math.IsNaN(last) && math.IsNaN(value) {
			return u.points
		}
	}
	return append(u.points, Point{u.since, value})
}

// significant keeps four digits: more would only make reports longer.
func significant(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v // it was just written
	}
	return out
}

// Used is what the replicas used together by now, of cpu and memory: means of UsedEvery, NaN where it is not known.
func (a *Account) Used(now time.Time) []Point {
	a.advance(now)
	if !a.series.usage() || a.used.since.IsZero() {
		return nil
	}
	if !a.at.After(a.used.since) {
		return a.used.points
	}
	return a.used.ended()
}

// usage says whether it is usage of a resource that pods ask for.
func (s *Series) usage() bool { return s.Metric == CPU || s.Metric == Memory }
