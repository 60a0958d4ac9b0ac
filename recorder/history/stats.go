package history

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// Meta are the facts about the file itself: "cluster", "source".
func (db *DB) Meta(ctx context.Context) (map[string]string, error) {
	var out map[string]string
	err := db.read(ctx, "meta", func(q queryer) (err error) {
		out, err = readMeta(ctx, q)
		return err
	})
	return out, err
}

func readMeta(ctx context.Context, q queryer) (map[string]string, error) {
	rows, err := q.QueryContext(ctx, `SELECT key, value FROM meta`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, rows.Err()
}

// Recordings are the stretches in which a recorder watched, in time order.
func (db *DB) Recordings(ctx context.Context) ([]Recording, error) {
	var out []Recording
	err := db.read(ctx, "recordings", func(q queryer) error {
		rows, err := readRecordings(ctx, q)
		for _, r := range rows {
			out = append(out, r.Recording)
		}
		return err
	})
	return out, err
}

// recordingRow is a recording and where it ends for all that is known: at its last sign of life while it is open.
type recordingRow struct {
	Recording
	end time.Time
}

func readRecordings(ctx context.Context, q queryer) ([]recordingRow, error) {
	return readRows(ctx, q, func(rows *sql.Rows) (r recordingRow, err error) {
		var from, to, end int64
		var kinds string
		if err := rows.Scan(&r.ID, &from, &to, &end, &kinds); err != nil {
			return r, err
		}
		r.From, r.end = stored.FromNS(from), stored.FromNS(end)
		if to != 0 {
			r.To = stored.FromNS(to)
		}
		if r.Kinds, err = kindsFrom(kinds); err != nil {
			return r, fmt.Errorf("recording %d: %w", r.ID, err)
		}
		return r, nil
	}, `SELECT id, from_ns, coalesce(to_ns, 0), coalesce(to_ns, alive_ns), kinds FROM recording ORDER BY from_ns, id`)
}

// Gaps are the gaps that overlap [from, to], in time order; zero bounds are open.
func (db *DB) Gaps(ctx context.Context, from, to time.Time) ([]Gap, error) {
	var out []Gap
	err := db.read(ctx, "gaps", func(q queryer) (err error) {
		out, err = readGaps(ctx, q, from, to)
		return err
	})
	return out, err
}

func readGaps(ctx context.Context, q queryer, from, to time.Time) ([]Gap, error) {
	after, end, err := window(from, to)
	if err != nil {
		return nil, err
	}
	return readRows(ctx, q, func(rows *sql.Rows) (g Gap, err error) {
		var f, t int64
		var kinds string
		if err := rows.Scan(&f, &t, &kinds, &g.Why); err != nil {
			return g, err
		}
		g.From, g.To = stored.FromNS(f), stored.FromNS(t)
		if g.Kinds, err = kindsFrom(kinds); err != nil {
			return g, fmt.Errorf("gap at %s: %w", g.From.Format(time.RFC3339), err)
		}
		return g, nil
	}, `SELECT from_ns, to_ns, kinds, why FROM gap WHERE from_ns <= ? AND to_ns >= ? ORDER BY from_ns, to_ns, id`, end, after.at)
}

func kindsFrom(s string) ([]string, error) {
	var out []string
	if err := readJSON(s, &out); err != nil {
		return nil, fmt.Errorf("kinds %q: %w", s, err)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// Stats counts what the history holds.
func (db *DB) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	err := db.read(ctx, "stats", func(q queryer) (err error) {
		s.Kinds, err = readRows(ctx, q, func(rows *sql.Rows) (k KindStats, err error) {
			return k, rows.Scan(&k.Kind, &k.Objects, &k.Versions, &k.Contents)
		}, `SELECT s.kind, count(DISTINCT o.id), count(*), count(DISTINCT v.content_id)
			FROM version v JOIN object o ON o.id = v.object_id JOIN scope s ON s.id = o.scope_id
			WHERE v.content_id IS NOT NULL GROUP BY s.kind ORDER BY s.kind`)
		if err != nil {
			return err
		}
		s.Events, err = readRows(ctx, q, func(rows *sql.Rows) (r ReasonCount, err error) {
			return r, rows.Scan(&r.Reason, &r.Events, &r.Occurrences)
		}, `SELECT e.reason, count(*), sum((SELECT max(1, coalesce(max(count), 0), coalesce(max(series), 0))
			FROM event_seen s WHERE s.event_id = e.id)) FROM event e GROUP BY e.reason ORDER BY e.reason`)
		if err != nil {
			return err
		}
		return q.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM usage), (SELECT count(*) FROM sample)`).Scan(&s.Usages, &s.Samples)
	})
	if err != nil {
		return s, err
	}
	s.FileBytes = dbfile.Size(db.file)
	return s, nil
}
