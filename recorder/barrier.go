package recorder

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// WaitForStart returns when the recording has begun and its first state is in the file, or with the reason why Run
// ended before.
func (r *Recorder) WaitForStart(ctx context.Context) error {
	if r.started() {
		return nil
	}
	select {
	case <-r.synced:
		return nil
	case <-r.stopped:
		return r.stopReason()
	case <-ctx.Done():
		return fmt.Errorf("recorder: waiting for the first lists: %w", ctx.Err())
	}
}

// WaitFor returns when every change of kind up to a resource version is in the file. A deletion's version is that of the
// watch event, not of the object read before.
func (r *Recorder) WaitFor(ctx context.Context, kind, version string) error {
	if err := r.WaitForStart(ctx); err != nil {
		return err
	}
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return fmt.Errorf("recorder: waiting for %s: %w", kind, err)
	}
	found := false
	for _, w := range r.all() {
		if w.kind != kind {
			continue
		}
		found = true
		var err error
		if w.fields != nil { // its versions do not advance with objects it does not select
			err = r.catchUp(ctx, w)
		} else {
			err = r.waitUntil(ctx, w, func() bool { return !newer(version, w.highest) })
		}
		if err != nil {
			return fmt.Errorf("recorder: waiting for %s at version %s: %w", kind, version, err)
		}
	}
	if !found {
		return fmt.Errorf("recorder: %s is not recorded: add it to the kinds", kind)
	}
	return r.commit(ctx)
}

// Flush returns when the file holds the state the API server has at the call: it lists every kind and waits until the
// watches have delivered what the list shows, then until it is written. Only an object that came and went since the
// last Flush may still be on its way; WaitFor with the version of its deletion covers that.
func (r *Recorder) Flush(ctx context.Context) error {
	if err := r.WaitForStart(ctx); err != nil {
		return err
	}
	for _, w := range r.all() {
		if err := r.catchUp(ctx, w); err != nil {
			return fmt.Errorf("recorder: flush: %s: %w", w.resource.Resource, err)
		}
	}
	return r.commit(ctx)
}

// catchUp waits until a watch has delivered what a list shows now.
func (r *Recorder) catchUp(ctx context.Context, w *watched) error {
	// Without a resource version a list is consistent: it shows every write that ended before the call.
	list, err := r.listMeta(ctx, w.target, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	want := make(map[types.NamespacedName]seenObject, len(list.Items))
	for _, o := range list.Items {
		want[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = seenObject{uid: o.UID, version: o.ResourceVersion}
	}
	return r.waitUntil(ctx, w, func() bool { return w.shows(want, list.ResourceVersion) })
}

// shows says whether the watch has delivered a list of version at. Call it with w.mu held.
func (w *watched) shows(want map[types.NamespacedName]seenObject, at string) bool {
	if newer(w.highest, at) {
		return true
	}
	for name, o := range want {
		has, ok := w.known[name]
		if !ok || has.uid != o.uid || newer(o.version, has.version) {
			return false
		}
	}
	return len(w.known) == len(want)
}

// waitUntil waits for a state of w, looking again whenever it changes.
func (r *Recorder) waitUntil(ctx context.Context, w *watched, reached func() bool) error {
	for {
		w.mu.Lock()
		done, changed := reached(), w.changed
		w.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-r.stopped:
			return r.stopReason()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// commit waits until everything queued so far is written.
func (r *Recorder) commit(ctx context.Context) error {
	done := make(chan error, 1)
	if err := r.enqueue(item{barrier: done}); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("recorder: waiting for the writer: %w", ctx.Err())
	}
}

func (r *Recorder) stopReason() error {
	if err := r.failed(); err != nil {
		return err
	}
	return errStopped
}
