package history

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// versionColumns are scanned by scanVersion. The query names v, the row of the journal, and h, the one that holds what
// the object was: another one where v only ends it.
const versionColumns = `v.seq, v.at, o.id, s.kind, s.namespace, s.prefix || o.name, o.uid, o.created_at, coalesce(o.first_seen, 0),
	h.content_id, h.state_id, coalesce(w.value, ''), coalesce(h.times, ''), v.object_at`

// versionJoins go with versionColumns.
const versionJoins = ` CROSS JOIN version h ON h.seq = coalesce(v.ends, v.seq) CROSS JOIN object o ON o.id = v.object_id
	CROSS JOIN scope s ON s.id = o.scope_id LEFT JOIN word w ON w.id = h.node_id `

// versionRow is one version, its JSON not read yet.
type versionRow struct {
	stored.Version
	position
	objectID  int64
	firstSeen int64 // 0 where created is known
	contentID int64
	stateID   sql.NullInt64
	objectAt  time.Time
}

func scanVersion(rows *sql.Rows) (versionRow, error) { return scanVersionAnd(rows) }

// scanVersionAnd scans further columns as well.
func scanVersionAnd(rows *sql.Rows, extra ...any) (versionRow, error) {
	var v versionRow
	var uid any
	var created sql.NullInt64
	var objectAt any
	to := append([]any{&v.seq, &v.at, &v.objectID, &v.Key.Kind, &v.Key.Namespace, &v.Key.Name, &uid, &created, &v.firstSeen, &v.contentID,
		&v.stateID, &v.Node, &v.Times, &objectAt}, extra...)
	err := rows.Scan(to...)
	if err != nil {
		return v, err
	}
	v.UID, v.Created = stored.UIDFrom(uid), nullSeconds(created)
	if v.objectAt, err = stored.ObjectTimeFrom(objectAt, v.Created); err != nil {
		return v, fmt.Errorf("%s: %w", v.Key, err)
	}
	return v, nil
}

func nullSeconds(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.Unix(v.Int64, 0).UTC()
}

func nullTime(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return stored.FromNS(v.Int64)
}

// byCreation is the order of creation, by the object's own time where it is known.
func byCreation(a, b versionRow) int {
	return cmp.Or(cmp.Compare(a.bornAt(), b.bornAt()), cmp.Compare(a.objectID, b.objectID))
}

func (v *versionRow) bornAt() int64 {
	if v.Created.IsZero() {
		return v.firstSeen
	}
	return v.Created.UnixNano()
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
	states   map[int64]*stored.State
}

type contentKey struct {
	kind string
	id   int64
}

func newLoader(q queryer) *loader {
	return &loader{q: q, contents: map[contentKey]scalehist.Object{}, states: map[int64]*stored.State{}}
}

// load builds the object of a version.
func (l *loader) load(ctx context.Context, v *versionRow) (scalehist.Object, error) {
	ck := contentKey{v.Key.Kind, v.contentID}
	var ok bool
	if v.Content, ok = l.contents[ck]; !ok {
		if v.Content = stored.New(v.Key.Kind); v.Content == nil {
			return nil, fmt.Errorf("%s: kind is not known: use a newer scalehist", v.Key)
		}
		if err := l.read(ctx, v.contentID, v.Content); err != nil {
			return nil, fmt.Errorf("%s: %w", v.Key, err)
		}
		if len(l.contents) >= maxCached {
			clear(l.contents)
		}
		l.contents[ck] = v.Content
	}
	if v.stateID.Valid {
		if v.State, ok = l.states[v.stateID.Int64]; !ok {
			v.State = &stored.State{}
			if err := l.read(ctx, v.stateID.Int64, v.State); err != nil {
				return nil, fmt.Errorf("%s: %w", v.Key, err)
			}
			if len(l.states) >= maxCached {
				clear(l.states)
			}
			l.states[v.stateID.Int64] = v.State
		}
	}
	return v.Decode()
}

