package load

import (
	"math"
	"slices"
	"time"
)

// perReplica says whether each replica has a value of its own, however many there are.
func (s *Series) perReplica() bool { return s.Sharing == Each || s.Sharing == Aged }

// of is the value of a replica that runs; false where it is not known, or the replica does not run.
func (s *Series) of(r *Replica, at time.Time) (float64, bool) {
	if s.Sharing == Aged {
		if r.Started.IsZero() {
			return 0, false
		}
		at = s.Origin.Add(at.Sub(r.Started))
	}
	return s.At(at)
}

// exceeds is the first instant from now on at which a replica uses more memory than its limit; zero: it never does.
func (a *Account) exceeds(r Replica, now time.Time) time.Time {
	s := a.series
	if s.Metric != Memory || !s.perReplica() || r.Limit == 0 || r.Started.IsZero() {
		return time.Time{}
	}
	shift := time.Duration(0) // from the clock of the points
	if s.Sharing == Aged {
		shift = r.Started.Sub(s.Origin)
	}
	if now.Before(r.Started) {
		now = r.Started
	}
	at := now.Add(-shift)
	if v, known := s.At(at); known && v > r.Limit {
		return now
	}
	rest := s.Points[s.after(at):]
	i := slices.IndexFunc(rest, func(p Point) bool { return !math.IsNaN(p.Value) && p.Value > r.Limit })
	if i < 0 {
		return time.Time{}
	}
	return rest[i].At.Add(shift)
}

// nextOver is the first instant at which a replica uses more memory than its limit, and which; false if none ever does.
func (a *Account) nextOver() (at time.Time, which *Replica, ok bool) {
	for i := range a.replicas {
		if r := &a.replicas[i]; !r.over.IsZero() && (!ok || r.over.Before(at)) {
			at, which, ok = r.over, &r.Replica, true
		}
	}
	return at, which, ok
}
