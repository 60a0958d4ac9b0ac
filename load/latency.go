package load

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Latency is how soon work is to be done. How long it takes follows from what a series is:
//
// Queued work takes what it waits, in the order in which it came, while the ready replicas serve at their rate: the horizontal distance between the
// curves of what came and what was served (Newell, Applications of Queueing Theory, 1982). Nothing else is assumed.
//
// Divided work of cpu takes S/(1-u) on a replica that is utilized to u: the mean response time of M/G/1 with processor sharing (Kleinrock, Queueing
// Systems II, 1976), which does not depend on how service times are distributed. It assumes that requests come at random (Poisson), that a replica
// works on all it has at once, at the speed of its CPU limit, or of its request where it has none (what it is sure to get), and that replicas
// share evenly. From u = 1 on all of it is late, as is what no replica is ready for.
type Latency struct {
	// Limit is how long it may take.
	Limit time.Duration
	// Service is S, how long a replica takes that has nothing else to do. Only of Divided.
	Service time.Duration `json:",omitzero"`
}

func (s *Series) checkLatency() error {
	switch l := s.Latency; {
	case l == nil:
		return nil
	case l.Limit <= 0:
		return errors.New("latency: limit: write how long work may take, such as 200ms")
	case s.Sharing == Queued && l.Service != 0:
		return errors.New("latency: service is only for what is divided: what a replica takes off a queue is in serves")
	case s.Sharing == Queued:
		return nil
	case s.Sharing != Divided || s.Metric != CPU:
		return errors.New("latency is for cpu that is divided, and for what is queued: of others nobody knows what a replica can do")
	case l.Service <= 0:
		return errors.New("latency: service: write how long a replica takes for one request when it has no other, such as 20ms")
	case l.Service >= l.Limit:
		return fmt.Errorf("latency: service %s is not below the limit %s: all would be late", l.Service, l.Limit)
	}
	return nil
}

// late says whether a replica that uses so much takes too long.
func (l *Latency) late(r *Replica, used float64) bool {
	capacity := r.Limit
	if capacity == 0 {
		capacity = r.Request
	}
	if capacity == 0 {
		return false
	}
	free := 1 - used/capacity
	return free <= 0 || l.Service.Seconds()/free > beyond(l.Limit.Seconds())
}

// beyond is where a limit in seconds is over: what takes just as long as it may must not be late because of how floating point rounds.
func beyond(limit float64) float64 { return limit + 1e-9*max(1, limit) }

// queue is what waits, in the order in which it came. Times are seconds since some start.
type queue struct{ waits []batch }

// batch came evenly over a time.
type batch struct{ from, to, amount float64 }

// work lets a stretch pass in which work comes at a rate and is served at another, and returns what of the served waited longer than a limit.
func (q *queue) work(from, seconds, comes, serves, limit float64) (late float64) {
	busy := seconds // until nothing waits any more; what comes then is served at once
	if serves > comes {
		busy = min(seconds, q.amount()/(serves-comes))
	}
	if busy <= 0 {
		return 0
	}
	q.push(batch{from, from + busy, comes * busy})
	late = q.serve(from, from+busy, serves*busy, limit)
	if busy < seconds {
		q.waits = nil // up to what floating point leaves
	}
	return late
}

func (q *queue) amount() float64 {
	sum := 0.0
	for _, b := range q.waits {
		sum += b.amount
	}
	return sum
}

// push adds a batch, to the last one where that goes on.
func (q *queue) push(b batch) {
	if b.amount <= 0 {
		return
	}
	if n := len(q.waits); n > 0 {
		if last := &q.waits[n-1]; last.to == b.from && math.Abs(last.rate()-b.rate()) <= 1e-9*b.rate() {
			last.to, last.amount = b.to, last.amount+b.amount
			return
		}
	}
	q.waits = append(q.waits, b)
}

func (b batch) rate() float64 { return b.amount / (b.to - b.from) }

// serve takes an amount off the front, evenly over a time, and returns what of it waited longer than the limit.
func (q *queue) serve(from, to, amount, limit float64) (late float64) {
	if amount <= 0 {
		return 0
	}
	per := (to - from) / amount
	for len(q.waits) > 0 && amount > 0 {
		b := &q.waits[0]
		taken, came, done := min(amount, b.amount), b.to, from+per*min(amount, b.amount)
		if taken < b.amount {
			came = b.from + (b.to-b.from)*taken/b.amount
		}
		late += taken * above(from-b.from, done-came, limit)
		amount, from = amount-taken, done
		if b.from, b.amount = came, b.amount-taken; b.amount <= 0 {
			q.waits = q.waits[1:]
		}
	}
	return late
}

// above is the part of a straight line from a to b that is above a limit.
func above(a, b, limit float64) float64 {
	low, high := min(a, b), max(a, b)
	limit = beyond(limit)
	switch {
	case low > limit:
		return 1
	case high <= limit:
		return 0
	}
	return (high - limit) / (high - low)
}

// overdue is what has waited longer than a limit at an instant.
func (q *queue) overdue(now, limit float64) float64 {
	sum := 0.0
	for _, b := range q.waits {
		sum += b.amount * above(now-b.from, now-b.to, limit)
	}
	return sum
}
