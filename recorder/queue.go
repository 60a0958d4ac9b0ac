package recorder

import (
	"errors"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// item is one thing for the writer; exactly one field is set.
type item struct {
	entry *history.Entry
	gap   *history.Gap
	// synced: the first list of a watch is complete in the queue.
	synced *watched
	// barrier gets the outcome of writing everything queued before it.
	barrier chan<- error
}

var errStopped = errors.New("recorder: the recording has ended")

// enqueue gives an item to the writer and waits while the queue is full. Entries get their observed time here, under
// one lock, so that the queue is in the order of observed time.
func (r *Recorder) enqueue(it item) error {
	r.queueMu.Lock()
	defer r.queueMu.Unlock()
	if r.closed {
		return r.stopReason()
	}
	if err := r.failed(); err != nil {
		return err
	}
	if it.entry != nil {
		it.entry.ObservedAt = r.now()
		if r.translate != nil {
			r.translate.object(it.entry)
		}
		it.entry.Change.At = objectTime(it.entry)
		r.queued.Add(1)
	}
	r.queue <- it // the writer drains until the queue is closed, whatever happens to it
	return nil
}

// objectTime is when a change happened by the object's own account, zero if it does not say.
func objectTime(e *history.Entry) time.Time {
	o := e.Change.Object
	switch e.Change.Op {
	case scalehist.OpAdd:
		return o.GetCreationTimestamp().UTC()
	case scalehist.OpDelete:
		// The deletion timestamp is when the grace period ends, which may be after the object went.
		if d := o.GetDeletionTimestamp(); d != nil && !d.After(e.ObservedAt) {
			return d.UTC()
		}
	}
	return time.Time{}
}
