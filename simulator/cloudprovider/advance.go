package cloudprovider

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// EventType says what became true.
type EventType string

// The types of events.
const (
	// NodeJoined: the instance runs and its node is there, Ready. Event.Node is the whole object.
	NodeJoined EventType = "NodeJoined"
	// NodeGone: a deleted instance and its node are gone.
	NodeGone EventType = "NodeGone"
	// InstanceFailed: a creating instance has an error and will not join.
	InstanceFailed EventType = "InstanceFailed"
)

// Event is something that happened by itself.
type Event struct {
	At    time.Time
	Type  EventType
	Group string
	// NodeName is the node's name, Node the complete object of a join.
	NodeName string
	Node     *corev1.Node
	Message  string
}

// due is the instant and kind of the next thing that happens to an instance.
func (i *instance) due() (time.Time, EventType, bool) {
	switch {
	case i.State == InstanceDeleting && !i.goneAt.IsZero():
		return i.goneAt, NodeGone, true
	case i.State == InstanceCreating && !i.failAt.IsZero() && i.Error == nil:
		return i.failAt, InstanceFailed, true
	case i.State == InstanceCreating && !i.joinAt.IsZero():
		return i.joinAt, NodeJoined, true
	}
	return time.Time{}, "", false
}

// Next is the instant of the next thing to happen; false when nothing will happen by itself.
func (p *Provider) Next() (time.Time, bool) {
	var next time.Time
	found := false
	for _, i := range p.instances {
		if at, _, ok := i.due(); ok && (!found || at.Before(next)) {
			next, found = at, true
		}
	}
	return next, found
}

// Advance makes everything happen that is due by now and returns it in the order of time, then node name.
func (p *Provider) Advance(now time.Time) []Event {
	var events []Event
	for _, i := range p.instances {
		at, kind, ok := i.due()
		if !ok || at.After(now) {
			continue
		}
		events = append(events, Event{At: at, Type: kind, Group: i.group, NodeName: i.NodeName})
	}
	slices.SortFunc(events, func(a, b Event) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.NodeName, b.NodeName)) })
	for n := range events {
		e := &events[n]
		i := p.instances[e.NodeName]
		switch e.Type {
		case NodeJoined:
			i.State = InstanceRunning
			e.Node = p.node(i, e.At)
		case InstanceFailed:
			i.Error = i.failure
			e.Message = i.failure.Message
		case NodeGone:
			p.drop(i)
		}
	}
	return events
}

// node builds the Node object of an instance that joins at an instant.
func (p *Provider) node(i *instance, at time.Time) *corev1.Node {
	n := &corev1.Node{}
	if t := p.groups[i.group].Template; t != nil {
		n.Labels = maps.Clone(t.Labels)
		n.Annotations = maps.Clone(t.Annotations)
		t.Spec.DeepCopyInto(&n.Spec)
		t.Status.DeepCopyInto(&n.Status)
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Name = i.NodeName
	n.UID = types.UID("node/" + i.NodeName)
	n.CreationTimestamp = metav1.NewTime(at)
	n.Labels[corev1.LabelHostname] = i.NodeName
	n.Annotations[v1alpha1.NodeGroupAnnotation] = i.group
	n.Spec.ProviderID = i.ID
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	kept := n.Status.Conditions[:0]
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady {
			kept = append(kept, c)
		}
	}
	n.Status.Conditions = append(kept, corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.NewTime(at), LastTransitionTime: metav1.NewTime(at),
	})
	return n
}
