package history

import (
	"context"
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

// pageSize is how many rows a stream reads at once: no statement stays open while the caller works.
const pageSize = 1000

// position is a place in recorded order.
type position struct{ at, seq int64 }

func (p position) before(o position) bool { return p.at < o.at || p.at == o.at && p.seq < o.seq }

// recorded is one change with its place in recorded order.
type recorded struct {
	position
	change   scalehist.Change
	objectAt time.Time
}

// pager reads a sorted stream page by page.
type pager[T any] struct {
	fetch func(after T) ([]T, error)
	page  []T
	last  T
	done  bool
}

// peek gives the next element without taking it; false at the end.
func (p *pager[T]) peek() (*T, bool, error) {
	if len(p.page) == 0 && !p.done {
		page, err := p.fetch(p.last)
		if err != nil {
			return nil, false, err
		}
		p.page, p.done = page, len(page) < pageSize
	}
	if len(p.page) == 0 {
		return nil, false, nil
	}
	return &p.page[0], true, nil
}

func (p *pager[T]) take() {
	p.last = p.page[0]
	p.page = p.page[1:]
}

// changeRow is one version or deletion.
type changeRow struct {
	position
	op        scalehist.Op
	version   versionRow
	deletedAt time.Time
}

// A version with the seq of its object's deletion is the state the deletion showed: it is part of the deletion.
const versionsQuery = `SELECT ` + versionColumns + `, v.valid_from, v.seq, v.seq = o.first_seq
	FROM version v JOIN object o ON o.id = v.object_id LEFT JOIN word w ON w.id = v.node_id
	WHERE (v.valid_from, v.seq) > (?, ?) AND v.valid_from <= ? AND v.seq IS NOT o.deleted_seq ORDER BY v.valid_from, v.seq LIMIT ?`

const deletionsQuery = `SELECT ` + versionColumns + `, o.deleted_seen, o.deleted_seq, coalesce(o.deleted_at, 0)
	FROM object o JOIN version v ON v.valid_from = o.last_from AND v.seq = o.last_seq LEFT JOIN word w ON w.id = v.node_id
	WHERE (o.deleted_seen, o.deleted_seq) > (?, ?) AND o.deleted_seen <= ? ORDER BY o.deleted_seen, o.deleted_seq LIMIT ?`

func changePagers(ctx context.Context, q queryer, after position, to int64) (versions, deletions *pager[changeRow]) {
	page := func(query string, scan func(r *changeRow) []any, finish func(r *changeRow)) func(changeRow) ([]changeRow, error) {
		return func(after changeRow) ([]changeRow, error) {
			rows, err := q.QueryContext(ctx, query, after.at, after.seq, to, pageSize)
			if err != nil {
				return nil, err
			}
			defer rows.Close()
			var out []changeRow
			for rows.Next() {
				var r changeRow
				if r.version, err = scanVersion(rows, scan(&r)...); err != nil {
					return nil, err
				}
				finish(&r)
				out = append(out, r)
			}
			return out, rows.Err()
		}
	}
	start := changeRow{position: after}
	var first bool
	versions = &pager[changeRow]{last: start, fetch: page(versionsQuery,
		func(r *changeRow) []any { return []any{&r.at, &r.seq, &first} },
		func(r *changeRow) {
			if r.op = scalehist.OpUpdate; first {
				r.op = scalehist.OpAdd
			}
		})}
	var deletedAt int64
	deletions = &pager[changeRow]{last: start, fetch: page(deletionsQuery,
		func(r *changeRow) []any { return []any{&r.at, &r.seq, &deletedAt} },
		func(r *changeRow) {
			r.op = scalehist.OpDelete
			if deletedAt != 0 {
				r.deletedAt = fromNS(deletedAt)
			}
		})}
	return versions, deletions
}

// changeStream merges versions and deletions into recorded order.
func changeStream(ctx context.Context, q queryer, l *loader, after position, to int64) iter.Seq2[recorded, error] {
	return func(yield func(recorded, error) bool) {
		versions, deletions := changePagers(ctx, q, after, to)
		for {
			v, hasVersion, err := versions.peek()
			if err != nil {
				yield(recorded{}, err)
				return
			}
			d, hasDeletion, err := deletions.peek()
			if err != nil {
				yield(recorded{}, err)
				return
			}
			var row changeRow
			switch {
			case hasVersion && (!hasDeletion || v.before(d.position)):
				row = *v
				versions.take()
			case hasDeletion:
				row = *d
				deletions.take()
			default:
				return
			}
			r, err := row.build(ctx, l)
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

func (r *changeRow) build(ctx context.Context, l *loader) (recorded, error) {
	o, err := l.load(ctx, &r.version)
	if err != nil {
		return recorded{}, err
	}
	out := recorded{position: r.position, change: scalehist.Change{At: fromNS(r.at), Op: r.op, Object: o}, objectAt: r.version.objectAt}
	if r.op == scalehist.OpDelete {
		out.objectAt = r.deletedAt
		if !r.deletedAt.IsZero() {
			deleted := metav1.NewTime(r.deletedAt.Truncate(time.Second))
			o.SetDeletionTimestamp(&deleted)
			if deleted.Equal(&metav1.Time{Time: r.deletedAt}) {
				out.objectAt = time.Time{} // the object says it
			}
		}
	}
	return out, nil
}

// Changes gives all object changes with from < at <= to in recorded order; events are not among them. Change.At is the
// observed time. The first version seen of an object is an add, a deletion carries the object's last state. A zero from
// starts at the beginning, a zero to ends at the end.
func (db *DB) Changes(ctx context.Context, from, to time.Time) iter.Seq2[scalehist.Change, error] {
	return func(yield func(scalehist.Change, error) bool) {
		after, end, err := window(from, to)
		if err != nil {
			yield(scalehist.Change{}, readError(db.path, err))
			return
		}
		for r, err := range changeStream(ctx, db.db, newLoader(db.db), after, end) {
			if err != nil {
				yield(scalehist.Change{}, readError(db.path, err))
				return
			}
			if !yield(r.change, nil) {
				return
			}
		}
	}
}

// window turns (from, to] into a position and a bound; zero times are open.
func window(from, to time.Time) (after position, end int64, err error) {
	after, end = position{at: -1, seq: maxInt}, maxInt
	if !from.IsZero() {
		if after.at, err = instant(from); err != nil {
			return after, end, err
		}
	}
	if !to.IsZero() {
		end, err = instant(to)
	}
	return after, end, err
}

const maxInt = 1<<63 - 1
