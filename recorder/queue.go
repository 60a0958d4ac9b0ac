package recorder

import (
	"context"
	"errors"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// item is one thing for the writer; exactly one of entry, gap, synced, write and barrier is set.
type item struct {
	entry *history.Entry
	// order is the resource version of an entry whose place among the changes of other kinds it gives, else "".
	order string
	gap   *history.Gap
	// synced: the first list of a watch is complete in the queue.
	synced *watched
	// write writes what is no change of an object.
	write func(context.Context, *history.Writer) error
	// barrier gets the outcome of writing everything queued before it: all that was seen up to upTo.
	barrier chan<- error
	upTo    time.Time
}

var errStopped = errors.New("recorder: the recording has ended")

// enqueue gives items to the writer, one after the other with nothing in between, and waits while the queue is full.
// Entries get their observed time here, under one lock, so that the queue is in the order of observed time. Items given
// together are of one instant, at, if it is set.
func (r *Recorder) enqueue(items ...item) error {
	r.queueMu.Lock()
	defer r.queueMu.Unlock()
	return r.enqueueAt(time.Time{}, items)
}

// enqueueAt is enqueue with queueMu held and an instant, which must not be before the last of the queue.
func (r *Recorder) enqueueAt(at time.Time, items []item) error {
	if r.closed {
		return r.stopReason()
	}
	if err := r.failed(); err != nil {
		return err
	}
	for _, it := range items {
		if it.entry != nil {
			if it.entry.ObservedAt = at; at.IsZero() {
				it.entry.ObservedAt = r.now()
			}
			if r.translate != nil {
				r.translate.object(it.entry)
			}
			it.entry.Change.At = objectTime(it.entry)
			r.queued.Add(1)
		}
		if it.barrier != nil {
			it.upTo = r.now()
		}
		r.push(it)
	}
	return nil
}

// push waits for room in the queue; the writer drains until it is closed, whatever happens to it. What happens in the
// cluster while everybody waits here is seen late: for interruptionTolerance or more that is a gap of every kind.
func (r *Recorder) push(it item) {
	select {
	case r.queue <- it:
		return
	default:
	}
	from := r.now()
	r.queue <- it
	to := r.now()
	if to.Sub(from) < interruptionTolerance || r.translate != nil || !r.started() {
		return
	}
	why := whyBehind
	if held := r.held.Swap(nil); held != nil {
		why = whyHeld + *held
	}
	r.queue <- item{gap: &history.Gap{From: from, To: to, Why: why}}
}

// idleAt is an instant at which the queue is empty and nothing is on its way into it: all that was seen up to then is in
// the writer's hands. The writer asks, so it must not wait for the queue's lock.
func (r *Recorder) idleAt() (time.Time, bool) {
	if !r.queueMu.TryLock() {
		return time.Time{}, false
	}
	defer r.queueMu.Unlock()
	return r.now(), len(r.queue) == 0
}

// objectTime is when a change happened by the object's own account, zero if it does not say.
func objectTime(e *history.Entry) time.Time {
	o := e.Change.Object
	switch e.Change.Op {
	case scalehist.OpAdd:
		return o.GetCreationTimestamp().UTC()
	case scalehist.OpDelete:
		// The deletion timestamp is when the grace period ends, which may be after the object was removed.
		if d := o.GetDeletionTimestamp(); d != nil && !d.After(e.ObservedAt) {
			return d.UTC()
		}
	}
	return time.Time{}
}
