package history

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// NodeGroupSizes are the bounds and target sizes of the node groups over time: first those at from (if set), in name
// order, then every change with from < At <= to in recorded order.
func (db *DB) NodeGroupSizes(ctx context.Context, from, to time.Time) ([]NodeGroupSize, error) {
	var out []NodeGroupSize
	err := db.read(ctx, "node group sizes", func(q queryer) error {
		l := newLoader(q)
		last := map[string]NodeGroupSize{}
		note := func(at time.Time, o scalehist.Object, deleted bool) {
			g := o.(*v1alpha1.NodeGroup)
			s := NodeGroupSize{NodeGroup: g.Name, MinSize: int(g.Spec.MinSize), MaxSize: int(g.Spec.MaxSize),
				TargetSize: int(g.Spec.TargetSize), Deleted: deleted}
			if old, ok := last[g.Name]; ok && old == s {
				return
			}
			last[g.Name] = s
			s.At = at
			out = append(out, s)
		}
		if !from.IsZero() {
			err := objectsAt(ctx, q, l, from, []string{"NodeGroup"}, func(o scalehist.Object, _ *versionRow) error {
				note(from.UTC(), o, false)
				return nil
			})
			if err != nil {
				return err
			}
			slices.SortStableFunc(out, func(a, b NodeGroupSize) int { return strings.Compare(a.NodeGroup, b.NodeGroup) })
		}
		after, end, err := window(from, to)
		if err != nil {
			return err
		}
		rows, err := fewRows(ctx, q, after.at, end, []string{"NodeGroup"})
		if err != nil {
			return err
		}
		for i := range rows {
			o, err := l.load(ctx, &rows[i].version)
			if err != nil {
				return err
			}
			note(fromNS(rows[i].version.at), o, rows[i].op == scalehist.OpDelete)
		}
		return nil
	})
	return out, err
}
