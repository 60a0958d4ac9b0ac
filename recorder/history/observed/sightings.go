package observed

import (
	"context"
	"iter"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// sightings are the objects of a kind that live at from, if that is set, as adds at that instant in creation order, and then their changes
// with from < At <= to in recorded order.
func sightings(ctx context.Context, db *history.DB, from, to time.Time, kind string) iter.Seq2[scalehist.Change, error] {
	return func(yield func(scalehist.Change, error) bool) {
		if !from.IsZero() {
			standing, err := db.ObjectsAt(ctx, from, kind)
			if err != nil {
				yield(scalehist.Change{}, err)
				return
			}
			for _, o := range standing {
				if !yield(scalehist.Change{At: from.UTC(), Op: scalehist.OpAdd, Object: o}, nil) {
					return
				}
			}
		}
		for ch, err := range db.ChangesOf(ctx, from, to, kind) {
			if !yield(ch, err) {
				return
			}
		}
	}
}
