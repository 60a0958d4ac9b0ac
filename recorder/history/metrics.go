package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// Usage adds container usages in one transaction. A second one of a container at the same instant replaces the first.
func (w *Writer) Usage(ctx context.Context, usages []Usage) error {
	return w.WriteBatch(ctx, Batch{Usages: usages})
}

// Sample adds values of metric series in one transaction. A second one of a series at the same instant replaces the first.
func (w *Writer) Sample(ctx context.Context, samples []Sample) error {
	return w.WriteBatch(ctx, Batch{Samples: samples})
}

func (t *txWriter) usages(usages []Usage) error {
	if len(usages) == 0 {
		return nil
	}
	stmt, err := t.tx.PrepareContext(t.ctx, `INSERT OR REPLACE INTO usage(at, namespace, pod, container, cpu_milli, memory_bytes) VALUES (?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, u := range usages {
		at, err := stored.Instant(u.At)
		if err != nil {
			return fmt.Errorf("usage of pod %s: %w", u.Pod, err)
		}
		if _, err := stmt.ExecContext(t.ctx, at, u.Pod.Namespace, u.Pod.Name, u.Container, u.CPUMilli, u.MemoryBytes); err != nil {
			return fmt.Errorf("usage of pod %s: %w", u.Pod, err)
		}
	}
	return nil
}

func (t *txWriter) samples(samples []Sample) error {
	ids := map[[2]string]int64{}
	for _, s := range samples {
		at, err := stored.Instant(s.At)
		if err != nil {
			return fmt.Errorf("series %s: %w", s.Series, err)
		}
		labels, err := labelsJSON(s.Labels)
		if err != nil {
			return fmt.Errorf("series %s: %w", s.Series, err)
		}
		k := [2]string{s.Series, labels}
		id, ok := ids[k]
		if !ok {
			if _, err := t.tx.ExecContext(t.ctx, `INSERT INTO series(name, labels) VALUES (?, ?) ON CONFLICT DO NOTHING`, k[0], k[1]); err != nil {
				return fmt.Errorf("series %s: %w", s.Series, err)
			}
			if err := t.tx.QueryRowContext(t.ctx, `SELECT id FROM series WHERE name = ? AND labels = ?`, k[0], k[1]).Scan(&id); err != nil {
				return fmt.Errorf("series %s: %w", s.Series, err)
			}
			ids[k] = id
		}
		if _, err := t.tx.ExecContext(t.ctx, `INSERT OR REPLACE INTO sample(at, series_id, value) VALUES (?, ?, ?)`, at, id, stored.Value(s.Value)); err != nil {
			return fmt.Errorf("series %s: %w", s.Series, err)
		}
	}
	return nil
}

// labelsJSON is the same text for the same labels: encoding/json sorts keys.
func labelsJSON(labels map[string]string) (string, error) {
	if len(labels) == 0 {
		return "{}", nil
	}
	b, err := json.Marshal(labels)
	return string(b), err
}

type usageRow struct {
	at    int64
	usage Usage
}

func usagePager(ctx context.Context, q queryer, after, to int64) *pager[usageRow] {
	start := usageRow{at: after}
	start.usage.Pod.Namespace = "\U0010FFFF" // behind every name: rows at exactly after are left out
	return &pager[usageRow]{last: start, fetch: func(l usageRow) ([]usageRow, error) {
		return readRows(ctx, q, func(rows *sql.Rows) (r usageRow, err error) {
			u := &r.usage
			err = rows.Scan(&r.at, &u.Pod.Namespace, &u.Pod.Name, &u.Container, &u.CPUMilli, &u.MemoryBytes)
			u.At = stored.FromNS(r.at)
			return r, err
		}, `SELECT at, namespace, pod, container, cpu_milli, memory_bytes FROM usage
			WHERE (at, namespace, pod, container) > (?, ?, ?, ?) AND at <= ? ORDER BY at, namespace, pod, container LIMIT ?`,
			l.at, l.usage.Pod.Namespace, l.usage.Pod.Name, l.usage.Container, to, pageSize)
	}}
}

type sampleRow struct {
	at           int64
	name, labels string
	sample       Sample
}

func samplePager(ctx context.Context, q queryer, after, to int64) *pager[sampleRow] {
	return &pager[sampleRow]{last: sampleRow{at: after, name: "\U0010FFFF"}, fetch: func(l sampleRow) ([]sampleRow, error) {
		return readRows(ctx, q, func(rows *sql.Rows) (r sampleRow, err error) {
			if err := rows.Scan(&r.at, &r.name, &r.labels, &r.sample.Value); err != nil {
				return r, err
			}
			r.sample.Value = stored.ValueFrom(r.sample.Value)
			r.sample.Series, r.sample.At = r.name, stored.FromNS(r.at)
			if r.labels != "{}" {
				if err := readJSON(r.labels, &r.sample.Labels); err != nil {
					return r, fmt.Errorf("series %s: labels: %w", r.name, err)
				}
			}
			return r, nil
		}, `SELECT s.at, r.name, r.labels, s.value FROM sample s JOIN series r ON r.id = s.series_id
			WHERE s.at >= ?1 AND (s.at, r.name, r.labels) > (?1, ?2, ?3) AND s.at <= ?4 ORDER BY s.at, r.name, r.labels LIMIT ?5`,
			l.at, l.name, l.labels, to, pageSize)
	}}
}

// Usages streams the recorded usages with from < At <= to in time order; zero bounds are open.
func (db *DB) Usages(ctx context.Context, from, to time.Time) iter.Seq2[Usage, error] {
	return stream(ctx, db, from, to, func(after position, end int64) *pager[usageRow] {
		return usagePager(ctx, db.db, after.at, end)
	}, func(r *usageRow) Usage { return r.usage })
}

// Samples streams the recorded samples with from < At <= to in time order; zero bounds are open.
func (db *DB) Samples(ctx context.Context, from, to time.Time) iter.Seq2[Sample, error] {
	return stream(ctx, db, from, to, func(after position, end int64) *pager[sampleRow] {
		return samplePager(ctx, db.db, after.at, end)
	}, func(r *sampleRow) Sample { return r.sample })
}

func stream[R, T any](ctx context.Context, db *DB, from, to time.Time, open func(after position, end int64) *pager[R], value func(*R) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		after, end, err := window(from, to)
		if err == nil {
			after, err = sinceBase(ctx, db.db, after)
		}
		if err != nil {
			yield(none, readError(db.path, err))
			return
		}
		p := open(after, end)
		for {
			r, ok, err := p.peek()
			if err != nil {
				yield(none, readError(db.path, err))
				return
			}
			if !ok || !yield(value(r), nil) {
				return
			}
			p.take()
		}
	}
}
