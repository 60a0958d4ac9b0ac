package load

import (
	"math"
	"slices"
	"time"
)

// Delays says how long work waited that was held, in seconds: percentiles of the work, not of instants.
type Delays struct {
	// Work is what was held and then served.
	Work               float64
	P50, P90, P99, Max float64
}

// held is what came while nobody was ready, oldest first, each stretch at one rate.
type held struct {
	waiting []stretch
	// served are the waits of what was served: each stretch spreads evenly from its shortest to its longest.
	served []waited
}

type stretch struct {
	from, to time.Time
	rate     float64
}

type waited struct{ shortest, longest, work float64 }

// hold keeps what comes while nobody is ready, and loses what has waited for the longest that it may (Series.Hold).
func (a *Account) hold(rate, seconds float64) {
	to := a.at.Add(time.Duration(seconds * float64(time.Second)))
	a.balance.In += rate * seconds
	a.balance.Waiting += rate * seconds
	h := &a.held
	if n := len(h.waiting); n > 0 && h.waiting[n-1].rate == rate && h.waiting[n-1].to.Equal(a.at) {
		h.waiting[n-1].to = to
	} else if rate > 0 {
		h.waiting = append(h.waiting, stretch{a.at, to, rate})
	}
	oldest := to.Add(-a.series.Hold)
	for len(h.waiting) > 0 && h.waiting[0].from.Before(oldest) {
		s := &h.waiting[0]
		gone := s.to
		if gone.After(oldest) {
			gone = oldest
		}
		a.lose(s.rate * gone.Sub(s.from).Seconds())
		if s.from = gone; !s.from.Before(s.to) {
			h.waiting = h.waiting[1:]
		}
	}
}

func (a *Account) lose(work float64) {
	a.balance.Waiting -= work
	a.balance.Lost += work
}

// release gives what was held to the replicas that have become ready, all at once.
func (a *Account) release(now time.Time) {
	total := 0.0
	for _, s := range a.held.waiting {
		work := s.rate * s.to.Sub(s.from).Seconds()
		a.held.served = append(a.held.served, waited{now.Sub(s.to).Seconds(), now.Sub(s.from).Seconds(), work})
		total += work
	}
	a.held.waiting = nil
	a.balance.Served += total
	a.balance.Waiting = 0
	for i := range a.replicas {
		if r := &a.replicas[i]; r.Ready {
			r.served += total / float64(a.ready)
		}
	}
}

// Delays are how long the work waited that was held and served by now. Work that came while a replica was ready did not wait, and is not among it.
func (a *Account) Delays(now time.Time) Delays {
	a.advance(now)
	var d Delays
	for _, w := range a.held.served {
		d.Work, d.Max = d.Work+w.work, max(d.Max, w.longest)
	}
	d.P50, d.P90, d.P99 = a.held.percentile(0.5, d), a.held.percentile(0.9, d), a.held.percentile(0.99, d)
	return d
}

// percentile is the wait that a share of the work did not exceed. The share grows in a straight line between the ends of stretches.
func (h *held) percentile(share float64, d Delays) float64 {
	if d.Work == 0 {
		return 0
	}
	var ends []float64
	for _, w := range h.served {
		ends = append(ends, w.shortest, w.longest)
	}
	slices.Sort(ends)
	below := func(wait float64) (work float64) {
		for _, w := range h.served {
			switch {
			case wait >= w.longest:
				work += w.work
			case wait > w.shortest:
				work += w.work * (wait - w.shortest) / (w.longest - w.shortest)
			}
		}
		return work
	}
	want, last := share*d.Work, 0.0
	for _, end := range ends {
		if got := below(end); got >= want-1e-9*d.Work {
			before := below(last)
			if got == before {
				return end
			}
			return last + (end-last)*math.Max(0, want-before)/(got-before)
		}
		last = end
	}
	return d.Max
}
