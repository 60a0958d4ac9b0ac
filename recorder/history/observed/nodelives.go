package observed

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// Names are used again: StatefulSets and virtual clouds give a new pod or node the name of one that is gone. An event names its
// object by UID, or by name alone (events of other writers, and of logs put together by hand); then the object is meant that had
// the name when the event was seen.

// Meant is the object that an event seen at t means, of those that had its name in order of first sight: the last one seen by
// then, else the first that came after. The zero value if there is none.
func Meant[T any](had []T, seen func(T) time.Time, t time.Time) (found T) {
	for i, o := range had {
		if i == 0 || !seen(o).After(t) {
			found = o
		}
	}
	return found
}

// NodeLife is one life of a node's name.
type NodeLife struct {
	UID types.UID
	// NodeGroup is the group it was last in that is known, "" for none.
	NodeGroup string
	// Seen is when it was first seen.
	Seen time.Time
	gone bool
}

// Nodes are the nodes of a recording by name, those of one name in order of first sight.
type Nodes struct {
	groupOf func(*corev1.Node) string
	byName  map[string][]*NodeLife
}

// NewNodes has no nodes yet. groupOf names the group of one, "" for none.
func NewNodes(groupOf func(*corev1.Node) string) *Nodes {
	return &Nodes{groupOf: groupOf, byName: map[string][]*NodeLife{}}
}

// See notes that a node is there.
func (l *Nodes) See(n *corev1.Node, at time.Time) {
	of := l.byName[n.Name]
	if len(of) == 0 || of[len(of)-1].gone || of[len(of)-1].UID != n.UID {
		l.byName[n.Name] = append(of, &NodeLife{UID: n.UID, NodeGroup: l.groupOf(n), Seen: at})
		return
	}
	if group := l.groupOf(n); group != "" {
		of[len(of)-1].NodeGroup = group
	}
}

// Change notes what a change says of a node, and nothing of one of another kind.
func (l *Nodes) Change(ch scalehist.Change) {
	n, ok := ch.Object.(*corev1.Node)
	if !ok {
		return
	}
	if of := l.byName[n.Name]; ch.Op == scalehist.OpDelete && len(of) > 0 {
		of[len(of)-1].gone = true
		return
	}
	l.See(n, ch.At)
}

// Regarded is the node that an event is about, nil if it was not seen. The UID in events about nodes is often the node's name, so one
// that no node has says nothing.
func (l *Nodes) Regarded(e history.Event) *NodeLife {
	had := l.byName[e.Regarding.Name]
	var same []*NodeLife
	for _, n := range had {
		if n.UID == e.Regarding.UID {
			same = append(same, n)
		}
	}
	if len(same) > 0 {
		had = same
	}
	return Meant(had, func(n *NodeLife) time.Time { return n.Seen }, e.ObservedAt)
}
