package stored

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// The two APIs an event is read from. They show the same stored objects under other field names.
const (
	apiCore   = "v1"
	apiEvents = "events.k8s.io/v1"
)

// Event is an event of either API, as rows hold it.
type Event struct {
	API, Namespace, Name      string
	UID                       types.UID
	Kind, Reason, Action      string
	Component, Instance       string
	Created, EventTime, First time.Time
	Regarding                 corev1.ObjectReference
	Related                   *corev1.ObjectReference
	Seen                      Occurrence
}

// Occurrence is what changes when an event repeats.
type Occurrence struct {
	Count, Series    int32
	Last, SeriesTime time.Time
	Message          string
}

// EventOf takes an event of either API apart; false for another object.
func EventOf(o scalehist.Object) (Event, bool) {
	switch o := o.(type) {
	case *corev1.Event:
		return fromCore(o), true
	case *eventsv1.Event:
		return fromEvents(o), true
	}
	return Event{}, false
}

func fromCore(e *corev1.Event) Event {
	r := Event{API: apiCore, Namespace: e.Namespace, Name: e.Name, UID: e.UID, Kind: e.Type, Reason: e.Reason, Action: e.Action,
		Component: e.Source.Component, Instance: e.Source.Host, Created: utc(e.CreationTimestamp.Time), EventTime: utcMicro(e.EventTime.Time),
		First: utc(e.FirstTimestamp.Time), Regarding: e.InvolvedObject, Related: e.Related,
		Seen: Occurrence{Count: e.Count, Last: utc(e.LastTimestamp.Time), Message: e.Message}}
	if r.Component == "" {
		r.Component, r.Instance = e.ReportingController, e.ReportingInstance
	}
	if e.Series != nil {
		r.Seen.Series, r.Seen.SeriesTime = e.Series.Count, utcMicro(e.Series.LastObservedTime.Time)
	}
	return r
}

func fromEvents(e *eventsv1.Event) Event {
	r := Event{API: apiEvents, Namespace: e.Namespace, Name: e.Name, UID: e.UID, Kind: e.Type, Reason: e.Reason, Action: e.Action,
		Component: e.ReportingController, Instance: e.ReportingInstance, Created: utc(e.CreationTimestamp.Time), EventTime: utcMicro(e.EventTime.Time),
		First: utc(e.DeprecatedFirstTimestamp.Time), Regarding: e.Regarding, Related: e.Related,
		Seen: Occurrence{Count: e.DeprecatedCount, Last: utc(e.DeprecatedLastTimestamp.Time), Message: e.Note}}
	if r.Component == "" {
		r.Component, r.Instance = e.DeprecatedSource.Component, e.DeprecatedSource.Host
	}
	if e.Series != nil {
		r.Seen.Series, r.Seen.SeriesTime = e.Series.Count, utcMicro(e.Series.LastObservedTime.Time)
	}
	return r
}

// utc and utcMicro cut to the precision the APIs keep, so that an event read back from JSON is the same.
func utc(t time.Time) time.Time { return cut(t, time.Second) }

func utcMicro(t time.Time) time.Time { return cut(t, time.Microsecond) }

func cut(t time.Time, unit time.Duration) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(unit)
}

// Object is the inverse of EventOf.
func (r *Event) Object() scalehist.Object {
	meta := metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name, UID: r.UID}
	if !r.Created.IsZero() {
		meta.CreationTimestamp = metav1.NewTime(r.Created)
	}
	if r.API == apiEvents {
		e := &eventsv1.Event{ObjectMeta: meta, Type: r.Kind, Reason: r.Reason, Action: r.Action, ReportingController: r.Component,
			ReportingInstance: r.Instance, EventTime: metav1.NewMicroTime(r.EventTime), DeprecatedFirstTimestamp: metav1.NewTime(r.First),
			DeprecatedLastTimestamp: metav1.NewTime(r.Seen.Last), DeprecatedCount: r.Seen.Count, Note: r.Seen.Message,
			Regarding: r.Regarding, Related: r.Related}
		e.SetGroupVersionKind(eventsv1.SchemeGroupVersion.WithKind("Event"))
		if r.Seen.Series != 0 {
			e.Series = &eventsv1.EventSeries{Count: r.Seen.Series, LastObservedTime: metav1.NewMicroTime(r.Seen.SeriesTime)}
		}
		return e
	}
	e := &corev1.Event{ObjectMeta: meta, Type: r.Kind, Reason: r.Reason, Action: r.Action,
		Source: corev1.EventSource{Component: r.Component, Host: r.Instance}, EventTime: metav1.NewMicroTime(r.EventTime),
		FirstTimestamp: metav1.NewTime(r.First), LastTimestamp: metav1.NewTime(r.Seen.Last), Count: r.Seen.Count, Message: r.Seen.Message,
		InvolvedObject: r.Regarding, Related: r.Related}
	e.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Event"))
	if r.Seen.Series != 0 {
		e.Series = &corev1.EventSeries{Count: r.Seen.Series, LastObservedTime: metav1.NewMicroTime(r.Seen.SeriesTime)}
	}
	return e
}
