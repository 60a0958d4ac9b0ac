package history

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// NodeGroupObjects are the node groups at t as they were recorded, in name order: their annotations say where they come
// from. Before the first recording there are none.
func (db *DB) NodeGroupObjects(ctx context.Context, t time.Time) ([]*v1alpha1.NodeGroup, error) {
	var out []*v1alpha1.NodeGroup
	err := db.read(ctx, "node groups at "+t.UTC().Format(time.RFC3339Nano), func(q queryer) error {
		return objectsAt(ctx, q, newLoader(q), t, []string{"NodeGroup"}, func(o scalehist.Object, _ *versionRow) error {
			if g, ok := o.(*v1alpha1.NodeGroup); ok {
				out = append(out, g)
			}
			return nil
		})
	})
	slices.SortStableFunc(out, func(a, b *v1alpha1.NodeGroup) int { return strings.Compare(a.Name, b.Name) })
	return out, err
}
