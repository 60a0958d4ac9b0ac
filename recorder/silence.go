package recorder

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// A connection can survive and say nothing: a proxy that answers for a server that is gone, a server that forgot a
// watch. API servers send each watch a bookmark about once a minute, but not where nothing ever happened, so silence
// proves nothing. A stream that was silent for silenceLimit is opened again: a cheap request that also brings what it
// has missed. If it had missed nothing, nothing happened, and there is no gap; else the gap begins at its last sign of
// life.
const (
	silenceLimit = 90 * time.Second
	// startLimit is the same for a stream that still sends the objects there are: they show when all have arrived.
	startLimit = 10 * time.Minute
	// silenceCheck is how often we look.
	silenceCheck = 10 * time.Second
	// probeTimeout bounds the request for the present version. A connection on which it gets no answer is given up.
	probeTimeout = 15 * time.Second
)

// suspect is what a silent watch has to answer for.
type suspect struct {
	from  time.Time // its last sign of life
	until string    // versions up to this one were there when it was opened again
}

// listenForSilence ends streams that are silent for too long, until ctx ends.
func (r *Recorder) listenForSilence(ctx context.Context) {
	for {
		timer := r.o.Clock.NewTimer(silenceCheck)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		for _, w := range r.all() {
			if s := w.overdue(r.now()); s != nil {
				klog.FromContext(ctx).V(2).Info("Watch is silent, it is opened again", "kind", w.kind)
				s.Stop()
			}
		}
	}
}

// overdue gives the stream if it has been silent for too long, and notes that. A watch whose lock is taken has something
// to say.
func (w *watched) overdue(now time.Time) *stream {
	if !w.mu.TryLock() {
		return nil
	}
	defer w.mu.Unlock()
	last, limit := w.last, silenceLimit
	if !w.watching {
		last, limit = w.since, startLimit
	}
	if w.stream == nil || now.Sub(last) < limit {
		return nil
	}
	if w.watching {
		w.silent = now
	}
	return w.stream
}

// silentBefore says that the next stream takes the place of a silent one.
func (w *watched) silentBefore() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.silent.IsZero()
}

// present asks for the version that a kind has now. A server that does not answer on a connection is asked on another
// the next time.
func (r *Recorder) present(ctx context.Context, w *watched) (string, error) {
	limit := time.Duration(r.probe.Load())
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// On the connection of the watches: it is the one in doubt.
	list, err := w.page(ctx, metav1.ListOptions{Limit: 1, FieldSelector: w.selector().String()})
	if err == nil {
		accessor, err := meta.ListAccessor(list)
		if err != nil {
			return "", fmt.Errorf("list %s: %w", w.kind, err)
		}
		return accessor.GetResourceVersion(), nil
	}
	if ctx.Err() != nil {
		w.line().drop()
		err = fmt.Errorf("no answer within %s: %w", limit, err)
	}
	return "", err
}
