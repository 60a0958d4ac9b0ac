package crank

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// interest is a scheduling queue that passes by, at an event, the pods it cannot concern. Upstream looks at every waiting pod
// twice for each pod that is bound: it puts together who refused the pod and asks which of those registered for the event. Most
// pods wait for room, and no plugin that refused them registered for another pod's arrival. Who refused a pod is known when it
// fails, and who registered for an event never changes; so the answer is known before the question, and it is the same.
type interest struct {
	internalqueue.SchedulingQueue
	// registered are the events each plugin registered for.
	registered map[string][]fwk.ClusterEvent
	// waiting are the pods that failed. byPod has the same by object, which is quicker to find; it may have more.
	waiting map[types.UID]*refusal
	byPod   map[*corev1.Pod]*refusal
	// of is the plugins that registered for an event.
	of map[fwk.ClusterEvent]plugins
	// bits are the plugins by name.
	bits map[string]plugins
}

// plugins are a set of plugins: a bit each, and one for all for which there is none left.
type plugins uint64

const otherPlugins plugins = 1 << 63

// refusal is who refused a pod at its last try: by, those it is pending for among them.
type refusal struct {
	by plugins
	// over: the pod waits no more.
	over bool
}

func newInterest(ctx context.Context, q internalqueue.SchedulingQueue, extensions []fwk.EnqueueExtensions) (*interest, error) {
	i := &interest{SchedulingQueue: q, registered: map[string][]fwk.ClusterEvent{}, waiting: map[types.UID]*refusal{}, byPod: map[*corev1.Pod]*refusal{}, of: map[fwk.ClusterEvent]plugins{}, bits: map[string]plugins{}}
	for _, p := range extensions {
		events, err := p.EventsToRegister(ctx)
		if err != nil {
			return nil, fmt.Errorf("events of plugin %s: %w", p.Name(), err)
		}
		for _, e := range events {
			i.registered[p.Name()] = append(i.registered[p.Name()], e.Event)
			if e.Event.Resource == fwk.Node && e.Event.ActionType&fwk.Add != 0 {
				// Upstream registers it for taints then as well (buildQueueingHintMap).
				i.registered[p.Name()] = append(i.registered[p.Name()], fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeTaint})
			}
		}
	}
	return i, nil
}

// failed notes who refused a pod, once the queue has it back.
func (i *interest) failed(info *framework.QueuedPodInfo) {
	r := i.waiting[info.Pod.UID]
	if r == nil {
		r = &refusal{}
		i.waiting[info.Pod.UID] = r
	}
	r.by = 0
	for name := range info.UnschedulablePlugins {
		r.by |= i.bit(name)
	}
	for name := range info.PendingPlugins {
		r.by |= i.bit(name)
	}
}

// bit is the plugin of a name.
func (i *interest) bit(name string) plugins {
	b, known := i.bits[name]
	if !known {
		if b = 1 << len(i.bits); len(i.bits) >= 63 {
			b = otherPlugins
		}
		i.bits[name] = b
	}
	return b
}

// placed forgets a pod that waits no more.
func (i *interest) placed(uid types.UID) {
	if r := i.waiting[uid]; r != nil {
		r.over = true
		delete(i.waiting, uid)
	}
	if len(i.byPod) > 2*len(i.waiting)+1000 {
		clear(i.byPod)
	}
}

// refused is who refused a pod, nil when it is not known to wait.
func (i *interest) refused(pod *corev1.Pod) *refusal {
	r := i.byPod[pod]
	if r == nil {
		if r = i.waiting[pod.UID]; r == nil {
			return nil
		}
		i.byPod[pod] = r
	}
	if r.over {
		return nil
	}
	return r
}

// MoveAllToActiveOrBackoffQueue leaves out the pods upstream would come to skip.
func (i *interest) MoveAllToActiveOrBackoffQueue(logger klog.Logger, event fwk.ClusterEvent, oldObj, newObj interface{}, preCheck internalqueue.PreEnqueueCheck) {
	if framework.ClusterEventIsWildCard(event) {
		i.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logger, event, oldObj, newObj, preCheck)
		return
	}
	interested := i.interestedIn(event)
	i.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logger, event, oldObj, newObj, func(pod *corev1.Pod) bool {
		// A pod that nobody refused is worth another try to upstream, and one that never failed is gated.
		if r := i.refused(pod); r != nil && r.by != 0 && r.by&interested == 0 {
			return false
		}
		return preCheck == nil || preCheck(pod)
	})
}

// interestedIn are the plugins that registered for an event.
func (i *interest) interestedIn(event fwk.ClusterEvent) plugins {
	of, known := i.of[event]
	if known {
		return of
	}
	for name, events := range i.registered {
		for _, e := range events {
			if framework.MatchClusterEvents(e, event) {
				of |= i.bit(name)
				break
			}
		}
	}
	i.of[event] = of
	return of
}
