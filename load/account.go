package load

import (
	"fmt"
	"math"
	"time"
)

// Balance says what became of the work of a Series, in its unit times seconds (core-seconds), or in items of a queue.
type Balance struct {
	// In came, Served was done, Lost was not and never will be, Waiting is in a queue.
	In, Served, Lost, Waiting float64
	// Unknown is how long the demand was not known, in seconds: nothing came then.
	Unknown float64
	// Throttled is the part of Lost that limits of replicas kept from being done.
	Throttled float64
	// Requested is what replicas asked for, in unit seconds, while they ran; Slack what they did not use of it, Overrun what they
	// used beyond it.
	Requested, Slack, Overrun float64
	// Late is the part of In that took longer than Series.Latency allows, what was lost included.
	Late float64
	// Unready is how long there was work and no replica ready to do it, in seconds; LongestUnready the longest such time.
	Unready, LongestUnready float64
}

// Check says whether all that came in is accounted for, up to what floating point loses.
func (b Balance) Check() error {
	if out := b.Served + b.Lost + b.Waiting; math.Abs(b.In-out) > 1e-6*max(1, b.In, out) {
		return fmt.Errorf("%g came in, but %g was served, %g was lost and %g waits", b.In, b.Served, b.Lost, b.Waiting)
	}
	return nil
}

// Replica is a pod that takes part in the work.
type Replica struct {
	// Pod names it: any text that is its own.
	Pod string
	// Ready replicas get a share.
	Ready bool
	// Limit is the most it can take of a Divided metric, in the metric's unit, or the memory beyond which it is killed; 0: there is none.
	Limit float64
	// Request is what it asks for, in the metric's unit; 0: nothing.
	Request float64
	// Started is since when its container runs; zero: it does not.
	Started time.Time
}

// Account keeps what became of one Series while replicas come and go. Its clock starts at the first call of Replicas and never goes back.
type Account struct {
	series   *Series
	window   time.Duration
	at       time.Time
	started  time.Time
	replicas []replica
	index    map[string]int // of replicas, by pod
	ready    int
	balance  Balance
	used     used
	queue    queue   // while there is a limit for how long it takes
	unready  float64 // how long there has been work and no replica ready, in seconds
	held     held
}

// replica is a Replica with what it has done.
type replica struct {
	Replica
	since  time.Time // it takes part
	served float64   // in all, in unit seconds
	// scraped is served at the last scrape, rate its mean over the window before that; measured says whether it was there for all of it.
	scraped, rate float64
	measured      bool
	// over is when it uses more than its limit; zero: never. It holds for the limit and the start that the replica has.
	over time.Time
}

// NewAccount opens the account of a series. The usage of replicas is measured every window, as by a metrics server (--metric-resolution): at
// whole windows after the start of the account.
func NewAccount(s *Series, window time.Duration) *Account {
	return &Account{series: s, window: window}
}

// Replicas says who does the work from now on.
func (a *Account) Replicas(now time.Time, list []Replica) {
	a.advance(now)
	was, before, idle := a.replicas, a.index, a.ready == 0
	a.replicas, a.index, a.ready = make([]replica, 0, len(list)), make(map[string]int, len(list)), 0
	for _, r := range list {
		var next replica
		i, known := before[r.Pod]
		if known {
			next = was[i]
		}
		if !known {
			next.since = now
		}
		if !known || next.Limit != r.Limit || !next.Started.Equal(r.Started) {
			if !r.Started.IsZero() && !next.Started.Equal(r.Started) {
				next.since = now
			}
			next.over = a.exceeds(r, now)
		}
		next.Replica = r
		if r.Ready {
			a.ready++
		}
		a.index[r.Pod] = len(a.replicas)
		a.replicas = append(a.replicas, next)
	}
	if a.series.Sharing == Held && idle && a.ready > 0 {
		a.release(now)
	}
}

// Balance is what became of the work by now.
func (a *Account) Balance(now time.Time) Balance {
	a.advance(now)
	out := a.balance
	if l := a.series.Latency; l != nil {
		out.Late += a.queue.overdue(a.at.Sub(a.started).Seconds(), l.Limit.Seconds())
	}
	return out
}

// Usage is what a replica used over the last window that ended by now, and when that was; false while none has. Of Each and External
// it is the value at that instant.
func (a *Account) Usage(now time.Time, pod string) (value float64, at time.Time, ok bool) {
	a.advance(now)
	i, known := a.index[pod]
	if !known {
		return 0, time.Time{}, false
	}
	at = a.scrape(now)
	switch r := a.replicas[i]; {
	case a.series.perReplica():
		value, ok = a.series.of(&r.Replica, at)
		return value, at, ok && !at.Before(r.since)
	case !r.measured:
		return 0, at, false
	default:
		_, known := a.series.At(at)
		return r.rate, at, known
	}
}

