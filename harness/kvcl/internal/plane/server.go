package plane

import (
	"context"
	"strconv"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// Server is an API server: it defaults, validates and stores objects, with UIDs and times of its own. What it is given
// stays the caller's; what it returns may share what nobody changes in place with what it keeps. Its errors are those a
// client gets.
type Server interface {
	// Writers is how many goroutines may write pods at once; with 1 everything is called from one.
	Writers() int
	// Post creates obj, Put replaces it or one of its subresources, Patch changes it.
	Post(ctx context.Context, k *Kind, obj scalehist.Object) (scalehist.Object, error)
	Put(ctx context.Context, k *Kind, obj scalehist.Object, sub ...string) (scalehist.Object, error)
	Patch(ctx context.Context, k *Kind, namespace, name string, pt types.PatchType, data []byte, sub ...string) (scalehist.Object, error)
	Get(ctx context.Context, k *Kind, namespace, name string) (scalehist.Object, error)
	// Delete removes the object of a UID at once.
	Delete(ctx context.Context, k *Kind, namespace, name string, uid types.UID) error
	// Bind, Evict and Finalize are the subresources of pods and namespaces. An eviction writes to the budgets named.
	Bind(ctx context.Context, namespace, pod string, uid types.UID, node string) error
	Evict(ctx context.Context, namespace, pod string, uid types.UID, budgets []string) error
	Finalize(ctx context.Context, namespace string) error
	// Event creates an event.
	Event(ctx context.Context, ev *eventsv1.Event) error
	// Barrier returns when everything that was written through the Server can be taken.
	Barrier(ctx context.Context) error
	// Take returns what came, changed and went since the last call, the versions of one object in order. The objects
	// are the caller's to change, slices of conditions included.
	Take() []Event
}

// Event is an object that came, changed (Gone false) or went.
type Event struct {
	Kind *Kind
	// UID is the server's, RV the resource version of Obj.
	UID  types.UID
	RV   uint64
	Obj  scalehist.Object
	Gone bool
}

// Version is the resource version of an object as a number. Those of one server are comparable.
func Version(obj scalehist.Object) uint64 {
	n, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	return n
}
