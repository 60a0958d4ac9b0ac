package history

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// event writes an event, or its repetition. Deletions are the API server's housekeeping and bear on nothing.
func (t *txWriter) event(observed time.Time, op scalehist.Op, r stored.Event) error {
	if op == scalehist.OpDelete {
		return nil
	}
	w := t.w
	at, err := t.observe(observed)
	if err != nil {
		return fmt.Errorf("event %s/%s: %w", r.Namespace, r.Name, err)
	}
	if r.UID == "" {
		r.UID = types.UID("Event/" + r.Namespace + "/" + r.Name)
	}
	var id int64
	message := any(r.Seen.Message)
	switch err := t.row(w.stmts.findEvent, stored.UIDColumn(r.UID)).Scan(&id); {
	case err == nil:
		news, sameMessage, err := t.isNews(id, r.Seen)
		if err != nil {
			return fmt.Errorf("event %s/%s: %w", r.Namespace, r.Name, err)
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
			return fmt.Errorf("event %s/%s: %w", r.Namespace, r.Name, err)
		}
	default:
		return fmt.Errorf("event %s/%s: %w", r.Namespace, r.Name, err)
	}
	if _, err := t.exec(w.stmts.insertSeen, at, w.nextSeq(), id, orNull(int64(r.Seen.Count)), stored.NS(r.Seen.Last),
		orNull(int64(r.Seen.Series)), stored.NS(r.Seen.SeriesTime), message); err != nil {
		return fmt.Errorf("event %s/%s: %w", r.Namespace, r.Name, err)
	}
	w.counts.Events++
	return nil
}

// isNews compares with what was seen last. The message is stored again only when it is not the first one.
func (t *txWriter) isNews(id int64, now stored.Occurrence) (news, sameMessage bool, err error) {
	var count, last, series, seriesTime sql.NullInt64
	var message string
	if err := t.row(t.w.stmts.lastSeen, id).Scan(&count, &last, &series, &seriesTime, &message); err != nil {
		return false, false, err
	}
	was := stored.Occurrence{Count: int32(count.Int64), Series: int32(series.Int64), Last: nullTime(last), SeriesTime: nullTime(seriesTime), Message: message}
	if was == now {
		return false, false, nil
	}
	var first string
	if err := t.tx.QueryRowContext(t.ctx, `SELECT message FROM event_seen WHERE event_id = ? ORDER BY at, seq LIMIT 1`, id).Scan(&first); err != nil {
		return false, false, err
	}
	return true, first == now.Message, nil
}

func (t *txWriter) insertEvent(r *stored.Event) (int64, error) {
	more, err := referenceJSON(&corev1.ObjectReference{APIVersion: r.Regarding.APIVersion, FieldPath: r.Regarding.FieldPath})
	if err != nil {
		return 0, err
	}
	related, err := referenceJSON(r.Related)
	if err != nil {
		return 0, err
	}
	res, err := t.exec(t.w.stmts.insertEvent, stored.UIDColumn(r.UID), r.API, r.Namespace, r.Name, r.Kind, r.Reason, r.Action, r.Component, r.Instance,
		stored.NS(r.Created), stored.NS(r.EventTime), stored.NS(r.First), r.Regarding.Kind, r.Regarding.Namespace, r.Regarding.Name,
		stored.UIDColumn(r.Regarding.UID), more, related)
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
