package trace

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

// meant is the object that an event seen at t means, of those that had its name in order of first sight: the last one seen by
// then, else the first that came after. The zero value if there is none.
func meant[T any](had []T, seen func(T) time.Time, t time.Time) (found T) {
	for i, o := range had {
		if i == 0 || !seen(o).After(t) {
			found = o
		}
	}
	return found
}

// nodeLife is one life of a node's name.
type nodeLife struct {
	uid   types.UID
	group string
	seen  time.Time
	// marked: an event says that the autoscaler removes it.
	marked bool
	gone   bool
}

// nodeLives lists the nodes of the window by name, those of one name in order of first sight.
func (r *recorded) nodeLives() map[string][]*nodeLife {
	out := map[string][]*nodeLife{}
	see := func(n *corev1.Node, at time.Time) {
		of := out[n.Name]
		if len(of) == 0 || of[len(of)-1].gone || of[len(of)-1].uid != n.UID {
			out[n.Name] = append(of, &nodeLife{uid: n.UID, group: r.groupOf(n), seen: at})
			return
		}
		if group := r.groupOf(n); group != "" {
			of[len(of)-1].group = group
		}
	}
	for _, n := range r.initial.Objects.Nodes {
		see(n, r.start)
	}
	for _, ch := range r.changes {
		n, ok := ch.Object.(*corev1.Node)
		if !ok {
			continue
		}
		if of := out[n.Name]; ch.Op == scalehist.OpDelete && len(of) > 0 {
			of[len(of)-1].gone = true
			continue
		}
		see(n, ch.At)
	}
	return out
}

// nodeRegarded is the node that an event is about, nil if the window does not show it. The UID in events about nodes is often the node's
// name, so one that no node has says nothing.
func nodeRegarded(lives map[string][]*nodeLife, e history.Event) *nodeLife {
	had := lives[e.Regarding.Name]
	var same []*nodeLife
	for _, n := range had {
		if n.uid == e.Regarding.UID {
			same = append(same, n)
		}
	}
	if len(same) > 0 {
		had = same
	}
	return meant(had, func(n *nodeLife) time.Time { return n.seen }, e.ObservedAt)
}

// podsOfEvents finds the pods that events are about.
type podsOfEvents struct {
	lives  map[types.UID]*life
	byName map[types.NamespacedName][]*life
}

func newPodsOfEvents(lives map[types.UID]*life, order []types.UID) podsOfEvents {
	out := podsOfEvents{lives: lives, byName: map[types.NamespacedName][]*life{}}
	for _, uid := range order {
		key := scalehist.NameOf(lives[uid].pod)
		out.byName[key] = append(out.byName[key], lives[uid])
	}
	return out
}

// of is the pod of one event, nil if the window does not show it.
func (p podsOfEvents) of(e history.Event) *life {
	if e.Regarding.UID != "" {
		return p.lives[e.Regarding.UID]
	}
	had := p.byName[types.NamespacedName{Namespace: e.Regarding.Namespace, Name: e.Regarding.Name}]
	return meant(had, func(l *life) time.Time { return l.createdAt }, e.ObservedAt)
}