func (l *loader) read(ctx context.Context, id int64, to any) error {
	var text, hash []byte
	if err := l.q.QueryRowContext(ctx, `SELECT json, hash FROM content WHERE id = ?`, id).Scan(&text, &hash); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("content %d is missing: the file is damaged", id)
		}
		return err
	}
	if sum := stored.Hash(text); !bytes.Equal(hash, sum[:]) {
		return alteredError(id)
	}
	if err := readJSON(string(text), to); err != nil {
		return fmt.Errorf("content %d: %w", id, err)
	}
	return nil
}

// errColumn: a column does not hold the JSON that belongs there. readError makes it a dbfile.CorruptError.
var errColumn = errors.New("is not what belongs there")

// readJSON reads JSON that a column holds. What is wrong with it concerns the owner of the file, not the types it is read into.
func readJSON(text string, to any) error {
	if err := json.Unmarshal([]byte(text), to); err != nil {
		return errColumn
	}
	return nil
}

// alteredError: the content with this id is not what its hash is of. readError makes it a dbfile.CorruptError.
type alteredError int64

func (e alteredError) Error() string {
	return fmt.Sprintf("content %d does not match its hash", int64(e))
}

// fetchQuery reads versions by their seqs.
const fetchQuery = `SELECT ` + versionColumns + ` FROM json_each(?) j CROSS JOIN version v ON v.seq = j.value` + versionJoins

// fewQuery reads what the objects of a kind were at an instant, each by its index: kinds of which there are few.
const fewQuery = `SELECT ` + versionColumns + ` FROM scope k CROSS JOIN object x ON x.scope_id = k.id AND x.few = 1
	CROSS JOIN version v ON v.seq = (SELECT f.seq FROM version f WHERE f.object_id = x.id AND f.few = 1 AND f.at <= ?1
		ORDER BY f.at DESC, f.seq DESC LIMIT 1)` + versionJoins + `WHERE k.kind = ?2 AND v.ends IS NULL`

// objectsAt are the objects that live at t, in creation order: all, or those of some kinds.
func objectsAt(ctx context.Context, q queryer, l *loader, t time.Time, kinds ...string) ([]scalehist.Object, error) {
	ns, err := stored.Instant(t)
	if err != nil {
		return nil, err
	}
	var all []versionRow                                  // read in full: content queries must not run inside this one
	if len(kinds) > 0 && !slices.Contains(kinds, "Pod") { // of which there are too many to have an index
		all, err = fewAt(ctx, q, ns, kinds)
	} else {
		all, err = allAt(ctx, q, ns)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, byCreation)
	var out []scalehist.Object
	for i := range all {
		if len(kinds) > 0 && !slices.Contains(kinds, all[i].Key.Kind) {
			continue
		}
		o, err := l.load(ctx, &all[i])
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func allAt(ctx context.Context, q queryer, ns int64) ([]versionRow, error) {
	live, err := liveAt(ctx, q, ns)
	if err != nil {
		return nil, err
	}
	return fetch(ctx, q, &live)
}

// fetch reads the versions that hold.
func fetch(ctx context.Context, q queryer, live *liveSeqs) ([]versionRow, error) {
	var out []versionRow
	for part := range slices.Chunk(live.seqs, fetchSize) {
		rows, err := readRows(ctx, q, scanVersion, fetchQuery, seqsJSON(part))
		if err != nil {
			return nil, err
		}
		if len(rows) != len(part) {
			return nil, fmt.Errorf("%d of %d versions are missing: the file is damaged", len(part)-len(rows), len(part))
		}
		for _, v := range rows {
			if live.holds(v.objectID, v.seq) {
				out = append(out, v)
			}
		}
	}
	return out, nil
}

func fewAt(ctx context.Context, q queryer, ns int64, kinds []string) ([]versionRow, error) {
	b, err := readBase(ctx, q)
	if err != nil || ns < b.at {
		return nil, err
	}
	var out []versionRow
	for _, kind := range kinds {
		rows, err := readRows(ctx, q, scanVersion, fewQuery, ns, kind)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// readRows are the rows of a query as scan reads them.
func readRows[T any](ctx context.Context, q queryer, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		r, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// scanOne scans a row of one column.
func scanOne[T any](rows *sql.Rows) (v T, err error) { return v, rows.Scan(&v) }

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
