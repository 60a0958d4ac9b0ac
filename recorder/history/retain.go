package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// RetainReport says what a history forgot.
type RetainReport struct {
	// From is where the history begins now.
	From time.Time `json:"from"`
	// Rows of each kind that were forgotten.
	Versions int64 `json:"versions"`
	Objects  int64 `json:"objects"`
	Events   int64 `json:"events"`
	Usages   int64 `json:"usages"`
	Samples  int64 `json:"samples"`
	Contents int64 `json:"contents"`
}

// retainChunk is how many rows one transaction of Retain looks at: a watch that waits for the writer waits no longer. Tests lower it.
var retainChunk = 5000

// Retain forgets what ended before an instant. The history begins there from now on: for every instant from then on
// SnapshotAt, Changes and Events read what they read before, and what lives then is read as having come at that
// instant. It works in small transactions, the first of which moves the beginning: if it is stopped, the rest of the
// room is given back by the next call. Room that is given back is used again by what is written next; Compact makes the file smaller.
// An instant before the beginning changes nothing, one after the end counts as the end.
func (w *Writer) Retain(ctx context.Context, olderThan time.Time) (RetainReport, error) {
	var report RetainReport
	err := w.retain(ctx, olderThan, &report)
	if err != nil {
		return report, fmt.Errorf("history %s: retain: %w", w.path, err)
	}
	return report, nil
}

func (w *Writer) retain(ctx context.Context, olderThan time.Time, report *RetainReport) error {
	cut, err := stored.Instant(olderThan)
	if err != nil {
		return err
	}
	var from, to sql.NullInt64
	if err := w.db.QueryRowContext(ctx, spanQuery).Scan(&from, &to); err != nil {
		return err
	}
	first := from.Int64
	cut = min(cut, max(w.last, to.Int64))
	b, err := readBase(ctx, w.db)
	if err != nil {
		return err
	}
	if cut > max(first, b.at) {
		if b, err = w.moveBase(ctx, cut); err != nil {
			return err
		}
	}
	if report.From = stored.FromNS(max(first, b.at)); b.at < 0 {
		return nil
	}
	report.From = stored.FromNS(b.at)
	if err := w.forgetVersions(ctx, b, report); err != nil {
		return err
	}
	if err := w.forgetEvents(ctx, b, report); err != nil {
		return err
	}
	for _, f := range []struct {
		n     *int64
		query string
	}{
		{&report.Usages, `DELETE FROM usage WHERE (at, namespace, pod, container) IN (SELECT at, namespace, pod, container FROM usage WHERE at <= ? LIMIT ?)`},
		{&report.Samples, `DELETE FROM sample WHERE (at, series_id) IN (SELECT at, series_id FROM sample WHERE at <= ? LIMIT ?)`},
	} {
		if *f.n, err = w.deleteAll(ctx, f.query, b.at, retainChunk); err != nil {
			return err
		}
	}
	if report.Versions+report.Events == 0 {
		return nil
	}
	report.Contents, err = w.sweep(ctx)
	return err
}

