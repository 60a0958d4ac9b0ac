package history

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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

// eventRecord is an event of either API, as rows hold it.
type eventRecord struct {
	api, namespace, name      string
	uid                       types.UID
	kind, reason, action      string
	component, instance       string
	created, eventTime, first time.Time
	regarding                 corev1.ObjectReference
	related                   *corev1.ObjectReference
	seen                      occurrence
}

// occurrence is what changes when an event repeats.
type occurrence struct {
	count, series    int32
	last, seriesTime time.Time
	message          string
}

func fromCore(e *corev1.Event) eventRecord {
	r := eventRecord{api: apiCore, namespace: e.Namespace, name: e.Name, uid: e.UID, kind: e.Type, reason: e.Reason, action: e.Action,
		component: e.Source.Component, instance: e.Source.Host, created: utc(e.CreationTimestamp.Time), eventTime: utcMicro(e.EventTime.Time),
		first: utc(e.FirstTimestamp.Time), regarding: e.InvolvedObject, related: e.Related,
		seen: occurrence{count: e.Count, last: utc(e.LastTimestamp.Time), message: e.Message}}
	if r.component == "" {
		r.component, r.instance = e.ReportingController, e.ReportingInstance
	}
	if e.Series != nil {
		r.seen.series, r.seen.seriesTime = e.Series.Count, utcMicro(e.Series.LastObservedTime.Time)
	}
	return r
}

