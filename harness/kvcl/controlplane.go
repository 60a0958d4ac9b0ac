package kvcl

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
)

// ControlPlane is a Kubernetes control plane in virtual time, without kubelets and controllers: it stores objects and
// schedules pods. The replay loop, the virtual parts and the autoscalers know nothing else of a cluster.
//
// It is not safe for concurrent use: one replay loop owns it.
type ControlPlane interface {
	// Apply writes changes, as if in order, and returns when the API server has taken all of them. Change.At is
	// ignored except as the object's creation time when its metadata has none.
	//
	// OpAdd creates the object with its status and, for a pod, its spec.nodeName. UID and creationTimestamp of the
	// object are kept beside it and come back in Cluster; an empty UID gets "<kind>/<namespace>/<name>#<n>".
	// OpUpdate replaces metadata labels and annotations, spec and status. OpDelete removes at once, grace 0.
	// An object the API server would refuse is an error that names it; nothing after it is applied.
	Apply(ctx context.Context, changes []scalehist.Change) error
	// Settle moves the clock to now and returns when the scheduler is quiescent: every pod has a node or a reason,
	// and every cache has seen every write. now never goes back.
	//
	// A victim of preemption terminates: it has a deletionTimestamp at the end of its grace period and the condition DisruptionTarget,
	// and holds its room, for which the preemptor waits nominated, until somebody deletes it: there is no kubelet.
	Settle(ctx context.Context, now time.Time) (Settled, error)
	// Objects lists them, with recorded or virtual times and UIDs. Valid until the next Apply or Settle.
	Objects() *scalehist.Objects
	// Pod is the pod of that name that Objects lists, nil if there is none, without a list of all of them.
	Pod(namespace, name string) *corev1.Pod
	// Evict asks the eviction subresource to remove a pod. A PodDisruptionBudget that refuses is ErrEvictionRefused.
	Evict(ctx context.Context, namespace, name string) error
	// SetTaints replaces the taints of a node.
	SetTaints(ctx context.Context, node string, taints []corev1.Taint) error
	// Client is a client of the real API server; false where there is none.
	Client() (kubernetes.Interface, bool)
	// Close ends everything the control plane started and removes its files. Safe to call twice.
	Close() error
}

// What the scheduler did in one Settle; the cranked scheduler's own types, so that every plane reports alike.
type (
	// Settled lists bindings, pods without a node, and victims, each in the order it happened.
	Settled = crank.Result
	// Binding is a pod that got a node.
	Binding = crank.Binding
	// Unschedulable is a pod no node can take now, with the scheduler's message.
	Unschedulable = crank.Unschedulable
	// Victim is a pod preempted in favour of another, and terminating.
	Victim = crank.Victim
)

// ErrEvictionRefused is what errors.Is finds in the error of an eviction that a PodDisruptionBudget refuses.
var ErrEvictionRefused = plane.ErrEvictionRefused

// EvictionRefusedError says which budgets refused.
type EvictionRefusedError = plane.EvictionRefusedError
