package multicluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/simulator/fit"
	"github.com/scalehist/scalehist/virtualca/discovery"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
)

// Kind is what a pool's file holds.
const Kind = "a node manager with borrowed capacity"

// Lister lists clusters that share capacity, by name. discovery.Client is one.
type Lister interface {
	Clusters(ctx context.Context) ([]discovery.Cluster, error)
}

// Options are the settings of a Pool. All but Said are needed.
type Options struct {
	Config   *Config
	Clusters Lister
	Peering  Peering
	Store    *docstore.Store
	Clock    clock.WithTicker
	// Said hears what becomes of shares, and what went wrong.
	Said func(text string, err error)
}

// Pool is node groups whose nodes are shares of other clusters. It is safe for concurrent use.
type Pool struct {
	o       Options
	timeout time.Duration

	mu       sync.Mutex
	fit      *fit.Checker
	groups   map[string]*Group
	order    []string
	next     map[string]int // of each group, the number in the name of its next node
	machines map[string]*machine
	busy     map[string]bool
	wake     chan struct{}
}

var _ nodemanager.Backend = (*Pool)(nil)

// machine is a share that was asked for, until it is given back.
type machine struct {
	// ID is the name of its node.
	ID    string `json:"id"`
	Group string `json:"group"`
	Seq   int    `json:"seq"`
	// Cluster gives it; empty: none does.
	Cluster string              `json:"cluster,omitempty"`
	Granted corev1.ResourceList `json:"granted,omitempty"`
	// Labels are those of the cluster.
	Labels    map[string]string  `json:"labels,omitempty"`
	State     externalgrpc.State `json:"state"`
	CreatedAt time.Time          `json:"createdAt"`
	// Left is a cluster that vanished while this was being created: what was begun there is cleared away first.
	Left string `json:"left,omitempty"`
	// Gone: its cluster is not listed any more.
	Gone  bool                        `json:"gone,omitempty"`
	Error *externalgrpc.InstanceError `json:"error,omitempty"`
}

// providerID is the spec.providerID of its node.
func (m *machine) providerID() string { return ProviderID(m.ID) }

// ProviderID is the spec.providerID of a node of a share.
func ProviderID(node string) string { return "share://" + node }

// groupState is what is kept of a group: the number of its next node, and its specification if it was created by a call.
type groupState struct {
	Next    int    `json:"next"`
	Own     *Group `json:"own,omitempty"`
	Removed bool   `json:"removed,omitempty"`
}

// buckets of the store.
const machineBucket, groupBucket = "machine", "group"

// New reads a pool. Run or Step then work on what was asked for.
func New(ctx context.Context, o Options) (*Pool, error) {
	checker, err := fit.New()
	if err != nil {
		return nil, fmt.Errorf("fit: %w", err)
	}
	p := &Pool{o: o, fit: checker, timeout: cmp.Or(time.Duration(o.Config.ProvisionTimeout), DefaultProvisionTimeout), groups: map[string]*Group{},
		next: map[string]int{}, machines: map[string]*machine{}, busy: map[string]bool{}, wake: make(chan struct{}, 1)}
	if p.o.Said == nil {
		p.o.Said = func(string, error) {}
	}
	for i := range o.Config.Groups {
		p.add(&o.Config.Groups[i])
	}
	err = o.Store.Update(ctx, func(tx *docstore.Tx) error {
		names, states, err := docstore.All[groupState](tx, groupBucket)
		if err != nil {
			return err
		}
		for i, name := range names {
			p.next[name] = states[i].Next
			switch _, known := p.groups[name]; {
			case states[i].Removed && known:
				p.remove(name)
			case states[i].Own != nil && !known:
				p.add(states[i].Own)
			}
		}
		ids, machines, err := docstore.All[machine](tx, machineBucket)
		for i, id := range ids {
			p.machines[id] = &machines[i]
			if _, known := p.groups[machines[i].Group]; !known { // its group was taken out of the configuration
				p.machines[id].State = externalgrpc.Deleting
			}
		}
		return err
	})
	return p, err
}

func (p *Pool) add(g *Group) {
	p.groups[g.Name] = g
	p.order = append(p.order, g.Name)
}

func (p *Pool) remove(name string) {
	delete(p.groups, name)
	p.order = slices.DeleteFunc(p.order, func(n string) bool { return n == name })
}

// ordered are all machines in the order in which they were asked for; the lock is held.
func (p *Pool) ordered() []*machine {
	return slices.SortedFunc(maps.Values(p.machines), func(a, b *machine) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) })
}

// of are the machines of a group; the lock is held.
func (p *Pool) of(group string) (out []*machine) {
	for _, m := range p.ordered() {
		if m.Group == group {
			out = append(out, m)
		}
	}
	return out
}

// target counts the machines that make up the target size.
func target(machines []*machine) (n int) {
	for _, m := range machines {
		if m.State != externalgrpc.Deleting {
			n++
		}
	}
	return n
}

// group is a group there is; the lock is held.
func (p *Pool) group(id string) (*Group, error) {
	g, ok := p.groups[id]
	if !ok {
		return nil, fmt.Errorf("node group %q: %w", id, externalgrpc.ErrNotFound)
	}
	return g, nil
}

// commit writes machines down, then takes them over; the lock is held. A machine that is nil is removed.
func (p *Pool) commit(ctx context.Context, changed map[string]*machine, more func(*docstore.Tx) error) error {
	err := nodemanager.Commit(ctx, p.o.Store, p.o.Clock.Now().UTC(), func(tx *docstore.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(changed)) {
			var err error
			if m := changed[id]; m == nil {
				err = tx.Delete(machineBucket, id)
			} else {
				err = tx.Put(machineBucket, id, m)
			}
			if err != nil {
				return err
			}
		}
		if more != nil {
			return more(tx)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, m := range changed {
		if m == nil {
			delete(p.machines, id)
		} else {
			p.machines[id] = m
		}
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return nil
}

// clusters asks for the list; a discovery server that does not answer is ErrUnavailable.
func (p *Pool) clusters(ctx context.Context) ([]discovery.Cluster, error) {
	list, err := p.o.Clusters.Clusters(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", externalgrpc.ErrUnavailable, err)
	}
	return list, nil
}