func fromEvents(e *eventsv1.Event) eventRecord {
	r := eventRecord{api: apiEvents, namespace: e.Namespace, name: e.Name, uid: e.UID, kind: e.Type, reason: e.Reason, action: e.Action,
		component: e.ReportingController, instance: e.ReportingInstance, created: utc(e.CreationTimestamp.Time), eventTime: utcMicro(e.EventTime.Time),
		first: utc(e.DeprecatedFirstTimestamp.Time), regarding: e.Regarding, related: e.Related,
		seen: occurrence{count: e.DeprecatedCount, last: utc(e.DeprecatedLastTimestamp.Time), message: e.Note}}
	if r.component == "" {
		r.component, r.instance = e.DeprecatedSource.Component, e.DeprecatedSource.Host
	}
	if e.Series != nil {
		r.seen.series, r.seen.seriesTime = e.Series.Count, utcMicro(e.Series.LastObservedTime.Time)
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

// object is the inverse of fromCore and fromEvents.
func (r *eventRecord) object() scalehist.Object {
	meta := metav1.ObjectMeta{Namespace: r.namespace, Name: r.name, UID: r.uid}
	if !r.created.IsZero() {
		meta.CreationTimestamp = metav1.NewTime(r.created)
	}
	if r.api == apiEvents {
		e := &eventsv1.Event{ObjectMeta: meta, Type: r.kind, Reason: r.reason, Action: r.action, ReportingController: r.component,
			ReportingInstance: r.instance, EventTime: metav1.NewMicroTime(r.eventTime), DeprecatedFirstTimestamp: metav1.NewTime(r.first),
			DeprecatedLastTimestamp: metav1.NewTime(r.seen.last), DeprecatedCount: r.seen.count, Note: r.seen.message,
			Regarding: r.regarding, Related: r.related}
		e.SetGroupVersionKind(eventsv1.SchemeGroupVersion.WithKind("Event"))
		if r.seen.series != 0 {
			e.Series = &eventsv1.EventSeries{Count: r.seen.series, LastObservedTime: metav1.NewMicroTime(r.seen.seriesTime)}
		}
		return e
	}
	e := &corev1.Event{ObjectMeta: meta, Type: r.kind, Reason: r.reason, Action: r.action,
		Source: corev1.EventSource{Component: r.component, Host: r.instance}, EventTime: metav1.NewMicroTime(r.eventTime),
		FirstTimestamp: metav1.NewTime(r.first), LastTimestamp: metav1.NewTime(r.seen.last), Count: r.seen.count, Message: r.seen.message,
		InvolvedObject: r.regarding, Related: r.related}
	e.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Event"))
	if r.seen.series != 0 {
		e.Series = &corev1.EventSeries{Count: r.seen.series, LastObservedTime: metav1.NewMicroTime(r.seen.seriesTime)}
	}
	return e
}

// info is the event as DB.Events gives it, from its first occurrence seen.
func (r *eventRecord) info(observed time.Time) Event {
	e := Event{ObservedAt: observed, LastObservedAt: observed, At: r.eventTime, Count: 1, UID: r.uid, Namespace: r.namespace, Name: r.name,
		Type: r.kind, Reason: r.reason, Action: r.action, Component: r.component, Regarding: r.regarding, Related: r.related}
	if e.At.IsZero() {
		e.At = r.first
	}
	if e.At.IsZero() {
		e.At = r.created
	}
	if e.At.IsZero() {
		e.At = observed
	}
	e.LastAt = e.At
	e.see(observed, r.seen)
	return e
}

// see takes in a repetition.
func (e *Event) see(observed time.Time, s occurrence) {
	e.LastObservedAt, e.Message = observed, s.message
	e.Count = max(e.Count, s.count, s.series)
	for _, t := range []time.Time{s.last, s.seriesTime} {
		if t.After(e.LastAt) {
			e.LastAt = t
		}
	}
}

// event writes an event, or its repetition. Deletions are the API server's housekeeping and bear on nothing.
func (t *txWriter) event(observed time.Time, op scalehist.Op, r eventRecord) error {
	if op == scalehist.OpDelete {
		return nil
	}
	w := t.w
	at, err := t.observe(observed)
	if err != nil {
		return fmt.Errorf("event %s/%s: %w", r.namespace, r.name, err)
	}
	if r.uid == "" {
		r.uid = types.UID("Event/" + r.namespace + "/" + r.name)
	}
	var id int64
	message := any(r.seen.message)
	switch err := t.row(w.stmts.findEvent, uidColumn(r.uid)).Scan(&id); {
	case err == nil:
		news, sameMessage, err := t.isNews(id, r.seen)
		if err != nil {
			return fmt.Errorf("event %s/%s: %w", r.namespace, r.name, err)
		}
		if !news {
			w.counts.Unchanged++
			return nil
		}
		if sameMessage {
			message = nil
		}
	case errors.Is(err, sql.ErrNoRows):
		if id, err = t.insertEvent(&r); err != nil {
			return fmt.Errorf("event %s/%s: %w", r.namespace, r.name, err)
		}
	default:
		return fmt.Errorf("event %s/%s: %w", r.namespace, r.name, err)
	}
	if _, err := t.exec(w.stmts.insertSeen, at, w.nextSeq(), id, orNull(int64(r.seen.count)), toNS(r.seen.last),
		orNull(int64(r.seen.series)), toNS(r.seen.seriesTime), message); err != nil {
		return fmt.Errorf("event %s/%s: %w", r.namespace, r.name, err)
	}
	w.counts.Events++
	return nil
}

// isNews compares with what was seen last. The message is stored again only when it is not the first one.
func (t *txWriter) isNews(id int64, now occurrence) (news, sameMessage bool, err error) {
	var count, last, series, seriesTime sql.NullInt64
	var message string
	if err := t.row(t.w.stmts.lastSeen, id).Scan(&count, &last, &series, &seriesTime, &message); err != nil {
		return false, false, err
	}
	was := occurrence{count: int32(count.Int64), series: int32(series.Int64), last: nullTime(last), seriesTime: nullTime(seriesTime), message: message}
	if was == now {
		return false, false, nil
	}
	var first string
	if err := t.tx.QueryRowContext(t.ctx, `SELECT message FROM event_seen WHERE event_id = ? ORDER BY at, seq LIMIT 1`, id).Scan(&first); err != nil {
		return false, false, err
	}
	return true, first == now.message, nil
}

func (t *txWriter) insertEvent(r *eventRecord) (int64, error) {
	more, err := referenceJSON(&corev1.ObjectReference{APIVersion: r.regarding.APIVersion, FieldPath: r.regarding.FieldPath})
	if err != nil {
		return 0, err
	}
	related, err := referenceJSON(r.related)
	if err != nil {
		return 0, err
	}
	res, err := t.exec(t.w.stmts.insertEvent, uidColumn(r.uid), r.api, r.namespace, r.name, r.kind, r.reason, r.action, r.component, r.instance,
		toNS(r.created), toNS(r.eventTime), toNS(r.first), r.regarding.Kind, r.regarding.Namespace, r.regarding.Name,
		uidColumn(r.regarding.UID), more, related)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

func referenceJSON(r *corev1.ObjectReference) (any, error) {
	if r == nil {
		return nil, nil
	}
	kept := *r
	kept.ResourceVersion = ""
	if kept == (corev1.ObjectReference{}) {
		return nil, nil
	}
	b, err := json.Marshal(kept)
	return string(b), err
}

func nullTime(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return fromNS(v.Int64)
}
