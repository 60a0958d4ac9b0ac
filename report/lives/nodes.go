package lives

import (
	"time"

	"github.com/scalehist/scalehist"
)

// Node is a node from Ready to gone.
type Node struct {
	Name string
	// Group is empty for a node outside every group.
	Group string
	// From and To are offsets from the start of the replay; To is its end for a node that is there then.
	From, To time.Duration
	// Asked is when a scale-up asked for it, nil for others.
	Asked *time.Duration
}

// Nodes are the nodes of a report: those that stood at the start, those a scale-up brought, and those that came on their
// own, in this order.
func Nodes(r *scalehist.ReplayReport) []Node {
	end := r.EndTime.Sub(r.StartTime)
	var out []Node
	open := map[string]int{}
	for _, n := range r.Start.Nodes {
		open[n.Name] = len(out)
		out = append(out, Node{Name: n.Name, Group: n.NodeGroup, To: end})
	}
	scaled := map[string]bool{}
	for _, n := range r.ScaledUpNodes {
		scaled[n.Name] = true
		l := Node{Name: n.Name, Group: n.NodeGroup, From: n.ReadyAt.Sub(r.StartTime), To: end, Asked: new(n.RequestedAt.Sub(r.StartTime))}
		if n.RemovedAt != nil {
			l.To = n.RemovedAt.Sub(r.StartTime)
		}
		out = append(out, l)
	}
	for _, b := range r.Batches {
		at := b.At.Sub(r.StartTime)
		for _, name := range b.NodesGone {
			if i, ok := open[name]; ok {
				out[i].To = at
				delete(open, name)
			}
		}
		for _, name := range b.NodesJoined {
			if !scaled[name] {
				open[name] = len(out)
				out = append(out, Node{Name: name, From: at, To: end})
			}
		}
	}
	return out
}
