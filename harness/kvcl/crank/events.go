package crank

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/reference"
	"k8s.io/klog/v2"
)

// recorder is the scheduler's event recorder. It drops events unless the control plane wants them: an event costs a
// write per pod.
type recorder struct {
	c    *Crank
	emit bool
}

var _ events.EventRecorderLogger = (*recorder)(nil)

func (r *recorder) WithLogger(klog.Logger) events.EventRecorderLogger { return r }

// Eventf remembers an event at virtual time, named by a counter.
func (r *recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	if !r.emit {
		return
	}
	ref, err := reference.GetReference(scheme.Scheme, regarding)
	if err != nil {
		return
	}
	namespace := ref.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	r.c.events++
	e := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%x", ref.Name, r.c.events)},
		EventTime:           metav1.NewMicroTime(r.c.clock.Now()),
		ReportingController: corev1.DefaultSchedulerName,
		ReportingInstance:   corev1.DefaultSchedulerName + "-kvcl",
		Action:              action,
		Reason:              reason,
		Regarding:           *ref,
		Note:                fmt.Sprintf(note, args...),
		Type:                eventType,
	}
	if len(args) == 0 {
		// The scheduler passes whole messages as the format, and they may hold a percent sign.
		e.Note = note
	}
	if related != nil {
		if acc, err := meta.Accessor(related); err == nil {
			e.Related = &corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: acc.GetNamespace(), Name: acc.GetName(), UID: acc.GetUID()}
		}
	}
	r.c.remember(Write{Kind: WriteEvent, Event: e})
}
