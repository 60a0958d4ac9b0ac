package kvcl

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
)

// httpServer is a real API server: written through a client, read through watches.
type httpServer struct {
	client kubernetes.Interface
	inbox  *inbox
	wall   func(virtual time.Time) time.Time // nil: as it is
}

// podWriters write pods in parallel. More gain nothing: the limit is the API server's CPU.
const podWriters = 8

func (*httpServer) Writers() int { return podWriters }

func (s *httpServer) Post(ctx context.Context, k *plane.Kind, obj scalehist.Object) (scalehist.Object, error) {
	return s.wrote(ctx, k, s.request(k).Post().NamespaceIfScoped(obj.GetNamespace(), k.Namespaced).Resource(k.Resource).Body(s.dated(obj)))
}

func (s *httpServer) Put(ctx context.Context, k *plane.Kind, obj scalehist.Object, sub ...string) (scalehist.Object, error) {
	return s.wrote(ctx, k, s.request(k).Put().NamespaceIfScoped(obj.GetNamespace(), k.Namespaced).Resource(k.Resource).Name(obj.GetName()).
		SubResource(sub...).Body(s.dated(obj)))
}

// dated is obj with the conditions of a node at instants of the wall clock.
func (s *httpServer) dated(obj scalehist.Object) scalehist.Object {
	n, ok := obj.(*corev1.Node)
	if !ok || s.wall == nil {
		return obj
	}
	n = n.DeepCopy()
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		for _, t := range []*metav1.Time{&c.LastHeartbeatTime, &c.LastTransitionTime} {
			if !t.IsZero() {
				*t = metav1.NewTime(s.wall(t.Time))
			}
		}
	}
	return n
}

func (s *httpServer) Patch(ctx context.Context, k *plane.Kind, namespace, name string, pt types.PatchType, data []byte, sub ...string) (scalehist.Object, error) {
	return s.wrote(ctx, k, s.request(k).Patch(pt).NamespaceIfScoped(namespace, k.Namespaced).Resource(k.Resource).Name(name).SubResource(sub...).Body(data))
}

// Get counts as a write: what was read will be shown.
func (s *httpServer) Get(ctx context.Context, k *plane.Kind, namespace, name string) (scalehist.Object, error) {
	return s.wrote(ctx, k, s.request(k).Get().NamespaceIfScoped(namespace, k.Namespaced).Resource(k.Resource).Name(name))
}

func (s *httpServer) wrote(ctx context.Context, k *plane.Kind, r *rest.Request) (scalehist.Object, error) {
	out := k.New()
	if err := r.Do(ctx).Into(out); err != nil {
		return nil, err
	}
	s.inbox.wrote(k, out)
	return out, nil
}

func (s *httpServer) Delete(ctx context.Context, k *plane.Kind, namespace, name string, uid types.UID) error {
	opts := &metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0),
		PropagationPolicy:  ptr.To(metav1.DeletePropagationBackground),
		Preconditions:      &metav1.Preconditions{UID: &uid},
	}
	err := s.request(k).Delete().NamespaceIfScoped(namespace, k.Namespaced).Resource(k.Resource).Name(name).Body(opts).Do(ctx).Error()
	if err != nil {
		return err
	}
	s.inbox.deleted(k, uid)
	return nil
}

func (s *httpServer) Bind(ctx context.Context, namespace, pod string, uid types.UID, node string) error {
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod, UID: uid},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	err := s.request(plane.PodKind).Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("binding").Body(b).Do(ctx).Error()
	if err != nil {
		return err
	}
	s.inbox.boundTo(uid)
	return nil
}

func (s *httpServer) Evict(ctx context.Context, namespace, pod string, uid types.UID, budgets []string) error {
	eviction := &policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: namespace, Name: pod},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)},
	}
	// The API server asks to retry after 10 seconds; client-go would sleep and do so.
	err := s.request(plane.PodKind).Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("eviction").
		MaxRetries(0).Body(eviction).Do(ctx).Error()
	if err != nil {
		return err
	}
	s.inbox.deleted(plane.PodKind, uid)
	for _, b := range budgets {
		if _, err := s.Get(ctx, plane.PDBKind, namespace, b); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (s *httpServer) Finalize(ctx context.Context, namespace string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	return s.request(plane.NamespaceKind).Put().Resource("namespaces").Name(namespace).SubResource("finalize").Body(ns).Do(ctx).Error()
}

func (s *httpServer) Event(ctx context.Context, ev *eventsv1.Event) error {
	_, err := s.client.EventsV1().Events(ev.Namespace).Create(ctx, ev, metav1.CreateOptions{})
	return err
}

func (s *httpServer) Barrier(ctx context.Context) error { return s.inbox.barrier(ctx) }

func (s *httpServer) Take() []plane.Event { return s.inbox.take() }

func (s *httpServer) request(k *plane.Kind) rest.Interface { return restOf(s.client, k) }

// restOf is the client of a kind's group.
func restOf(c kubernetes.Interface, k *plane.Kind) rest.Interface {
	switch k.Group {
	case "apps":
		return c.AppsV1().RESTClient()
	case "batch":
		return c.BatchV1().RESTClient()
	case "policy":
		return c.PolicyV1().RESTClient()
	case "storage.k8s.io":
		return c.StorageV1().RESTClient()
	case "node.k8s.io":
		return c.NodeV1().RESTClient()
	case "scheduling.k8s.io":
		return c.SchedulingV1().RESTClient()
	}
	return c.CoreV1().RESTClient()
}
