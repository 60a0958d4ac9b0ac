package memory

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/controlplane" // registers every API group with legacyscheme
	pod "k8s.io/kubernetes/pkg/registry/core/pod/storage"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
)

// server is the API server's registries: a plane.Server.
type server struct {
	kinds        map[schema.GroupResource]*plane.Kind
	resources    []resource
	subresources []map[string]rest.Updater
	pods         pod.PodStorage
	// version is the last resource version given.
	version uint64
	events  []plane.Event
}

var _ plane.Server = (*server)(nil)

func newServer() (*server, error) {
	s := &server{
		kinds:     make(map[schema.GroupResource]*plane.Kind, len(plane.Kinds)),
		resources: make([]resource, len(plane.Kinds)), subresources: make([]map[string]rest.Updater, len(plane.Kinds)),
	}
	for _, k := range plane.Kinds {
		s.kinds[schema.GroupResource{Group: k.Group, Resource: k.Resource}] = k
	}
	return s, s.register()
}

// Writers: nothing waits, so several would gain nothing.
func (*server) Writers() int { return 1 }

// Event: nobody reads events here.
func (*server) Event(context.Context, *eventsv1.Event) error { return nil }

// Barrier: everything written can be taken already.
func (*server) Barrier(context.Context) error { return nil }

func (s *server) Take() []plane.Event {
	events := s.events
	s.events = nil
	return events
}

// emit keeps what watches would show. Objects of kinds that no plane stores are nobody's business.
func (s *server) emit(k *plane.Kind, obj runtime.Object, gone bool) error {
	if k == nil {
		return nil
	}
	out, err := external(k, obj)
	if err != nil {
		return err
	}
	if p, ok := out.(*corev1.Pod); ok {
		// The plane puts its own times into conditions; the rest it leaves alone.
		p.Status.Conditions = append([]corev1.PodCondition(nil), p.Status.Conditions...)
	}
	s.events = append(s.events, plane.Event{Kind: k, UID: out.GetUID(), RV: plane.Version(out), Obj: out, Gone: gone})
	return nil
}

