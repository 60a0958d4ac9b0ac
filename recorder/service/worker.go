package service

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/recorder"
)

// worker records one cluster, attempt after attempt, until its context ends.
type worker struct {
	cluster Cluster
	path    string
	source  string
	clock   clock.Clock
	prepare func(c *Cluster, path, source string, wall clock.Clock) (recording, string, error)
	// tried is called once, when the first attempt has begun to record or has failed.
	tried func()
	// changed is called after each change of state.
	changed func(Status)

	stop func()        // asks the worker to end
	done chan struct{} // closed when it has

	mu      sync.Mutex
	status  Status
	current recording     // nil between attempts
	base    [2]int64      // changes and written of former attempts
	used    string        // fingerprint of the present attempt
	again   chan struct{} // ends a wait, or an attempt that uses old files
}

// run makes attempts until ctx ends. It begins when the worker before it, for the same history, has ended.
func (w *worker) run(ctx context.Context, before <-chan struct{}) {
	defer close(w.done)
	if before != nil {
		<-before
	}
	failures := 0
	for ctx.Err() == nil {
		started, err := w.attempt(ctx)
		if started {
			failures = 0
		}
		if ctx.Err() != nil {
			if err != nil && started {
				klog.FromContext(ctx).Error(err, "The recording did not end well", "cluster", w.cluster.Name)
			}
			return
		}
		if err == nil {
			continue // its files changed
		}
		failures++
		wait := backoff(failures)
		w.failed(err, wait)
		klog.FromContext(ctx).Error(err, "The cluster is not recorded", "cluster", w.cluster.Name, "again", wait)
		if !w.wait(ctx, wait) {
			return
		}
	}
}

// wait returns false when ctx ended; it ends early when the cluster's files change.
func (w *worker) wait(ctx context.Context, d time.Duration) bool {
	timer := w.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-w.again:
	case <-ctx.Done():
		return false
	}
	return true
}

// attempt records until ctx ends, the cluster's files change (nil), or it fails. started says whether it recorded.
func (w *worker) attempt(ctx context.Context) (started bool, err error) {
	w.begin()
	r, server, err := w.prepare(&w.cluster, w.path, w.source, w.clock)
	w.mu.Lock()
	w.status.Server = server
	if err == nil {
		w.current = r
	}
	w.mu.Unlock()
	if err != nil {
		return false, err
	}
	defer w.end(r)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.Run(running) }()
	begun := make(chan error, 1)
	go func() { begun <- r.WaitForStart(running) }()
	limit := w.clock.NewTimer(startTimeout)
	defer limit.Stop()
	var late error
	for {
		select {
		case err := <-begun:
			begun = nil
			if err == nil {
				started = true
				limit.Stop()
				w.recording(r)
			}
		case <-limit.C():
			if !started {
				late = fmt.Errorf("no complete answer from the API server within %s", startTimeout)
				cancel()
			}
		case <-w.again:
			cancel()
			if !started {
				err := <-done // that nothing was recorded yet
				klog.FromContext(ctx).V(1).Info("The files of a cluster changed", "cluster", w.cluster.Name, "attempt", err)
				return false, nil
			}
			w.stopping()
		case <-ctx.Done():
			w.stopping()
			return started, <-done
		case err := <-done:
			if late != nil {
				err = late
			}
			return started, err
		}
	}
}

// begin takes note of the files that an attempt is about to read, before it reads them, so that a change meanwhile is seen
// and what it reads anyway is not.
func (w *worker) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used, _ = w.cluster.fingerprint() // what cannot be read fails in prepare
	w.status.Attempts++
	w.status.State, w.status.Since, w.status.NextTry = StateConnecting, w.clock.Now(), time.Time{}
	select {
	case <-w.again: // the files are read now anyway
	default:
	}
}

func (w *worker) recording(r recording) {
	w.mu.Lock()
	w.status.Starts++
	w.status.State, w.status.Since, w.status.Reason = StateRecording, w.clock.Now(), ""
	w.status.Refused = recorder.RefusedText(r.Refused())
	w.mu.Unlock()
	w.tried()
	w.changed(w.Status())
}

func (w *worker) failed(err error, wait time.Duration) {
	w.mu.Lock()
	w.status.Failures++
	now := w.clock.Now()
	w.status.State, w.status.Since, w.status.Reason, w.status.NextTry = StateFailed, now, err.Error(), now.Add(wait)
	w.mu.Unlock()
	w.tried()
	w.changed(w.Status())
}

func (w *worker) stopping() {
	w.mu.Lock()
	w.status.State, w.status.Since, w.status.Reason = StateStopping, w.clock.Now(), ""
	w.mu.Unlock()
	w.changed(w.Status())
}

// end adds up what an attempt did.
func (w *worker) end(r recording) {
	s := r.Stats()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Recorder, w.current = s, nil
	w.base[0] += s.Changes
	w.base[1] += s.Written
}

// Status is a copy with the present counts.
func (w *worker) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.status
	s.Changes, s.Written = w.base[0], w.base[1]
	if w.current != nil {
		s.Recorder = w.current.Stats()
		s.Changes, s.Written = s.Changes+s.Recorder.Changes, s.Written+s.Recorder.Written
		if s.State == StateRecording {
			s.Reason = s.Recorder.Trouble
		}
	} else {
		s.Recorder.Queued, s.Recorder.Objects, s.Recorder.Trouble = 0, 0, ""
	}
	return s
}

// filesChanged makes the worker read its files again if they are not those it uses.
func (w *worker) filesChanged() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, err := w.cluster.fingerprint() // under the lock: one read before begin's and compared after it would be old
	if err != nil || now == w.used {
		return
	}
	select {
	case w.again <- struct{}{}:
	default: // it was woken already
	}
}
