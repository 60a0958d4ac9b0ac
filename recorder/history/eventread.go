package history

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

const eventColumns = `e.uid, e.api, e.namespace, e.name, e.type, e.reason, e.action, e.component, e.instance, e.created_at, e.event_ns,
	e.first_ns, e.regarding_kind, e.regarding_ns, e.regarding_name, e.regarding_uid, e.regarding_more, e.related,
	s.count, s.last_ns, s.series, s.series_ns,
	coalesce(s.message, (SELECT message FROM event_seen WHERE event_id = s.event_id ORDER BY at, seq LIMIT 1))`

// eventRow is one sighting of an event.
type eventRow struct {
	position
	first  bool
	id     int64
	record stored.Event
}

func scanEvent(rows *sql.Rows, extra ...any) (stored.Event, error) {
	var r stored.Event
	var uid, regardingUID any
	var created, eventTime, first, count, last, series, seriesTime sql.NullInt64
	var more, related sql.NullString
	to := append([]any{&uid, &r.API, &r.Namespace, &r.Name, &r.Kind, &r.Reason, &r.Action, &r.Component, &r.Instance, &created, &eventTime,
		&first, &r.Regarding.Kind, &r.Regarding.Namespace, &r.Regarding.Name, &regardingUID, &more, &related,
		&count, &last, &series, &seriesTime, &r.Seen.Message}, extra...)
	if err := rows.Scan(to...); err != nil {
		return r, err
	}
	r.UID, r.Regarding.UID = stored.UIDFrom(uid), stored.UIDFrom(regardingUID)
	r.Created, r.EventTime, r.First = nullTime(created), nullTime(eventTime), nullTime(first)
	r.Seen.Count, r.Seen.Series = int32(count.Int64), int32(series.Int64)
	r.Seen.Last, r.Seen.SeriesTime = nullTime(last), nullTime(seriesTime)
	if more.Valid {
		if err := readJSON(more.String, &r.Regarding); err != nil {
			return r, fmt.Errorf("event %s/%s: regarding: %w", r.Namespace, r.Name, err)
		}
	}
	if related.Valid {
		r.Related = &corev1.ObjectReference{}
		if err := readJSON(related.String, r.Related); err != nil {
			return r, fmt.Errorf("event %s/%s: related: %w", r.Namespace, r.Name, err)
		}
	}
	return r, nil
}

const eventsQuery = `SELECT ` + eventColumns + `, s.at, s.seq, s.event_id,
	NOT EXISTS (SELECT 1 FROM event_seen p WHERE p.event_id = s.event_id AND (p.at, p.seq) < (s.at, s.seq))
	FROM event_seen s JOIN event e ON e.id = s.event_id
	WHERE (s.at, s.seq) > (?, ?) AND s.at <= ? ORDER BY s.at, s.seq LIMIT ?`

// eventPager streams every sighting in recorded order.
func eventPager(ctx context.Context, q queryer, after position, to int64) *pager[eventRow] {
	return &pager[eventRow]{last: eventRow{position: after}, fetch: func(after eventRow) ([]eventRow, error) {
		return readRows(ctx, q, func(rows *sql.Rows) (r eventRow, err error) {
			r.record, err = scanEvent(rows, &r.at, &r.seq, &r.id, &r.first)
			return r, err
		}, eventsQuery, after.at, after.seq, to, pageSize)
	}}
}

// Events are the events seen in the filter's window, one entry for an event however often it repeated, in the order
// they were first seen there.
func (db *DB) Events(ctx context.Context, f EventFilter) ([]Event, error) {
	var out []Event
	err := db.read(ctx, "events", func(q queryer) error {
		after, end, err := window(f.From, f.To)
		if err != nil {
			return err
		}
		if after, err = sinceBase(ctx, q, after); err != nil {
			return err
		}
		var reasons []any
		where := ""
		if len(f.Reasons) > 0 {
			where = ` AND e.reason IN (?` + strings.Repeat(`, ?`, len(f.Reasons)-1) + `)`
			for _, r := range slices.Sorted(slices.Values(f.Reasons)) {
				reasons = append(reasons, r)
			}
		}
		rows, err := q.QueryContext(ctx, `SELECT `+eventColumns+`, s.at, s.event_id FROM event_seen s JOIN event e ON e.id = s.event_id
			WHERE s.at > ? AND s.at <= ?`+where+` ORDER BY s.at, s.seq`, append([]any{after.at, end}, reasons...)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		byID := map[int64]int{}
		for rows.Next() {
			var at, id int64
			r, err := scanEvent(rows, &at, &id)
			if err != nil {
				return err
			}
			if i, ok := byID[id]; ok {
				out[i].see(stored.FromNS(at), r.Seen)
				continue
			}
			byID[id] = len(out)
			out = append(out, eventOf(&r, stored.FromNS(at)))
		}
		return rows.Err()
	})
	return out, err
}

// eventOf is an event from its first occurrence seen.
func eventOf(r *stored.Event, observed time.Time) Event {
	e := Event{ObservedAt: observed, LastObservedAt: observed, At: r.EventTime, Count: 1, UID: r.UID, Namespace: r.Namespace, Name: r.Name,
		Type: r.Kind, Reason: r.Reason, Action: r.Action, Component: r.Component, Regarding: r.Regarding, Related: r.Related}
	if e.At.IsZero() {
		e.At = r.First
	}
	if e.At.IsZero() {
		e.At = r.Created
	}
	if e.At.IsZero() {
		e.At = observed
	}
	e.LastAt = e.At
	e.see(observed, r.Seen)
	return e
}

// see takes in a repetition.
func (e *Event) see(observed time.Time, s stored.Occurrence) {
	e.LastObservedAt, e.Message = observed, s.Message
	e.Count = max(e.Count, s.Count, s.Series)
	for _, t := range []time.Time{s.Last, s.SeriesTime} {
		if t.After(e.LastAt) {
			e.LastAt = t
		}
	}
}

// span of a stretch clipped to a window, for recordings and gaps.
func clip(from, to, wFrom, wTo time.Time) (time.Time, time.Time) {
	if !wFrom.IsZero() && from.Before(wFrom) {
		from = wFrom
	}
	if !wTo.IsZero() && to.After(wTo) {
		to = wTo
	}
	return from, to
}
