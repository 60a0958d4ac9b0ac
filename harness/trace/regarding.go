package trace

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/observed"
)

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
	return observed.Meant(had, func(l *life) time.Time { return l.createdAt }, e.ObservedAt)
}
