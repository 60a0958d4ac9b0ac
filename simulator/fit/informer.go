package fit

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/scalehist/scalehist"
)

// informer is a SharedIndexInformer that never watches: sync replaces its content and calls the handlers on the
// caller's goroutine. The embedded interface is nil; whatever is not overridden is never called by the plugins.
type informer struct {
	cache.SharedIndexInformer
	indexer  cache.Indexer
	handlers []cache.ResourceEventHandler
	last     []scalehist.Object
}

func newInformer() *informer {
	return &informer{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

// register makes the factory hand out this informer for the type of obj.
func (i *informer) register(f informers.SharedInformerFactory, obj runtime.Object) {
	f.InformerFor(obj, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return i })
}

// sync makes the content equal to the objects and says whether anything changed. Objects are compared by identity:
// they are shared with caches and never changed in place.
func syncObjects[T scalehist.Object](i *informer, objs []T) (bool, error) {
	if len(objs) == len(i.last) {
		same := true
		for n := range objs {
			if scalehist.Object(objs[n]) != i.last[n] {
				same = false
				break
			}
		}
		if same {
			return false, nil
		}
	}
	seen := make(map[string]bool, len(objs))
	next := make([]scalehist.Object, 0, len(objs))
	for _, o := range objs {
		key := cache.MetaObjectToName(o).String()
		seen[key] = true
		next = append(next, o)
		old, exists, err := i.indexer.GetByKey(key)
		if err != nil {
			return false, err
		}
		switch {
		case !exists:
			if err := i.indexer.Add(o); err != nil {
				return false, err
			}
			for _, h := range i.handlers {
				h.OnAdd(o, false)
			}
		case old != any(o):
			if err := i.indexer.Update(o); err != nil {
				return false, err
			}
			for _, h := range i.handlers {
				h.OnUpdate(old, o)
			}
		}
	}
	for _, o := range i.last {
		if seen[cache.MetaObjectToName(o).String()] {
			continue
		}
		if err := i.indexer.Delete(o); err != nil {
			return false, err
		}
		for _, h := range i.handlers {
			h.OnDelete(o)
		}
	}
	i.last = next
	return true, nil
}

type registration struct{}

func (registration) HasSynced() bool                     { return true }
func (registration) HasSyncedChecker() cache.DoneChecker { return done{} }

type done struct{}

func (done) Name() string { return "synchronous" }
func (done) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	for _, o := range i.indexer.List() {
		h.OnAdd(o, true)
	}
	return registration{}, nil
}

func (i *informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error { return nil }
func (i *informer) GetStore() cache.Store                                           { return i.indexer }
func (i *informer) GetIndexer() cache.Indexer                                       { return i.indexer }
func (i *informer) AddIndexers(x cache.Indexers) error                              { return i.indexer.AddIndexers(x) }
func (i *informer) Run(<-chan struct{})                                             {}
func (i *informer) RunWithContext(context.Context)                                  {}
func (i *informer) HasSynced() bool                                                 { return true }
func (i *informer) HasSyncedChecker() cache.DoneChecker                             { return done{} }
func (i *informer) LastSyncResourceVersion() string                                 { return "" }
func (i *informer) SetTransform(cache.TransformFunc) error                          { return nil }
func (i *informer) IsStopped() bool                                                 { return false }
