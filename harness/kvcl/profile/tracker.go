package profile

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// tracker informs the control plane when a binding cycle opens and when it has ended well, and holds the pods that
// failed because there was no node at all: any node that joins brings them back.
type tracker struct {
	reserved func(pod *corev1.Pod)
	bound    func(pod *corev1.Pod, node string)
}

var (
	_ fwk.ReservePlugin     = (*tracker)(nil)
	_ fwk.PostBindPlugin    = (*tracker)(nil)
	_ fwk.EnqueueExtensions = (*tracker)(nil)
)

func (*tracker) Name() string { return Tracker }

func (t *tracker) Reserve(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, _ string) *fwk.Status {
	t.reserved(pod)
	return nil
}

func (*tracker) Unreserve(context.Context, fwk.CycleState, *corev1.Pod, string) {}

func (t *tracker) PostBind(_ context.Context, _ fwk.CycleState, pod *corev1.Pod, node string) {
	t.bound(pod, node)
}

func (*tracker) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}}}, nil
}