// Value is the metric of the workload as a whole at now: what waits of a queue, the demand of others; false where it is not known.
func (a *Account) Value(now time.Time) (float64, bool) {
	a.advance(now)
	if a.series.Sharing == Queued {
		return a.balance.Waiting, !a.at.IsZero()
	}
	return a.series.At(now)
}

// scrape is the last instant by now at which was measured.
func (a *Account) scrape(now time.Time) time.Time {
	return a.started.Add(now.Sub(a.started).Truncate(a.window))
}

// advance lets the replicas work until now.
func (a *Account) advance(now time.Time) {
	if a.at.IsZero() {
		a.at, a.started = now, now
		a.used.until(now)
		return
	}
	for a.at.Before(now) {
		to := earlier(a.scrape(a.at).Add(a.window), a.series.Points, a.series.after(a.at))
		if to.After(now) {
			to = now
		}
		a.work(to.Sub(a.at).Seconds())
		a.at = to
		a.used.until(to)
		if a.scrape(to).Equal(to) {
			a.measure()
		}
	}
}

func earlier(t time.Time, points []Point, i int) time.Time {
	if i < len(points) && points[i].At.Before(t) {
		return points[i].At
	}
	return t
}

// work lets a stretch pass in which nothing changes.
func (a *Account) work(seconds float64) {
	demand, known := a.series.At(a.at)
	if !known {
		a.balance.Unknown += seconds
	}
	switch {
	case a.series.Sharing == Held && a.ready == 0:
		a.lacks(demand > 0, seconds)
		a.hold(demand, seconds)
		return
	case a.series.Sharing == Held:
	case a.series.Sharing != Divided && a.series.Sharing != Queued:
		if a.series.perReplica() {
			a.perReplica(seconds)
		}
		return
	}
	came := demand * seconds
	latency := a.series.Latency
	if latency != nil && a.series.Sharing == Queued {
		a.balance.Late += a.queue.work(a.at.Sub(a.started).Seconds(), seconds, demand, float64(a.ready)*a.series.Serves, latency.Limit.Seconds())
	}
	a.balance.In += came
	todo := came
	if a.series.Sharing == Queued {
		todo += a.balance.Waiting
	}
	excess := todo
	if a.lacks(a.ready == 0 && todo > 0, seconds); a.ready > 0 {
		excess = 0
	} else if latency != nil && a.series.Sharing == Divided {
		a.balance.Late += came
	}
	for i := range a.replicas {
		r := &a.replicas[i]
		share := 0.0
		if r.Ready {
			share = todo / float64(a.ready)
			if latency != nil && a.series.Sharing == Divided && latency.late(&r.Replica, share/seconds) {
				a.balance.Late += share
			}
			if most := a.most(r) * seconds; share > most {
				excess += share - most
				if a.series.Sharing == Divided {
					a.balance.Throttled += share - most
				}
				share = most
			}
			r.served += share
		}
		if known && a.series.Sharing == Divided {
			a.balance.compare(&r.Replica, share, seconds)
		}
	}
	a.balance.Served += todo - excess
	if known {
		a.used.add(todo-excess, seconds)
	}
	if a.series.Sharing == Queued {
		a.balance.Waiting = excess
	} else {
		a.balance.Lost += excess
	}
}

// lacks notes whether there was work for a stretch, and no replica ready to do it.
func (a *Account) lacks(some bool, seconds float64) {
	if !some {
		a.unready = 0
		return
	}
	a.unready += seconds
	a.balance.Unready += seconds
	a.balance.LongestUnready = max(a.balance.LongestUnready, a.unready)
}

// perReplica lets replicas that each have a value of their own use it for a stretch.
func (a *Account) perReplica(seconds float64) {
	sum, all := 0.0, true
	for i := range a.replicas {
		r := &a.replicas[i].Replica
		if r.Started.IsZero() {
			continue
		}
		used, known := a.series.of(r, a.at)
		if !known {
			all = false
			continue
		}
		a.balance.compare(r, used*seconds, seconds)
		sum += used * seconds
	}
	if all {
		a.used.add(sum, seconds)
	}
}

// most is what a replica can do in a second.
func (a *Account) most(r *replica) float64 {
	if a.series.Sharing == Queued {
		return a.series.Serves
	}
	if r.Limit > 0 {
		return r.Limit
	}
	return math.Inf(1)
}

// measure ends a window.
func (a *Account) measure() {
	for i := range a.replicas {
		r := &a.replicas[i]
		r.rate = (r.served - r.scraped) / a.window.Seconds()
		r.scraped = r.served
		r.measured = !r.since.After(a.at.Add(-a.window))
	}
}

// compare adds what a replica that runs used of what it asks for, over a stretch.
func (b *Balance) compare(r *Replica, used, seconds float64) {
	if r.Started.IsZero() || r.Request == 0 {
		return
	}
	asked := r.Request * seconds
	b.Requested += asked
	b.Slack += max(0, asked-used)
	b.Overrun += max(0, used-asked)
}
