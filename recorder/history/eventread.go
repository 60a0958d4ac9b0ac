package history

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	record eventRecord
}

func scanEvent(rows *sql.Rows, extra ...any) (eventRecord, error) {
	var r eventRecord
	var uid, regardingUID any
	var created, eventTime, first, count, last, series, seriesTime sql.NullInt64
	var more, related sql.NullString
	to := append([]any{&uid, &r.api, &r.namespace, &r.name, &r.kind, &r.reason, &r.action, &r.component, &r.instance, &created, &eventTime,
		&first, &r.regarding.Kind, &r.regarding.Namespace, &r.regarding.Name, &regardingUID, &more, &related,
		&count, &last, &series, &seriesTime, &r.seen.message}, extra...)
	if err := rows.Scan(to...); err != nil {
		return r, err
	}
	r.uid, r.regarding.UID = uidFrom(uid), uidFrom(regardingUID)
	r.created, r.eventTime, r.first = nullTime(created), nullTime(eventTime), nullTime(first)
	r.seen.count, r.seen.series = int32(count.Int64), int32(series.Int64)
	r.seen.last, r.seen.seriesTime = nullTime(last), nullTime(seriesTime)
	if more.Valid {
		if err := readJSON(more.String, &r.regarding); err != nil {
			return r, fmt.Errorf("event %s/%s: regarding: %w", r.namespace, r.name, err)
		}
	}
	if related.Valid {
		r.related = &corev1.ObjectReference{}
		if err := readJSON(related.String, r.related); err != nil {
			return r, fmt.Errorf("event %s/%s: related: %w", r.namespace, r.name, err)
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
		rows, err := q.QueryContext(ctx, eventsQuery, after.at, after.seq, to, pageSize)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var out []eventRow
		for rows.Next() {
			var r eventRow
			if r.record, err = scanEvent(rows, &r.at, &r.seq, &r.id, &r.first); err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		return out, rows.Err()
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
				out[i].see(fromNS(at), r.seen)
				continue
			}
			byID[id] = len(out)
			out = append(out, r.info(fromNS(at)))
		}
		return rows.Err()
	})
	return out, err
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
