package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// durably runs f, which writes one transaction, and syncs it with all that was written before it. Else a commit is in the
// kernel's hands only, until the log is copied into the file (https://www.sqlite.org/pragma.html#pragma_synchronous): that
// outlives the process, and is much faster, but a power cut may take hours of a quiet cluster with it.
func (w *Writer) durably(ctx context.Context, f func() error) (err error) {
	if _, err := w.db.ExecContext(ctx, `PRAGMA synchronous = FULL`); err != nil {
		return err
	}
	defer func() {
		_, e := w.db.ExecContext(context.WithoutCancel(ctx), `PRAGMA synchronous = NORMAL`)
		err = errors.Join(err, e)
	}()
	return f()
}

// GrowGap is Gap for one that is not over, or that may be noted again: a gap of the same kinds with the same beginning, or
// for the same reason and not over when this one begins, grows to this one's end; the former takes this one's reason too.
func (w *Writer) GrowGap(ctx context.Context, g Gap) error {
	from, err := stored.Instant(g.From)
	if err != nil {
		return fmt.Errorf("history %s: gap: %w", w.path, err)
	}
	to, err := stored.Instant(g.To)
	if err != nil {
		return fmt.Errorf("history %s: gap: %w", w.path, err)
	}
	if from > to {
		return w.Gap(ctx, g) // it has the words for that
	}
	for _, grow := range []string{
		`UPDATE gap SET to_ns = max(to_ns, ?1), why = ?2 WHERE id = (SELECT max(id) FROM gap WHERE kinds = ?3 AND from_ns = ?4)`,
		`UPDATE gap SET to_ns = max(to_ns, ?1) WHERE id = (SELECT max(id) FROM gap WHERE kinds = ?3 AND why = ?2 AND from_ns <= ?4 AND to_ns >= ?4)`,
	} {
		res, err := w.db.ExecContext(ctx, grow, to, g.Why, kindsJSON(g.Kinds), from)
		if err != nil {
			return fmt.Errorf("history %s: gap: %w", w.path, err)
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
	}
	return w.Gap(ctx, g)
}

// SetMeta keeps a fact about the file; DB.Meta reads it.
func (w *Writer) SetMeta(ctx context.Context, key, value string) error {
	_, err := w.db.ExecContext(ctx, `INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value`, key, value)
	if err != nil {
		return fmt.Errorf("history %s: meta %s: %w", w.path, key, err)
	}
	return nil
}

// Missed is an object whose deletion nobody saw: somewhere in [From, Seen), as at Seen a list did not show it.
type Missed struct {
	Kind, Namespace, Name string
	UID                   types.UID
	// From and Why are the gap's.
	From, Seen time.Time
	Why        string
}

// missedQuery: what a list did not show any more is recorded as deleted at the instant that ends the gap before the list,
// or within a gap that goes on. Nothing else is recorded of a kind in a gap of it, so the deletion bears the gap.
const missedQuery = `SELECT s.kind, s.namespace, s.prefix || o.name, o.uid, max(g.from_ns), e.at, g.why
	FROM version e JOIN gap g ON g.from_ns < e.at AND g.to_ns >= e.at JOIN object o ON o.id = e.object_id JOIN scope s ON s.id = o.scope_id
	WHERE e.ends IS NOT NULL AND e.at BETWEEN ? AND ?
		AND (g.kinds = '[]' OR EXISTS (SELECT 1 FROM json_each(g.kinds) k WHERE k.value = s.kind))
	GROUP BY e.seq ORDER BY e.seq`

// Missed are the deletions that a list brought to light in [from, to], in recorded order; zero bounds are open. All
// other deletions were seen when they happened.
func (db *DB) Missed(ctx context.Context, from, to time.Time) ([]Missed, error) {
	var out []Missed
	err := db.read(ctx, "missed deletions", func(q queryer) error {
		after, end, err := window(from, to)
		if err != nil {
			return err
		}
		out, err = readRows(ctx, q, func(rows *sql.Rows) (m Missed, err error) {
			var uid any
			var f, t int64
			err = rows.Scan(&m.Kind, &m.Namespace, &m.Name, &uid, &f, &t, &m.Why)
			m.UID, m.From, m.Seen = stored.UIDFrom(uid), stored.FromNS(f), stored.FromNS(t)
			return m, err
		}, missedQuery, after.at, end)
		return err
	})
	return out, err
}

// Check lets SQLite examine the whole file; dbfile.CorruptError says what is wrong. It reads every page.
func (db *DB) Check(ctx context.Context) error {
	return db.read(ctx, "check", func(q queryer) error {
		var verdict string
		if err := q.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&verdict); err != nil {
			return err
		}
		if verdict != "ok" {
			return &dbfile.CorruptError{Path: db.path, Detail: verdict}
		}
		return nil
	})
}
