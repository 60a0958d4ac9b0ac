package harness

import (
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/trace"
)

// next is the instant of the next step: a batch boundary with something to feed in, a loop of the autoscaler, a node
// that comes or goes, a pod that finishes. Idle stretches cost nothing but the autoscaler's own timers.
func (r *run) next(end time.Time) time.Time {
	t := r.nextLoop
	sooner := func(o time.Time) {
		if o.Before(r.now) {
			o = r.now
		}
		if o.Before(t) {
			t = o
		}
	}
	if at, ok := r.nextInput(end); ok {
		sooner(r.boundary(at))
	}
	if at, ok := r.provider.Next(); ok {
		sooner(at)
	}
	if at, ok := r.cluster.Next(); ok {
		sooner(at)
	}
	if at, ok := r.faults.Next(); ok {
		sooner(at)
	}
	if at, ok := r.nextControl(); ok {
		sooner(at)
	}
	if over, ok := r.meter.NextOver(); ok {
		sooner(over.At)
	}
	if b, ok := r.engine.(scalehist.Background); ok {
		if at, ok := b.NextWork(); ok {
			sooner(at)
		}
	}
	return t
}

// nextInput is the instant of the next recorded change of any sort.
func (r *run) nextInput(end time.Time) (time.Time, bool) {
	var at time.Time
	for _, c := range []time.Time{
		firstAt(r.changes, func(c scalehist.Change) time.Time { return c.At }),
		firstAt(r.groups, func(c trace.GroupChange) time.Time { return c.At }),
		firstAt(r.settings, func(c scalehist.SettingsChange) time.Time { return c.At }),
	} {
		if !c.IsZero() && !c.After(end) && (at.IsZero() || c.Before(at)) {
			at = c
		}
	}
	return at, !at.IsZero()
}

// firstAt is the instant of the first of a list; zero if it is empty.
func firstAt[T any](list []T, at func(T) time.Time) time.Time {
	if len(list) == 0 {
		return time.Time{}
	}
	return at(list[0])
}

// boundary is the end of the batch that an instant falls into; the recording's last batch may be short.
func (r *run) boundary(at time.Time) time.Time {
	if r.batch <= 0 {
		return at
	}
	into := at.Sub(r.in.Start)
	n := (into + r.batch - 1) / r.batch
	b := r.in.Start.Add(n * r.batch)
	if b.After(r.in.End) && !at.After(r.in.End) {
		return r.in.End
	}
	return b
}
