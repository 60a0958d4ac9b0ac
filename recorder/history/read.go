package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/scalehist/scalehist"
)

// versionColumns are scanned by scanVersion; the query names the tables v, o and w.
const versionColumns = `o.id, o.kind, o.namespace, o.name, o.uid, o.created_at, v.content_id, v.state_id, coalesce(w.value, ''),
	coalesce(v.times, ''), v.object_at`

// versionRow is one version, its JSON not read yet.
type versionRow struct {
	stored
	contentID int64
	stateID   sql.NullInt64
	objectAt  time.Time
}

func scanVersion(rows *sql.Rows, extra ...any) (versionRow, error) {
	var v versionRow
	var uid any
	var created, objectAt sql.NullInt64
	to := append([]any{&v.objectID, &v.key.kind, &v.key.namespace, &v.key.name, &uid, &created, &v.contentID, &v.stateID, &v.node,
		&v.times, &objectAt}, extra...)
	if err := rows.Scan(to...); err != nil {
		return v, err
	}
	v.uid, v.created, v.objectAt = uidFrom(uid), nullTime(created), nullTime(objectAt)
	return v, nil
}

// queryer is a pool or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// loader reads content rows and decodes each once.
type loader struct {
	q        queryer
	contents map[contentKey]scalehist.Object
	states   map[int64]*state
}

type contentKey struct {
	kind string
	id   int64
}

func newLoader(q queryer) *loader {
	return &loader{q: q, contents: map[contentKey]scalehist.Object{}, states: map[int64]*state{}}
}

// load builds the object of a version.
func (l *loader) load(ctx context.Context, v *versionRow) (scalehist.Object, error) {
	info, ok := kinds[v.key.kind]
	if !ok {
		return nil, fmt.Errorf("%s: kind is not known: use a newer scalehist", v.key)
	}
	ck := contentKey{v.key.kind, v.contentID}
	if v.content, ok = l.contents[ck]; !ok {
		v.content = info.new()
		if err := l.read(ctx, v.contentID, v.content); err != nil {
			return nil, fmt.Errorf("%s: %w", v.key, err)
		}
		if len(l.contents) >= maxCached {
			clear(l.contents)
		}
		l.contents[ck] = v.content
	}
	if v.stateID.Valid {
		if v.state, ok = l.states[v.stateID.Int64]; !ok {
			v.state = &state{}
			if err := l.read(ctx, v.stateID.Int64, v.state); err != nil {
				return nil, fmt.Errorf("%s: %w", v.key, err)
			}
			if len(l.states) >= maxCached {
				clear(l.states)
			}
			l.states[v.stateID.Int64] = v.state
		}
	}
	return v.decode()
}

func (l *loader) read(ctx context.Context, id int64, to any) error {
	var text string
	if err := l.q.QueryRowContext(ctx, `SELECT json FROM content WHERE id = ?`, id).Scan(&text); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("content %d is missing: the file is damaged", id)
		}
		return err
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return fmt.Errorf("content %d: %w", id, err)
	}
	return nil
}

// The state at an instant: each life of an object has one version that holds it.
const snapshotQuery = `SELECT ` + versionColumns + ` FROM version v JOIN object o ON o.id = v.object_id LEFT JOIN word w ON w.id = v.node_id
	WHERE v.valid_from <= ?1 AND (v.valid_to IS NULL OR v.valid_to > ?1)`

// snapshotOrder is the order of creation, by the object's own time where it is known.
const snapshotOrder = ` ORDER BY coalesce(o.created_at, o.first_seen), o.id`

// objectsAt calls f for each object that lives at t, in creation order; where narrows the query ("AND o.kind = ...").
func objectsAt(ctx context.Context, q queryer, l *loader, t time.Time, where string, f func(scalehist.Object, *versionRow) error) error {
	ns, err := instant(t)
	if err != nil {
		return err
	}
	rows, err := q.QueryContext(ctx, snapshotQuery+where+snapshotOrder, ns)
	if err != nil {
		return err
	}
	defer rows.Close()
	var all []versionRow // read in full: content queries must not run inside this one
	for rows.Next() {
		v, err := scanVersion(rows)
		if err != nil {
			return err
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for i := range all {
		o, err := l.load(ctx, &all[i])
		if err != nil {
			return err
		}
		if err := f(o, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// read runs f in one read transaction, so that a recorder at work cannot change what it sees half-way.
func (db *DB) read(ctx context.Context, what string, f func(q queryer) error) error {
	tx, err := db.db.BeginTx(ctx, nil)
	if err == nil {
		err = f(tx)
		if end := tx.Rollback(); err == nil && !errors.Is(end, sql.ErrTxDone) {
			err = end
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, readError(db.path, err))
	}
	return nil
}
