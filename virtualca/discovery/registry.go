package discovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/docstore"
)

// Kind is what a registry's file holds.
const Kind = "a discovery server"

// DefaultTTL is how long a cluster may be silent.
const DefaultTTL = 5 * time.Minute

// FromAPI is the source of clusters that registered themselves.
const FromAPI = "api"

// ErrUnknown: there is no such cluster.
var ErrUnknown = errors.New("no such cluster")

// RegistryOptions are the settings of a Registry. Store, Key and Clock are needed.
type RegistryOptions struct {
	Store *docstore.Store
	Key   *Key
	Clock clock.WithTicker
	// TTL is how long a cluster may be silent; 0 is DefaultTTL.
	TTL time.Duration
}

// Registry knows clusters. It is safe for concurrent use.
type Registry struct {
	o  RegistryOptions
	mu sync.Mutex
	// clusters are as they are in the store, by name.
	clusters map[string]record
	watchers map[*watcher]bool
	changed  chan struct{} // one that somebody registered: expiry is worked out again
}

// record is a cluster in the store.
type record struct {
	Cluster Cluster `json:"cluster"`
	// Sealed is its kubeconfig.
	Sealed []byte `json:"sealed,omitempty"`
}

// bucket has a record by name; keyCheck a text that the right key reads.
const bucket, keyBucket, keyCheck = "cluster", "key", "check"

