package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// trouble keeps what is wrong now. A watch that fails is tried again for ever, and loses nothing if it comes back in
// time, so it is not an error of the recording; but somebody should see it. The log gets what begins and what ends.
type trouble struct {
	mu    sync.Mutex
	with  map[string]error  // by kind
	other map[string]string // by part: what is not about one kind
}

// The parts of a recorder that may be in trouble, in the order in which they are reported.
const (
	partStart       = "start"
	partHistory     = "history"
	partCredentials = "credentials"
	partClock       = "clock"
	partJump        = "jump"
)

var parts = []string{partStart, partHistory, partCredentials, partClock, partJump}

// set notes what is wrong with a part, "" for nothing.
func (t *trouble) set(ctx context.Context, part, what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.other[part]
	if was == what {
		return
	}
	if t.other == nil {
		t.other = map[string]string{}
	}
	t.other[part] = what
	if what != "" {
		klog.FromContext(ctx).Info("Recording is in trouble", "part", part, "trouble", what)
	} else {
		klog.FromContext(ctx).Info("Recording is out of trouble", "part", part, "was", was)
	}
}

// note takes the outcome of a request. That a request ended because the recording did is no trouble.
func (t *trouble) note(ctx context.Context, kind string, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	was, ill := t.with[kind]
	if err == nil {
		if delete(t.with, kind); ill {
			klog.FromContext(ctx).Info("Kind is watched again", "kind", kind)
		}
		return
	}
	if t.with == nil {
		t.with = map[string]error{}
	}
	t.with[kind] = err
	if !ill || was.Error() != err.Error() {
		klog.FromContext(ctx).Info("Kind cannot be watched", "kind", kind, "err", cause(err))
	}
}

// String says what is wrong: with the recorder, and how many watches are down and why; "" if nothing is.
func (t *trouble) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, part := range parts {
		if what := t.other[part]; what != "" {
			out = append(out, what)
		}
	}
	switch kinds := slices.Sorted(maps.Keys(t.with)); len(kinds) {
	case 0:
	case 1:
		out = append(out, fmt.Sprintf("%s cannot be watched: %v", kinds[0], cause(t.with[kinds[0]])))
	default:
		out = append(out, fmt.Sprintf("%d kinds cannot be watched, %s among them: %v", len(kinds), kinds[0], cause(t.with[kinds[0]])))
	}
	return strings.Join(out, "; ")
}

// cause leaves out the address with its query that a failed request names.
func cause(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return worded(err)
}

// worded adds what an API server's answer is called to an error in which it says nothing itself: some proxies refuse with a code alone.
func worded(err error) error {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) || status.Status().Message != "" {
		return err
	}
	s := status.Status()
	words := cmp.Or(string(s.Reason), http.StatusText(int(s.Code)), "refused without a reason")
	if s.Code != 0 {
		words = fmt.Sprintf("%s (%d)", words, s.Code)
	}
	if context := strings.TrimRight(err.Error(), ": "); context != "" {
		words = context + ": " + words
	}
	return &wordedError{words, err}
}

// wordedError is an error in better words.
type wordedError struct {
	words string
	err   error
}

func (e *wordedError) Error() string { return e.words }
func (e *wordedError) Unwrap() error { return e.err }

// asked notes the outcome of a request for a kind, and renews the credentials if they were refused.
func (r *Recorder) asked(ctx context.Context, kind string, err error) {
	r.trouble.note(ctx, kind, err)
	if apierrors.IsUnauthorized(err) {
		r.renew(ctx)
	} else if err == nil {
		r.trouble.set(ctx, partCredentials, "")
	}
}

// listWatch lists and watches a target and notes when that fails.
func (r *Recorder) listWatch(w *watched) cache.ListerWatcher {
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			var list runtime.Object
			var err error
			if w.silentBefore() { // not on a connection that does not answer
				_, err = r.present(ctx, w)
			}
			if err == nil {
				list, err = w.list(ctx, o)
			}
			if err != nil { // that a kind can be listed is not yet to say that it can be watched
				r.asked(ctx, w.kind, err)
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			initial := o.SendInitialEvents != nil && *o.SendInitialEvents
			var until string
			var err error
			if w.silentBefore() {
				until, err = r.present(ctx, w)
			}
			var opened watch.Interface
			if err == nil {
				opened, err = w.watchStream(ctx, o)
			}
			r.asked(ctx, w.kind, err)
			if err != nil {
				return nil, err
			}
			s := &stream{Interface: opened, done: func() {
				if ctx.Err() == nil { // the recording goes on
					w.ended()
				}
			}}
			if err := w.opened(s, initial, until); err != nil {
				opened.Stop()
				return nil, err
			}
			return s, nil
		},
	}
	return cache.ToListWatcherWithWatchListSemantics(lw, r.kube())
}

// jumpShown is how long a jump of the clock is reported as trouble; the history keeps it.
const jumpShown = 5 * time.Minute
