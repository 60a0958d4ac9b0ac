package trace

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// Wait is how long one demand of the workload had no node, all its pods together, and whether it still has none.
type Wait struct {
	For   time.Duration
	Still bool
}

// SumWaits sums up waits, nearest-rank percentiles over all of them.
func SumWaits(waits []Wait) scalehist.PendingStats {
	p99 := 0.0
	s := scalehist.PendingStats{Of: len(waits), P99: &p99}
	if len(waits) == 0 {
		return s
	}
	var sum time.Duration
	seconds := make([]float64, 0, len(waits))
	for _, w := range waits {
		sum += w.For
		seconds = append(seconds, w.For.Seconds())
		if w.For > 0 || w.Still {
			s.Pods++
		}
		if w.Still {
			s.StillWaiting++
		}
	}
	s.PodSeconds = sum.Seconds()
	slices.Sort(seconds)
	rank := func(q float64) float64 { return seconds[max(0, int(math.Ceil(q*float64(len(seconds))))-1)] }
	s.P50, s.P95, p99, s.Max = rank(0.50), rank(0.95), rank(0.99), seconds[len(seconds)-1]
	return s
}

// recordedDemand is one demand as the recording shows it: the stretches in which it had no node, from when a pod of it was
// first seen to when it was first seen on a node, or gone.
type recordedDemand []stretch

// waitsOf are the recorded waits of all demands that a replay counts: pods that came in the window or had no node at its
// start, and those that were evicted and made again. DaemonSet and static pods are left out, they follow their node.
func (r *recorded) waitsOf(d *demands) []recordedDemand {
	lives, order := r.lives()
	place := map[types.UID]int{}
	out := []recordedDemand{}
	for _, uid := range order {
		l := lives[uid]
		if podlife.FollowsNode(l.pod) || l.initial && (!l.bound.IsZero() && !l.bound.After(r.start) || !l.finished.IsZero() && !l.finished.After(r.start)) {
			continue // had its node, or had ended, at the start
		}
		s := stretch{from: later(l.createdAt, r.start), to: l.bound}
		if end := l.ended(); !end.IsZero() && (s.to.IsZero() || end.Before(s.to)) {
			s.to = end
		}
		demand := d.first(l.pod).UID
		i, known := place[demand]
		if !known {
			i = len(out)
			place[demand] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out
}

// recordedUntil sums up recorded waits as of an instant, and counts the demands without a node then.
func recordedUntil(demands []recordedDemand, until time.Time) (s scalehist.PendingStats, left int) {
	var waits []Wait
	for _, stretches := range demands {
		var w Wait
		seen := false
		for _, s := range stretches {
			if s.from.After(until) {
				continue
			}
			seen = true
			to := s.to
			if s.holds(until) {
				w.Still, to = true, until
			}
			w.For += max(0, to.Sub(s.from))
		}
		if !seen {
			continue
		}
		waits = append(waits, w)
		if w.Still {
			left++
		}
	}
	return SumWaits(waits), left
}
