package metrics

import (
	"time"

	"github.com/scalehist/scalehist"
)

// Life is a node from Ready to gone, in offsets from the start of the replay; To is the end of the replay for a node that is
// there then. Group is empty for a node outside every group.
type Life struct {
	Name, Group string
	From, To    time.Duration
}

// NodeLives are the nodes of a report: those that stood at the start, those a scale-up brought, and those that came on their
// own, in this order.
func NodeLives(r *scalehist.ReplayReport) []Life {
	lives := nodeLives(r)
	out := make([]Life, 0, len(lives))
	for _, l := range lives {
		out = append(out, Life{Name: l.name, Group: l.group, From: l.from, To: l.to})
	}
	return out
}

// FollowsNode says whether a pod belongs to its node (a DaemonSet's, or a static one) and is no workload of its own choice.
func FollowsNode(p scalehist.PodInfo) bool { return followsNode(p) }
