package history

import (
	"context"
	"database/sql"
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/internal/stored"
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

// changeRow is one row of the journal.
type changeRow struct {
	op      scalehist.Op
	version versionRow
}

func scanChange(rows *sql.Rows) (changeRow, error) {
	var deleted bool
	v, err := scanVersionAnd(rows, &deleted)
	r := changeRow{op: scalehist.OpUpdate, version: v}
	switch {
	case deleted:
		r.op = scalehist.OpDelete
	case v.seq == v.objectID:
		r.op = scalehist.OpAdd
	}
	return r, err
}

const changesQuery = `SELECT ` + versionColumns + `, v.ends IS NOT NULL FROM version v` + versionJoins + `WHERE v.seq > ? AND v.at > ? ORDER BY v.seq LIMIT ?`

// changePager streams the journal from behind after to the instant end.
func changePager(ctx context.Context, q queryer, after position, end int64) (*pager[changeRow], error) {
	b, err := readBase(ctx, q)
	if err != nil {
		return nil, err
	}
	begin := changeRow{}
	var initial []changeRow
	if after.at < b.at {
		if initial, err = baseRows(ctx, q, b, end); err != nil {
			return nil, err
		}
		after.at, begin.version.seq = b.at, b.seq
	} else if begin.version.seq, _, err = keyframeAt(ctx, q, after.at); err != nil {
		return nil, err
	}
	ended := false
	fetch := func(last changeRow) ([]changeRow, error) {
		if ended {
			return nil, nil
		}
		rows, err := q.QueryContext(ctx, changesQuery, max(last.version.seq, begin.version.seq), after.at, pageSize)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var out []changeRow
		for rows.Next() {
			r, err := scanChange(rows)
			if err != nil {
				return nil, err
			}
			if ended = r.version.at > end; ended {
				break
			}
			out = append(out, r)
		}
		return out, rows.Err()
	}
	return &pager[changeRow]{last: begin, page: initial, fetch: fetch}, nil
}

// baseRows are the objects that live at the base, as adds at its instant in creation order.
func baseRows(ctx context.Context, q queryer, b base, end int64) ([]changeRow, error) {
	if b.at > end {
		return nil, nil
	}
	all, err := allAt(ctx, q, b.at)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, byCreation)
	out := make([]changeRow, 0, len(all))
	for _, v := range all {
		v.at, v.objectAt = b.at, time.Time{}
		out = append(out, changeRow{op: scalehist.OpAdd, version: v})
	}
	return out, nil
}

// changeStream gives the journal in recorded order: all of it, or the kinds that keep takes.
func changeStream(ctx context.Context, q queryer, l *loader, after position, end int64, keep func(kind string) bool) iter.Seq2[recorded, error] {
	return func(yield func(recorded, error) bool) {
		p, err := changePager(ctx, q, after, end)
		if err != nil {
			yield(recorded{}, err)
			return
		}
		for {
			row, ok, err := p.peek()
			if err != nil {
				yield(recorded{}, err)
				return
			}
			if !ok {
				return
			}
			if keep != nil && !keep(row.version.Key.Kind) {
				p.take()
				continue
			}
			r, err := row.build(ctx, l)
			p.take()
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
	out := recorded{position: r.version.position, change: scalehist.Change{At: stored.FromNS(r.version.at), Op: r.op, Object: o}, objectAt: r.version.objectAt}
	if deletedAt := r.version.objectAt; r.op == scalehist.OpDelete && !deletedAt.IsZero() {
		deleted := metav1.NewTime(deletedAt.Truncate(time.Second))
		o.SetDeletionTimestamp(&deleted)
		if deleted.Equal(&metav1.Time{Time: deletedAt}) {
			out.objectAt = time.Time{} // the object says it
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
		for r, err := range changeStream(ctx, db.db, newLoader(db.db), after, end, nil) {
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
		if after.at, err = stored.Instant(from); err != nil {
			return after, end, err
		}
	}
	if !to.IsZero() {
		end, err = stored.Instant(to)
	}
	return after, end, err
}

const maxInt = 1<<63 - 1
