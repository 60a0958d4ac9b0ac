package recorder

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// trouble keeps what is wrong with the watches now. A watch that fails is tried again for ever, and loses nothing if
// it comes back in time, so it is not an error of the recording; but somebody should see it.
type trouble struct {
	mu   sync.Mutex
	with map[string]error // by kind
}

// note takes the outcome of a request. That a request ended because the recording did is no trouble.
func (t *trouble) note(ctx context.Context, kind string, err error) {
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		delete(t.with, kind)
		return
	}
	if t.with == nil {
		t.with = map[string]error{}
	}
	t.with[kind] = err
}

// String says how many watches are down and why, "" if none is.
func (t *trouble) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	kinds := slices.Sorted(maps.Keys(t.with))
	switch len(kinds) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s cannot be watched: %v", kinds[0], cause(t.with[kinds[0]]))
	}
	return fmt.Sprintf("%d kinds cannot be watched, %s among them: %v", len(kinds), kinds[0], cause(t.with[kinds[0]]))
}

// cause leaves out the address with its query that a failed request names.
func cause(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// listWatch lists and watches a target and notes when that fails.
func (r *Recorder) listWatch(w *watched) cache.ListerWatcher {
	client, resource, selector := w.client(r.client), w.resource.Resource, w.selector().String()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			list, err := client.Get().Resource(resource).VersionedParams(&o, metav1.ParameterCodec).Do(ctx).Get()
			r.trouble.note(ctx, w.kind, err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector, o.Watch = selector, true
			opened, err := client.Get().Resource(resource).VersionedParams(&o, metav1.ParameterCodec).Watch(ctx)
			r.trouble.note(ctx, w.kind, err)
			if err != nil {
				return nil, err
			}
			if err := w.opened(o.SendInitialEvents != nil && *o.SendInitialEvents); err != nil {
				opened.Stop()
				return nil, err
			}
			return &stream{Interface: opened, done: func() {
				if ctx.Err() == nil { // the recording goes on
					w.ended()
				}
			}}, nil
		},
	}
	return cache.ToListWatcherWithWatchListSemantics(lw, r.client)
}
