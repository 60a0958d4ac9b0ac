package discovery

import "context"

// EventType says what became of a cluster.
type EventType string

// The types of events. Synced comes once, after all clusters that were there at the beginning came as Added.
const (
	Added    EventType = "Added"
	Modified EventType = "Modified"
	Deleted  EventType = "Deleted"
	Synced   EventType = "Synced"
)

// Event is a change of the list.
type Event struct {
	// Type is Added, Modified, Deleted or Synced.
	Type EventType `json:"type"`
	// Cluster is what it is about, as it is now or was; absent in Synced.
	Cluster *Cluster `json:"cluster,omitempty"`
}

// backlog is how many events a watcher may be behind.
const backlog = 256

type watcher struct{ events chan Event }

// Watch gives the list as events, then Synced, then changes. The channel is closed when ctx ends, or when the reader is too far behind: it then
// begins again.
func (r *Registry) Watch(ctx context.Context) <-chan Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list()
	w := &watcher{events: make(chan Event, len(list)+1+backlog)}
	for i := range list {
		w.events <- Event{Type: Added, Cluster: &list[i]}
	}
	w.events <- Event{Type: Synced}
	r.watchers[w] = true
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.end(w)
	})
	return w.events
}

// end and announce are called with the lock held.
func (r *Registry) end(w *watcher) {
	if r.watchers[w] {
		delete(r.watchers, w)
		close(w.events)
	}
}

func (r *Registry) announce(e Event) {
	for w := range r.watchers {
		select {
		case w.events <- e:
		default:
			r.end(w)
		}
	}
}
