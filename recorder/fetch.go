package recorder

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/scalehist/scalehist"
)

// pageSize is how many objects a list asks for at once. Pages are stripped one by one, so that whole objects are never in
// memory for more than a page.
const pageSize = 500

// list lists a page and strips it.
func (w *watched) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	o.FieldSelector = w.selector().String()
	if o.Continue == "" {
		// From the server's cache, as version 0 asks, a list comes in one piece whatever the limit.
		if o.ResourceVersion == "0" {
			o.ResourceVersion = ""
		}
	}
	if o.ResourceVersion == "" && (o.Limit == 0 || o.Limit > pageSize) && o.Continue == "" {
		o.Limit = pageSize
	}
	list, err := w.page(ctx, o)
	if err != nil {
		return nil, err
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		if obj, ok := item.(scalehist.Object); ok {
			strip(obj)
		}
		return nil
	})
	return list, err
}

// page lists as it is asked to, on the connection of the watch.
func (w *watched) page(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	at := w.r.at(w.plane)
	if w.target.client == nil {
		return at.dynamic.Resource(w.resource).Namespace(at.namespace).List(ctx, o)
	}
	return w.target.client(at.typed).Get().NamespaceIfScoped(at.namespace, at.namespace != "").Resource(w.resource.Resource).
		VersionedParams(&o, metav1.ParameterCodec).Do(ctx).Get()
}

// watchStream opens a watch whose objects are stripped as they arrive.
func (w *watched) watchStream(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.FieldSelector, o.Watch = w.selector().String(), true
	at := w.r.at(w.plane)
	var stream watch.Interface
	var err error
	if w.target.client == nil {
		stream, err = at.dynamic.Resource(w.resource).Namespace(at.namespace).Watch(ctx, o)
	} else {
		stream, err = w.target.client(at.typed).Get().NamespaceIfScoped(at.namespace, at.namespace != "").Resource(w.resource.Resource).
			VersionedParams(&o, metav1.ParameterCodec).Watch(ctx)
	}
	if err != nil {
		return nil, err
	}
	if reflect.TypeOf(stream) == reflect.TypeOf(watch.NewEmptyWatch()) {
		return nil, unansweredError{}
	}
	return newStripped(stream), nil
}

// unansweredError: a connection was made, and closed before anybody answered, as load balancers do whose API server is
// away. client-go calls that a watch that is over already (rest.Request.Watch); nothing stood, so it is as if the
// connection had been refused: tried again, from where the last watch was.
type unansweredError struct{}

func (unansweredError) Error() string {
	return "the connection was closed, or timed out, before the API server answered"
}

func (unansweredError) Unwrap() error { return syscall.ECONNREFUSED }

// stripped strips what a watch delivers.
type stripped struct {
	from   watch.Interface
	result chan watch.Event
	once   sync.Once
	done   chan struct{}
}

func newStripped(from watch.Interface) *stripped {
	s := &stripped{from: from, result: make(chan watch.Event), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *stripped) run() {
	defer close(s.result)
	for e := range s.from.ResultChan() {
		if obj, ok := e.Object.(scalehist.Object); ok && e.Type != watch.Bookmark && e.Type != watch.Error {
			strip(obj)
		}
		select {
		case <-s.done: // what a stopped stream says, of its own end above all, is nobody's business
			return
		default:
		}
		select {
		case s.result <- e:
		case <-s.done:
			return
		}
	}
}

// ResultChan implements watch.Interface.
func (s *stripped) ResultChan() <-chan watch.Event { return s.result }

// Stop implements watch.Interface.
func (s *stripped) Stop() {
	s.once.Do(func() { close(s.done) })
	s.from.Stop()
}

// wants says whether a kind is to be recorded.
func (r *Recorder) wants(kind string) bool {
	return len(r.o.Kinds) == 0 || slices.Contains(r.o.Kinds, kind)
}

// notAllowed says that the answer to a list will stay the same: the account may not.
func notAllowed(err error) bool { return apierrors.IsForbidden(err) }

func unstructuredExample(t target) scalehist.Object {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(t.gvk())
	return o
}
