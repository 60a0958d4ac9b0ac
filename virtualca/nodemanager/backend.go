package nodemanager

import (
	"context"
	"fmt"
	"time"

	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// Backend has node groups. All of it is called by many goroutines at once.
type Backend interface {
	externalgrpc.Provider
	externalgrpc.Templates
	externalgrpc.Pricer
	externalgrpc.Optioner
	externalgrpc.GPUs
	externalgrpc.Loops
	Groups
}

// Groups changes which groups there are, and remembers which changes were made.
type Groups interface {
	// CreateGroup adds a group like another one; ErrPrecondition when there is one of that name.
	CreateGroup(ctx context.Context, g externalgrpc.NodeGroup, like string) error
	// DestroyGroup takes a group away that has no nodes; ErrPrecondition when it has some.
	DestroyGroup(ctx context.Context, id string) error
	// Changed says whether the change with a key was made.
	Changed(ctx context.Context, key string) (bool, error)
}

type changeKey struct{}

// WithKey gives a change its key.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, changeKey{}, key)
}

// changes is the bucket of the keys of changes, with when they were made. They are kept for keptFor: nobody asks again later.
const changes, keptFor = "change", time.Hour

// Commit writes a change and its key, together or not at all.
func Commit(ctx context.Context, store *docstore.Store, now time.Time, f func(*docstore.Tx) error) error {
	return store.Update(ctx, func(tx *docstore.Tx) error {
		if key, ok := ctx.Value(changeKey{}).(string); ok && key != "" {
			keys, at, err := docstore.All[time.Time](tx, changes)
			if err != nil {
				return err
			}
			for i, old := range keys {
				if now.Sub(at[i]) > keptFor {
					if err := tx.Delete(changes, old); err != nil {
						return err
					}
				}
			}
			if err := tx.Put(changes, key, now); err != nil {
				return err
			}
		}
		return f(tx)
	})
}

// Committed says whether Commit wrote the change with a key.
func Committed(ctx context.Context, store *docstore.Store, key string) (found bool, err error) {
	err = store.Update(ctx, func(tx *docstore.Tx) error {
		var at time.Time
		found, err = tx.Get(changes, key, &at)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("was change %s made: %w", key, err)
	}
	return found, nil
}
