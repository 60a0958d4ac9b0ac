package history

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/internal/stored"
	"github.com/scalehist/scalehist/recorder/history/snapshot"
)

// SnapshotAt is the cluster as it was seen at t: every object whose version holds at t (of some kinds, as objectlog.KindOf names them, where any are
// given), decoded, the node groups and the autoscaler's settings of that instant. Nothing recorded later is in it. Before the first
// recording it is empty.
func (db *DB) SnapshotAt(ctx context.Context, t time.Time, kinds ...string) (*scalehist.ClusterSnapshot, error) {
	objects, err := db.objectsAt(ctx, "snapshot", t, kinds)
	if err != nil {
		return nil, err
	}
	s := snapshot.Of(t.UTC(), objects)
	return &s, nil
}

// ObjectsAt are the objects of some kinds (as objectlog.KindOf names them) that live at t, in creation order, each the caller's own.
// Before the first recording there are none. A kind that no history has is an error.
func (db *DB) ObjectsAt(ctx context.Context, t time.Time, kinds ...string) ([]scalehist.Object, error) {
	if err := knownKinds(kinds); err != nil || len(kinds) == 0 {
		return nil, err
	}
	return db.objectsAt(ctx, "objects", t, kinds)
}

// objectsAt is ObjectsAt in a transaction; what names it in errors.
func (db *DB) objectsAt(ctx context.Context, what string, t time.Time, kinds []string) (out []scalehist.Object, err error) {
	err = db.read(ctx, what+" at "+t.UTC().Format(time.RFC3339Nano), func(q queryer) error {
		out, err = objectsAt(ctx, q, newLoader(q), t, kinds...)
		return err
	})
	return out, err
}

// ChangesOf is Changes of some kinds (as objectlog.KindOf names them). Without Pod among them it costs what there is of these
// kinds, not what the window has.
func (db *DB) ChangesOf(ctx context.Context, from, to time.Time, kinds ...string) iter.Seq2[scalehist.Change, error] {
	return func(yield func(scalehist.Change, error) bool) {
		if err := db.changesOf(ctx, from, to, kinds, func(c scalehist.Change) bool { return yield(c, nil) }); err != nil {
			yield(scalehist.Change{}, readError(db.path, err))
		}
	}
}

func (db *DB) changesOf(ctx context.Context, from, to time.Time, kinds []string, emit func(scalehist.Change) bool) error {
	if err := knownKinds(kinds); err != nil {
		return err
	}
	after, end, err := window(from, to)
	if err != nil {
		return err
	}
	l := newLoader(db.db)
	if slices.Contains(kinds, "Pod") {
		for r, err := range changeStream(ctx, db.db, l, after, end, func(kind string) bool { return slices.Contains(kinds, kind) }) {
			if err != nil {
				return err
			}
			if !emit(r.change) {
				return nil
			}
		}
		return nil
	}
	rows, err := fewRows(ctx, db.db, after.at, end, kinds)
	if err != nil {
		return err
	}
	for i := range rows {
		r, err := rows[i].build(ctx, l)
		if err != nil {
			return err
		}
		if !emit(r.change) {
			return nil
		}
	}
	return nil
}

func knownKinds(list []string) error {
	for _, k := range list {
		if !stored.Has(k) {
			return fmt.Errorf("kind %q is none that a history has", k)
		}
	}
	return nil
}
