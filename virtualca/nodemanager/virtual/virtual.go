// Package virtual is a back-end of the node manager with virtual node groups: those of package nodegroups, whose state outlives the process. The package
// must not know HTTP or other clusters.
package virtual

import (
	"context"
	"fmt"
	"time"

	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodegroups"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
)

// Kind is what its file holds.
const Kind = "a node manager with virtual node groups"

// bucket has the state of the provider.
const bucket, stateKey = "provider", "state"

// Restore gives a provider the state that a file holds; false when it holds none yet.
func Restore(ctx context.Context, store *docstore.Store, p *cloudprovider.Provider) (found bool, err error) {
	var s cloudprovider.State
	err = store.Update(ctx, func(tx *docstore.Tx) error {
		found, err = tx.Get(bucket, stateKey, &s)
		return err
	})
	if err != nil || !found {
		return false, err
	}
	if err := p.Restore(s); err != nil {
		return false, fmt.Errorf("restore node groups: %w", err)
	}
	return true, nil
}

// Backend is node groups whose changes are on the disk before they are answered. Use New.
type Backend struct {
	*nodegroups.Groups
	provider *cloudprovider.Provider
	turns    durable
	store    *docstore.Store
}

var _ nodemanager.Backend = (*Backend)(nil)

// New puts a provider behind the contract; turns give it, store keeps it.
func New(p *cloudprovider.Provider, turns nodegroups.Turns, store *docstore.Store) *Backend {
	d := durable{turns, p, store}
	return &Backend{Groups: nodegroups.New(p, d, nodegroups.Options{}), provider: p, turns: d, store: store}
}

// durable writes the provider down at the end of a turn that changes it.
type durable struct {
	nodegroups.Turns
	provider *cloudprovider.Provider
	store    *docstore.Store
}

type changingKey struct{}

// changing marks the turns of a call as changing the provider.
func changing(ctx context.Context) context.Context {
	return context.WithValue(ctx, changingKey{}, true)
}

// Turn implements nodegroups.Turns.
func (d durable) Turn(ctx context.Context, f func(now time.Time) error) error {
	if ctx.Value(changingKey{}) == nil {
		return d.Turns.Turn(ctx, f)
	}
	return d.Turns.Turn(ctx, func(now time.Time) error {
		before := d.provider.Clone()
		if err := f(now); err != nil {
			return err
		}
		err := nodemanager.Commit(ctx, d.store, now, func(tx *docstore.Tx) error { return tx.Put(bucket, stateKey, d.provider.State()) })
		if err != nil {
			*d.provider = *before // what is not on the disk did not happen
		}
		return err
	})
}

// IncreaseSize implements externalgrpc.Sizes.
func (b *Backend) IncreaseSize(ctx context.Context, id string, delta int) error {
	return b.Groups.IncreaseSize(changing(ctx), id, delta)
}

// DecreaseTargetSize implements externalgrpc.Sizes.
func (b *Backend) DecreaseTargetSize(ctx context.Context, id string, delta int) error {
	return b.Groups.DecreaseTargetSize(changing(ctx), id, delta)
}

// DeleteNodes implements externalgrpc.Instances.
func (b *Backend) DeleteNodes(ctx context.Context, id string, nodes []externalgrpc.Node) error {
	return b.Groups.DeleteNodes(changing(ctx), id, nodes)
}

// CreateGroup implements nodemanager.Groups.
func (b *Backend) CreateGroup(ctx context.Context, g externalgrpc.NodeGroup, like string) error {
	return b.turns.Turn(changing(ctx), func(time.Time) error {
		if _, ok := b.provider.Group(g.ID); ok {
			return fmt.Errorf("node group %s is there already: %w", g.ID, externalgrpc.ErrPrecondition)
		}
		one, ok := b.provider.Group(like)
		if !ok {
			return fmt.Errorf("node group %s, which %s is like: %w", like, g.ID, externalgrpc.ErrNotFound)
		}
		one.Name, one.MinSize, one.MaxSize, one.TargetSize, one.GuessedMax = g.ID, g.MinSize, g.MaxSize, 0, false
		return b.provider.UpdateGroup(one)
	})
}

// DestroyGroup implements nodemanager.Groups.
func (b *Backend) DestroyGroup(ctx context.Context, id string) error {
	return b.turns.Turn(changing(ctx), func(now time.Time) error {
		if _, ok := b.provider.Group(id); !ok {
			return fmt.Errorf("node group %q: %w", id, externalgrpc.ErrNotFound)
		}
		if n := len(b.provider.Instances(id)); n > 0 {
			return fmt.Errorf("node group %s has %d nodes: delete them first: %w", id, n, externalgrpc.ErrPrecondition)
		}
		return b.provider.RemoveGroup(now, id, func(string) bool { return false })
	})
}

// Changed implements nodemanager.Groups.
func (b *Backend) Changed(ctx context.Context, key string) (bool, error) {
	return nodemanager.Committed(ctx, b.store, key)
}
