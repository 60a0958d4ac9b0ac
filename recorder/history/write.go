package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/internal/stored"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// Write adds entries in one transaction: all of them or, on an error or a cancelled context, none.
//
// An add of a known object is an update (a relist). An update of an unknown one is an add. Another UID under a known
// name ends the old object there: its deletion was missed. A delete of an unknown object is counted, no more.
func (w *Writer) Write(ctx context.Context, entries []Entry) error {
	return w.WriteBatch(ctx, Batch{Entries: entries})
}

// Batch is what is written in one transaction. Its parts are independent of each other.
type Batch struct {
	Entries []Entry
	Usages  []Usage
	Samples []Sample
}

// WriteBatch is Write with usages and samples in the same transaction. A second usage of a container, or value of a
// series, at the same instant replaces the first.
func (w *Writer) WriteBatch(ctx context.Context, b Batch) error {
	entries := b.Entries
	if len(entries)+len(b.Usages)+len(b.Samples) == 0 {
		return nil
	}
	before := w.Counts()
	err := w.inTx(ctx, func(tx *sql.Tx) error {
		t := txWriter{w: w, ctx: ctx, tx: tx}
		for i := range entries {
			if err := t.apply(&entries[i]); err != nil {
				return err
			}
		}
		if err := errors.Join(t.usages(b.Usages), t.samples(b.Samples)); err != nil {
			return err
		}
		if err := t.keyframe(); err != nil {
			return err
		}
		if w.recording != 0 {
			_, err := tx.ExecContext(ctx, `UPDATE recording SET alive_ns = max(alive_ns, ?) WHERE id = ?`, w.last, w.recording)
			return err
		}
		return nil
	})
	if err != nil {
		w.counts = before
		return fmt.Errorf("history %s: write: %w", w.path, err)
	}
	return nil
}

// Reconcile deletes the living objects of a kind that are not in present (a complete list at an instant): their
// deletion happened while nobody watched. It returns how many there were.
func (w *Writer) Reconcile(ctx context.Context, at time.Time, kind string, present []scalehist.Object) (int, error) {
	uids := make(map[stored.Key]types.UID, len(present))
	for _, o := range present {
		uids[stored.Key{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}] = o.GetUID()
	}
	gone := 0
	err := w.inTx(ctx, func(tx *sql.Tx) error {
		t := txWriter{w: w, ctx: ctx, tx: tx}
		ns, err := t.observe(at)
		if err != nil {
			return err
		}
		for _, k := range sortedKeys(w.live) {
			if k.Kind != kind {
				continue
			}
			uid, ok := uids[k]
			if ok && (uid == "" || uid == w.live[k].uid) {
				continue
			}
			if err := t.end(k, ns, w.nextSeq(), time.Time{}); err != nil {
				return err
			}
			gone++
		}
		return t.keyframe()
	})
	if err != nil {
		return 0, fmt.Errorf("history %s: reconcile %s: %w", w.path, kind, err)
	}
	w.counts.Deleted += int64(gone)
	return gone, nil
}