// NewRegistry reads a registry. Silence counts from now: nobody was heard while nobody listened.
func NewRegistry(ctx context.Context, o RegistryOptions) (*Registry, error) {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	r := &Registry{o: o, clusters: map[string]record{}, watchers: map[*watcher]bool{}, changed: make(chan struct{}, 1)}
	now := o.Clock.Now().UTC()
	err := o.Store.Update(ctx, func(tx *docstore.Tx) error {
		var check []byte
		switch known, err := tx.Get(keyBucket, keyCheck, &check); {
		case err != nil:
			return err
		case !known:
			if err := tx.Put(keyBucket, keyCheck, o.Key.seal(keyCheck, keyCheck)); err != nil {
				return err
			}
		default:
			if _, err := o.Key.open(keyCheck, check); err != nil {
				return fmt.Errorf("the key does not belong to this file: %w", err)
			}
		}
		names, records, err := docstore.All[record](tx, bucket)
		for i, name := range names {
			records[i].Cluster.LastSeen = now
			r.clusters[name] = records[i]
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	return r, nil
}

// shown is a cluster as it is listed.
func (r *Registry) shown(rec record) Cluster {
	c := rec.Cluster
	c.HasKubeconfig = len(rec.Sealed) > 0
	if c.Source == FromAPI {
		at := c.LastSeen.Add(r.o.TTL)
		c.Expires = &at
	}
	return c
}

func (r *Registry) silent(rec record, now time.Time) bool {
	return rec.Cluster.Source == FromAPI && !now.Before(rec.Cluster.LastSeen.Add(r.o.TTL))
}

// Put registers a cluster, or updates it; it is a sign of life. A cluster that another source named is refused.
func (r *Registry) Put(ctx context.Context, source string, in Registration) (shown Cluster, created bool, err error) {
	if err := in.check(); err != nil {
		return shown, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Clock.Now().UTC()
	old, known := r.clusters[in.Name]
	known = known && !r.silent(old, now)
	if known && old.Cluster.Source != source {
		return shown, false, fmt.Errorf("%w: name: cluster %s is there already, from %s", ErrInvalid, in.Name, old.Cluster.Source)
	}
	rec := record{Cluster: in.Cluster}
	rec.Cluster.Source, rec.Cluster.LastSeen, rec.Cluster.Expires, rec.Cluster.HasKubeconfig = source, now, nil, false
	switch {
	case in.Kubeconfig != "":
		rec.Sealed = r.o.Key.seal(in.Name, in.Kubeconfig)
	case known:
		rec.Sealed = old.Sealed
	}
	if err := r.o.Store.Update(ctx, func(tx *docstore.Tx) error { return tx.Put(bucket, in.Name, rec) }); err != nil {
		return shown, false, err
	}
	r.clusters[in.Name] = rec
	shown = r.shown(rec)
	if known {
		r.announce(Event{Type: Modified, Cluster: &shown})
	} else {
		r.announce(Event{Type: Added, Cluster: &shown})
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
	return shown, !known, nil
}

// Heartbeat is a sign of life. It is not written down: after a restart silence counts from then on.
func (r *Registry) Heartbeat(name string) (Cluster, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Clock.Now().UTC()
	rec, ok := r.clusters[name]
	if !ok || r.silent(rec, now) {
		return Cluster{}, fmt.Errorf("cluster %q: %w", name, ErrUnknown)
	}
	rec.Cluster.LastSeen = now
	r.clusters[name] = rec
	return r.shown(rec), nil
}

// Remove takes a cluster out that a source named; ErrUnknown when it did not.
func (r *Registry) Remove(ctx context.Context, source, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.clusters[name]
	if !ok || rec.Cluster.Source != source {
		return fmt.Errorf("cluster %q: %w", name, ErrUnknown)
	}
	return r.drop(ctx, name)
}

// drop is called with the lock held.
func (r *Registry) drop(ctx context.Context, name string) error {
	if err := r.o.Store.Update(ctx, func(tx *docstore.Tx) error { return tx.Delete(bucket, name) }); err != nil {
		return err
	}
	gone := r.shown(r.clusters[name])
	delete(r.clusters, name)
	r.announce(Event{Type: Deleted, Cluster: &gone})
	return nil
}

// List lists the clusters that are not silent, by name.
func (r *Registry) List() []Cluster {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list()
}

func (r *Registry) list() []Cluster {
	now := r.o.Clock.Now()
	out := []Cluster{}
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		if rec := r.clusters[name]; !r.silent(rec, now) {
			out = append(out, r.shown(rec))
		}
	}
	return out
}

// Get is one cluster; ErrUnknown when it is not listed.
func (r *Registry) Get(name string) (Cluster, error) {
	for _, c := range r.List() {
		if c.Name == name {
			return c, nil
		}
	}
	return Cluster{}, fmt.Errorf("cluster %q: %w", name, ErrUnknown)
}

// Kubeconfig is how a cluster is reached, for those who may know.
func (r *Registry) Kubeconfig(name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, ok := r.clusters[name]
	if !ok || r.silent(rec, r.o.Clock.Now()) {
		return "", fmt.Errorf("cluster %q: %w", name, ErrUnknown)
	}
	if len(rec.Sealed) == 0 {
		return "", fmt.Errorf("the kubeconfig of cluster %q: %w", name, ErrUnknown)
	}
	text, err := r.o.Key.open(name, rec.Sealed)
	if err != nil {
		return "", fmt.Errorf("the kubeconfig of cluster %q: %w", name, err)
	}
	return text, nil
}

// Run takes silent clusters out until ctx ends. said hears of each, and of what went wrong.
func (r *Registry) Run(ctx context.Context, said func(text string, err error)) {
	for {
		wait := r.expire(ctx, said)
		timer := r.o.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-r.changed:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// expire says how long none will be silent.
func (r *Registry) expire(ctx context.Context, said func(string, error)) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Clock.Now()
	wait := r.o.TTL
	for _, name := range slices.Sorted(maps.Keys(r.clusters)) {
		rec := r.clusters[name]
		switch {
		case rec.Cluster.Source != FromAPI:
		case !r.silent(rec, now):
			wait = min(wait, rec.Cluster.LastSeen.Add(r.o.TTL).Sub(now))
		default:
			said(fmt.Sprintf("cluster %s was silent for %s and is taken out of the list", name, now.Sub(rec.Cluster.LastSeen)), r.drop(ctx, name))
		}
	}
	return max(wait, time.Millisecond)
}