// external is a stored object as clients get it. A pod shares what is deeper than its own fields with the stored one;
// others, which are written more rarely, go over the wire, which drops what it has no place for.
func external(k *plane.Kind, obj runtime.Object) (scalehist.Object, error) {
	out := k.New()
	if err := legacyscheme.Scheme.Convert(obj, out, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	if k == plane.PodKind {
		return out, nil
	}
	return transmit(k, out)
}

// transmit is an object as it comes out at the other end of the wire.
func transmit(k *plane.Kind, obj scalehist.Object) (scalehist.Object, error) {
	data, err := obj.(wire).Marshal()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	out := k.New()
	if err := out.(wire).Unmarshal(data); err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	return out, nil
}

// wire is an object of a client's.
type wire interface {
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// decode is what the API server reads off the wire: times lose what is below seconds, empty lists are none. Then it has
// defaults.
func decode(k *plane.Kind, r resource, obj scalehist.Object) (runtime.Object, error) {
	read, err := transmit(k, obj)
	if err != nil {
		return nil, err
	}
	return internal(r, read)
}

// internal defaults an object, which it takes over, and makes it one of the registry's.
func internal(r resource, obj scalehist.Object) (runtime.Object, error) {
	legacyscheme.Scheme.Default(obj)
	in := r.New()
	return in, legacyscheme.Scheme.Convert(obj, in, nil)
}

// within is the context of a request, as the API server's handlers pass it on.
func within(ctx context.Context, verb string, k *plane.Kind, namespace, name string, sub ...string) context.Context {
	info := &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: k.Group, APIVersion: k.Version, Namespace: namespace,
		Resource: k.Resource, Subresource: strings.Join(sub, "/"), Name: name,
	}
	return request.WithRequestInfo(request.WithNamespace(ctx, namespace), info)
}

// clientError is an error as it comes out of a client.
func clientError(err error) error {
	return apierrors.FromObject(responsewriters.ErrorToAPIStatus(err))
}

func (s *server) result(k *plane.Kind, obj runtime.Object, err error) (scalehist.Object, error) {
	if err != nil {
		return nil, clientError(err)
	}
	return external(k, obj)
}

func (s *server) Post(ctx context.Context, k *plane.Kind, obj scalehist.Object) (scalehist.Object, error) {
	if err := ctx.Err(); err != nil { // as a request to a real server would end
		return nil, err
	}
	r := s.resources[k.Order]
	in, err := decode(k, r, obj)
	if err != nil {
		return nil, clientError(apierrors.NewBadRequest(err.Error()))
	}
	out, err := r.Create(within(ctx, "create", k, obj.GetNamespace(), ""), in, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	return s.result(k, out, err)
}

// updater is what writes a kind or one of its subresources.
func (s *server) updater(k *plane.Kind, sub []string) (rest.Updater, error) {
	if len(sub) == 0 {
		return s.resources[k.Order], nil
	}
	if u := s.subresources[k.Order][sub[0]]; u != nil {
		return u, nil
	}
	return nil, clientError(apierrors.NewGenericServerResponse(404, "put", schema.GroupResource{Group: k.Group, Resource: k.Resource}, sub[0], "", 0, true))
}

func (s *server) Put(ctx context.Context, k *plane.Kind, obj scalehist.Object, sub ...string) (scalehist.Object, error) {
	if err := ctx.Err(); err != nil { // as a request to a real server would end
		return nil, err
	}
	u, err := s.updater(k, sub)
	if err != nil {
		return nil, err
	}
	if p, ok := obj.(*corev1.Pod); ok && len(sub) == 1 && sub[0] == "status" {
		// The strategy takes the spec of the pod it has.
		obj = &corev1.Pod{ObjectMeta: p.ObjectMeta, Status: p.Status}
	}
	in, err := decode(k, s.resources[k.Order], obj)
	if err != nil {
		return nil, clientError(apierrors.NewBadRequest(err.Error()))
	}
	out, _, err := u.Update(within(ctx, "update", k, obj.GetNamespace(), obj.GetName(), sub...), obj.GetName(), rest.DefaultUpdatedObjectInfo(in), rest.ValidateAllObjectFunc,
		rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return s.result(k, out, err)
}

func (s *server) Get(ctx context.Context, k *plane.Kind, namespace, name string) (scalehist.Object, error) {
	obj, err := s.resources[k.Order].Get(within(ctx, "get", k, namespace, name), name, &metav1.GetOptions{})
	return s.result(k, obj, err)
}

func (s *server) Delete(ctx context.Context, k *plane.Kind, namespace, name string, uid types.UID) error {
	if err := ctx.Err(); err != nil { // as a request to a real server would end
		return err
	}
	opts := &metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0),
		PropagationPolicy:  ptr.To(metav1.DeletePropagationBackground),
		Preconditions:      &metav1.Preconditions{UID: &uid},
	}
	if _, _, err := s.resources[k.Order].Delete(within(ctx, "delete", k, namespace, name), name, rest.ValidateAllObjectFunc, opts); err != nil {
		return clientError(err)
	}
	return nil
}

func (s *server) Bind(ctx context.Context, namespace, podName string, uid types.UID, node string) error {
	if err := ctx.Err(); err != nil { // as a request to a real server would end
		return err
	}
	b := &core.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName, UID: uid},
		Target:     core.ObjectReference{Kind: "Node", Name: node},
	}
	if _, err := s.pods.Binding.Create(within(ctx, "create", plane.PodKind, namespace, podName, "binding"), podName, b, rest.ValidateAllObjectFunc, &metav1.CreateOptions{}); err != nil {
		return clientError(err)
	}
	return nil
}

func (s *server) Evict(ctx context.Context, namespace, podName string, _ types.UID, _ []string) error {
	if err := ctx.Err(); err != nil { // as a request to a real server would end
		return err
	}
	eviction := &policy.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: namespace, Name: podName},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)},
	}
	out, err := s.pods.Eviction.Create(within(ctx, "create", plane.PodKind, namespace, podName, "eviction"), podName, eviction, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		return clientError(err)
	}
	if status, ok := out.(*metav1.Status); ok && status.Status == metav1.StatusFailure {
		return apierrors.FromObject(status)
	}
	return nil
}

func (s *server) Finalize(ctx context.Context, namespace string) error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	_, err := s.Put(ctx, plane.NamespaceKind, ns, "finalize")
	return err
}
