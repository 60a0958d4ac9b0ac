package crank

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// informer is a shared informer without a watch: an object that is set or removed reaches every handler on the
// caller's goroutine before the call returns.
type informer struct {
	// SharedIndexInformer is never run; it only fills the interface.
	cache.SharedIndexInformer
	indexer  cache.Indexer
	handlers []cache.ResourceEventHandler
}

func newInformer(example runtime.Object) *informer {
	return &informer{
		SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, example, 0, cache.Indexers{}),
		indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
			cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		}),
	}
}

func (i *informer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, h)
	return synced{}, nil
}

func (i *informer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(h)
}

func (i *informer) GetStore() cache.Store                  { return i.indexer }
func (i *informer) GetIndexer() cache.Indexer              { return i.indexer }
func (i *informer) AddIndexers(ix cache.Indexers) error    { return i.indexer.AddIndexers(ix) }
func (i *informer) SetTransform(cache.TransformFunc) error { return nil }
func (i *informer) HasSynced() bool                        { return true }
func (i *informer) HasSyncedChecker() cache.DoneChecker    { return synced{} }
func (i *informer) IsStopped() bool                        { return false }
func (i *informer) Run(stop <-chan struct{})               { <-stop }
func (i *informer) RunWithContext(ctx context.Context)     { <-ctx.Done() }
func (i *informer) LastSyncResourceVersion() string        { return "" }
func (i *informer) current(obj runtime.Object) runtime.Object {
	old, ok, err := i.indexer.Get(obj)
	if err != nil || !ok {
		return nil
	}
	return old.(runtime.Object)
}

// set adds or replaces an object and calls the handlers.
func (i *informer) set(obj runtime.Object) error {
	old := i.current(obj)
	if old == nil {
		if err := i.indexer.Add(obj); err != nil {
			return err
		}
		for _, h := range i.handlers {
			h.OnAdd(obj, false)
		}
		return nil
	}
	if err := i.indexer.Update(obj); err != nil {
		return err
	}
	for _, h := range i.handlers {
		h.OnUpdate(old, obj)
	}
	return nil
}

// remove deletes an object and calls the handlers; unknown objects are ignored.
func (i *informer) remove(obj runtime.Object) error {
	old := i.current(obj)
	if old == nil {
		return nil
	}
	if err := i.indexer.Delete(old); err != nil {
		return err
	}
	for _, h := range i.handlers {
		h.OnDelete(old)
	}
	return nil
}

// synced is a registration, and a checker, of something that was in step from the start.
type synced struct{}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (synced) HasSynced() bool                     { return true }
func (synced) HasSyncedChecker() cache.DoneChecker { return synced{} }
func (synced) Name() string                        { return "hand-fed informer" }
func (synced) Done() <-chan struct{}               { return closed }

// examples are the kinds the scheduler looks at and a control plane feeds. The scheduler's other informers exist,
// are never run, and stay empty.
var examples = []runtime.Object{
	&corev1.Pod{}, &corev1.Node{}, &corev1.Namespace{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{},
	&corev1.Service{}, &corev1.ReplicationController{}, &appsv1.ReplicaSet{}, &appsv1.StatefulSet{},
	&policyv1.PodDisruptionBudget{}, &storagev1.StorageClass{}, &storagev1.CSINode{},
}

// newFactory registers a hand-fed informer for each example before anybody can ask for a real one.
func newFactory(client kubernetes.Interface) (informers.SharedInformerFactory, map[string]*informer) {
	factory := informers.NewSharedInformerFactory(client, 0)
	byType := make(map[string]*informer, len(examples))
	for _, e := range examples {
		own := newInformer(e)
		byType[typeName(e)] = own
		factory.InformerFor(e, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return own })
	}
	return factory, byType
}

func typeName(obj runtime.Object) string { return fmt.Sprintf("%T", obj) }
