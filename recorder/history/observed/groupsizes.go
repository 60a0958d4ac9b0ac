package observed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
)

// NodeGroupSize is the state of a node group's bounds and target from At on.
type NodeGroupSize struct {
	At         time.Time `json:"at"`
	NodeGroup  string    `json:"nodeGroup"`
	MinSize    int       `json:"minSize"`
	MaxSize    int       `json:"maxSize"`
	TargetSize int       `json:"targetSize"`
	// Deleted: the group was removed at At; the sizes are its last.
	Deleted bool `json:"deleted,omitempty"`
}

// NodeGroupSizes are the bounds and target sizes of the node groups over time: first those at from (if set), in name
// order, then every change with from < At <= to in recorded order.
func NodeGroupSizes(ctx context.Context, db *history.DB, from, to time.Time) ([]NodeGroupSize, error) {
	var out []NodeGroupSize
	last := map[string]NodeGroupSize{}
	for ch, err := range sightings(ctx, db, from, to, "NodeGroup") {
		if err != nil {
			return nil, fmt.Errorf("node group sizes: %w", err)
		}
		g := ch.Object.(*v1alpha1.NodeGroup)
		s := NodeGroupSize{NodeGroup: g.Name, MinSize: int(g.Spec.MinSize), MaxSize: int(g.Spec.MaxSize),
			TargetSize: int(g.Spec.TargetSize), Deleted: ch.Op == scalehist.OpDelete}
		if old, ok := last[g.Name]; ok && old == s {
			continue
		}
		last[g.Name] = s
		s.At = ch.At
		out = append(out, s)
	}
	first := out
	if i := slices.IndexFunc(out, func(s NodeGroupSize) bool { return s.At.After(from) }); i >= 0 {
		first = out[:i]
	}
	slices.SortStableFunc(first, func(a, b NodeGroupSize) int { return strings.Compare(a.NodeGroup, b.NodeGroup) })
	return out, nil
}