// moveBase makes the instant cut the beginning: the keyframe there, and the marks clipped to what is left.
func (w *Writer) moveBase(ctx context.Context, cut int64) (base, error) {
	live, err := liveAt(ctx, w.db, cut)
	if err != nil {
		return base{}, err
	}
	rows, err := fetch(ctx, w.db, &live)
	if err != nil {
		return base{}, err
	}
	seqs := make([]int64, 0, len(rows))
	for _, v := range rows {
		seqs = append(seqs, v.seq)
	}
	slices.Sort(seqs)
	b := base{seq: live.upTo, at: cut}
	err = w.inTx(ctx, func(tx *sql.Tx) error {
		for _, s := range []struct {
			query string
			args  []any
		}{
			{`DELETE FROM keyframe WHERE seq <= ?`, []any{b.seq}},
			{`INSERT INTO keyframe(seq, at, live) VALUES (?, ?, ?)`, []any{b.seq, b.at, encodeSeqs(seqs)}},
			{`INSERT INTO base(id, seq, at) VALUES (1, ?1, ?2) ON CONFLICT (id) DO UPDATE SET seq = ?1, at = ?2`, []any{b.seq, b.at}},
			{`DELETE FROM recording WHERE to_ns < ?`, []any{cut}},
			{`UPDATE recording SET from_ns = ?1, alive_ns = max(alive_ns, ?1) WHERE from_ns < ?1`, []any{cut}},
			{`DELETE FROM gap WHERE to_ns < ?`, []any{cut}},
			{`UPDATE gap SET from_ns = ?1 WHERE from_ns < ?1`, []any{cut}},
		} {
			if _, err := tx.ExecContext(ctx, s.query, s.args...); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil { // nothing may be written before the beginning
		w.last = max(w.last, cut)
	}
	return b, err
}

// forgetVersions deletes, oldest first, what the base does not need: an end goes after the versions it ends, so that
// what is still there never says that a gone object lives.
func (w *Writer) forgetVersions(ctx context.Context, b base, report *RetainReport) error {
	_, live, err := keyframeAt(ctx, w.db, b.at)
	if err != nil {
		return err
	}
	for from := int64(0); from < b.seq; {
		var to sql.NullInt64
		if err := w.db.QueryRowContext(ctx, `SELECT max(seq) FROM (SELECT seq FROM version WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?)`,
			from, b.seq, retainChunk).Scan(&to); err != nil {
			return err
		}
		if !to.Valid {
			return nil
		}
		n, _ := slices.BinarySearch(live, to.Int64+1)
		kept := seqsJSON(live[:n])
		live = live[n:]
		err := w.inTx(ctx, func(tx *sql.Tx) error {
			for _, d := range []struct {
				n     *int64
				query string
				args  []any
			}{
				{&report.Objects, `DELETE FROM object WHERE id IN (SELECT object_id FROM version WHERE seq > ? AND seq <= ? AND ends IS NOT NULL)`,
					[]any{from, to.Int64}},
				{&report.Versions, `DELETE FROM version WHERE seq > ? AND seq <= ? AND seq NOT IN (SELECT value FROM json_each(?))`,
					[]any{from, to.Int64, kept}},
			} {
				res, err := tx.ExecContext(ctx, d.query, d.args...)
				if err != nil {
					return err
				}
				n, err := res.RowsAffected()
				if err != nil {
					return err
				}
				*d.n += n
			}
			return nil
		})
		if err != nil {
			return err
		}
		from = to.Int64
	}
	return nil
}

// forgetEvents deletes old sightings. A sighting without a message has that of the first one, which may go: it is
// written out before.
func (w *Writer) forgetEvents(ctx context.Context, b base, report *RetainReport) error {
	for {
		n := int64(0)
		err := w.inTx(ctx, func(tx *sql.Tx) error {
			var at, seq sql.NullInt64
			if err := tx.QueryRowContext(ctx, `SELECT at, seq FROM (SELECT at, seq FROM event_seen WHERE at <= ? ORDER BY at, seq LIMIT ?) ORDER BY at DESC, seq DESC LIMIT 1`,
				b.at, retainChunk).Scan(&at, &seq); errors.Is(err, sql.ErrNoRows) {
				return nil
			} else if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `UPDATE event_seen SET message = (SELECT f.message FROM event_seen f WHERE f.event_id = event_seen.event_id ORDER BY f.at, f.seq LIMIT 1)
				WHERE event_id IN (SELECT o.event_id FROM event_seen o WHERE (o.at, o.seq) <= (?1, ?2)) AND (at, seq) > (?1, ?2) AND message IS NULL`, at, seq); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `CREATE TEMP TABLE forgotten AS SELECT DISTINCT event_id FROM event_seen WHERE (at, seq) <= (?, ?)`, at, seq); err != nil {
				return err
			}
			res, err := tx.ExecContext(ctx, `DELETE FROM event_seen WHERE (at, seq) <= (?, ?)`, at, seq)
			if err != nil {
				return err
			}
			if n, err = res.RowsAffected(); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `DELETE FROM event WHERE id IN (SELECT event_id FROM forgotten f
				WHERE NOT EXISTS (SELECT 1 FROM event_seen s WHERE s.event_id = f.event_id))`); err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, `DROP TABLE forgotten`)
			return err
		})
		if err != nil {
			return err
		}
		if report.Events += n; n == 0 {
			return nil
		}
	}
}

// deleteAll repeats a bounded DELETE until there is nothing left to delete.
func (w *Writer) deleteAll(ctx context.Context, query string, args ...any) (int64, error) {
	total := int64(0)
	for {
		res, err := w.db.ExecContext(ctx, query, args...)
		if err != nil {
			return total, err
		}
		n, err := res.RowsAffected()
		if err != nil || n == 0 {
			return total, err
		}
		total += n
	}
}