func sortedKeys(m map[stored.Key]*liveObject) []stored.Key {
	return slices.SortedFunc(maps.Keys(m), func(a, b stored.Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func (w *Writer) nextSeq() int64 {
	w.seq++
	return w.seq
}

// txWriter writes within one transaction.
type txWriter struct {
	w   *Writer
	ctx context.Context
	tx  *sql.Tx
}

func (t *txWriter) exec(s *sql.Stmt, args ...any) (sql.Result, error) {
	return t.tx.StmtContext(t.ctx, s).ExecContext(t.ctx, args...)
}

func (t *txWriter) row(s *sql.Stmt, args ...any) *sql.Row {
	return t.tx.StmtContext(t.ctx, s).QueryRowContext(t.ctx, args...)
}

// observe turns an observed time into a column, never before what is written already.
func (t *txWriter) observe(at time.Time) (int64, error) {
	ns, err := stored.Instant(at)
	if err != nil {
		return 0, err
	}
	if ns < t.w.last {
		t.w.counts.Clamped++
		return t.w.last, nil
	}
	t.w.last = ns
	return ns, nil
}

func (t *txWriter) apply(e *Entry) error {
	w := t.w
	if e.Change.Object == nil {
		return fmt.Errorf("%s at %s without an object", e.Change.Op, e.ObservedAt.Format(time.RFC3339Nano))
	}
	observed, objectAt := e.ObservedAt, e.Change.At
	if observed.IsZero() {
		observed = objectAt
	}
	if objectAt.Equal(observed) {
		objectAt = time.Time{}
	}
	if event, ok := stored.EventOf(e.Change.Object); ok {
		return t.event(observed, e.Change.Op, event)
	}
	enc, ok, err := stored.Encode(e.Change.Object)
	if err != nil {
		return err
	}
	if !ok {
		if w.counts.Left == nil {
			w.counts.Left = map[string]int64{}
		}
		w.counts.Left[objectlog.KindOf(e.Change.Object)]++
		return nil
	}
	at, err := t.observe(observed)
	if err != nil {
		return fmt.Errorf("%s: %w", enc.Key, err)
	}
	switch e.Change.Op {
	case scalehist.OpAdd, scalehist.OpUpdate:
		err = t.put(e.Change.Op, at, objectAt, &enc)
	case scalehist.OpDelete:
		err = t.remove(at, objectAt, &enc)
	default:
		return fmt.Errorf("%s: unknown operation %q: use add, update or delete", enc.Key, e.Change.Op)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", enc.Key, err)
	}
	return nil
}

// put adds or updates.
func (t *txWriter) put(op scalehist.Op, at int64, objectAt time.Time, e *stored.Object) error {
	w := t.w
	cur := w.live[e.Key]
	if cur != nil && !cur.is(e.UID, op) {
		if err := t.end(e.Key, at, w.nextSeq(), time.Time{}); err != nil {
			return err
		}
		w.counts.Replaced++
		cur = nil
	}
	if cur == nil {
		if op == scalehist.OpUpdate {
			w.counts.UnknownUpdates++
		}
		seq := w.nextSeq()
		id, err := t.insertObject(seq, at, e)
		if err != nil {
			return err
		}
		cur = &liveObject{id: id, uid: e.UID, created: e.Created}
		if err := t.version(cur, at, objectAt, e, seq, nil); err != nil {
			return err
		}
		w.live[e.Key] = cur
		w.counts.Added++
		return nil
	}
	changed, err := t.changes(cur, e, e.Times(cur.created, true))
	if err != nil {
		return err
	}
	if !changed {
		w.counts.Unchanged++
		return nil
	}
	if err := t.version(cur, at, objectAt, e, w.nextSeq(), nil); err != nil {
		return err
	}
	w.counts.Updated++
	return nil
}

// insertObject begins a life. One that came without a UID gets one that says which life of its name it is.
func (t *txWriter) insertObject(seq, at int64, e *stored.Object) (int64, error) {
	scopeID, err := t.scopeID(scope{e.Key.Kind, e.Key.Namespace, e.Prefix})
	if err != nil {
		return 0, err
	}
	name := e.Key.Name[len(e.Prefix):]
	if e.UID == "" {
		var lives int
		stem := e.Key.String() + "#"
		if err := t.row(t.w.stmts.countLives, scopeID, name, stem).Scan(&lives); err != nil {
			return 0, err
		}
		e.UID = types.UID(fmt.Sprintf("%s%d", stem, lives+1))
	}
	firstSeen := any(nil)
	if e.Created.IsZero() {
		firstSeen = at
	}
	_, err = t.exec(t.w.stmts.insertObject, seq, scopeID, name, stored.UIDColumn(e.UID), stored.Seconds(e.Created), firstSeen, fewColumn(e.Key))
	return seq, err
}

// fewColumn marks every kind but Pod.
func fewColumn(k stored.Key) any {
	if k.Kind == "Pod" {
		return nil
	}
	return 1
}

// remove deletes. What the deletion shows beyond the last version (a phase, a condition) is kept in the row that ends
// the object.
func (t *txWriter) remove(at int64, objectAt time.Time, e *stored.Object) error {
	w := t.w
	cur := w.live[e.Key]
	if cur == nil || !cur.is(e.UID, scalehist.OpDelete) {
		w.counts.UnknownDeletes++
		return nil
	}
	deleted := objectAt
	if deleted.IsZero() {
		deleted = e.Deleted
	}
	more := false
	if !e.Bare {
		var err error
		if more, err = t.changes(cur, e, e.Times(cur.created, true)); err != nil {
			return err
		}
		if more { // a deletion timestamp alone is kept with the end
			if more, err = t.changes(cur, e, e.Times(cur.created, false)); err != nil {
				return err
			}
		}
	}
	seq := w.nextSeq()
	if !more {
		w.counts.Deleted++
		return t.end(e.Key, at, seq, deleted)
	}
	if err := t.version(cur, at, deleted, e, seq, seq); err != nil {
		return err
	}
	delete(w.live, e.Key)
	w.counts.Deleted++
	return nil
}

// end closes the life of a living object.
func (t *txWriter) end(k stored.Key, at, seq int64, deleted time.Time) error {
	w := t.w
	cur := w.live[k]
	if _, err := t.exec(w.stmts.insertVersion, seq, at, cur.id, nil, nil, nil, nil, stored.ObjectTime(deleted, cur.created), fewColumn(k), cur.seq); err != nil {
		return err
	}
	w.since++
	delete(w.live, k)
	return nil
}

// changes says whether e differs from the current version.
func (t *txWriter) changes(cur *liveObject, e *stored.Object, times string) (bool, error) {
	content, state, node, err := t.ids(e)
	if err != nil {
		return false, err
	}
	return content != cur.content || state != cur.state || node != cur.node || times != cur.times, nil
}

// version adds what an object is from now on; ends is seq where it is what the object was when it was deleted.
func (t *txWriter) version(cur *liveObject, at int64, objectAt time.Time, e *stored.Object, seq int64, ends any) error {
	content, state, node, err := t.ids(e)
	if err != nil {
		return err
	}
	times := e.Times(cur.created, true)
	if _, err := t.exec(t.w.stmts.insertVersion, seq, at, cur.id, content, orNull(state), orNull(node), textOrNull(times),
		stored.ObjectTime(objectAt, cur.created), fewColumn(e.Key), ends); err != nil {
		return err
	}
	t.w.since++
	cur.seq, cur.content, cur.state, cur.node, cur.times = seq, content, state, node, times
	return nil
}

// is says whether a change with this UID is about the object. A log may leave UIDs out of some lines.
func (l *liveObject) is(uid types.UID, op scalehist.Op) bool {
	if uid == "" || uid == l.uid {
		return true
	}
	return op != scalehist.OpAdd && synthetic(l.uid)
}

// synthetic UIDs stand for those a log did not give: "kind/namespace/name#life".
func synthetic(uid types.UID) bool { return strings.Contains(string(uid), "#") }

func (t *txWriter) ids(e *stored.Object) (content, state, node int64, err error) {
	if content, err = t.contentID(e.Content); err != nil {
		return 0, 0, 0, err
	}
	if e.State != nil {
		if state, err = t.contentID(e.State); err != nil {
			return 0, 0, 0, err
		}
	}
	if e.Node != "" {
		node, err = t.wordID(e.Node)
	}
	return content, state, node, err
}

func (t *txWriter) contentID(b []byte) (int64, error) {
	hash := stored.Hash(b)
	return idOf(t, t.w.contents, hash, t.w.stmts.findContent, t.w.stmts.insertContent, 1, func() []any { return []any{hash[:], string(b)} })
}

func (t *txWriter) scopeID(s scope) (int64, error) {
	return idOf(t, t.w.scopes, s, t.w.stmts.findScope, t.w.stmts.insertScope, 3, func() []any { return []any{s.kind, s.namespace, s.prefix} })
}

func (t *txWriter) wordID(s string) (int64, error) {
	return idOf(t, t.w.words, s, t.w.stmts.findWord, t.w.stmts.insertWord, 1, func() []any { return []any{s} })
}

// idOf is the row of what is stored once: the one that is known by k, else the one that find gives for the first keys columns of row,
// which insert makes where there is none.
func idOf[K comparable](t *txWriter, known map[K]int64, k K, find, insert *sql.Stmt, keys int, row func() []any) (id int64, err error) {
	if id, ok := known[k]; ok {
		return id, nil
	}
	columns := row()
	if _, err := t.exec(insert, columns...); err != nil {
		return 0, err
	}
	if err := t.row(find, columns[:keys]...).Scan(&id); err != nil {
		return 0, err
	}
	if len(known) >= maxCached {
		clear(known)
	}
	known[k] = id
	return id, nil
}

func orNull(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
