package operator

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// scalers keeps the scalers of ElastiServices as long as their specifications stay. KubeElasti makes new ones with every look, and closes
// them when its loop ends.
type scalers struct {
	registry elasti.Registry

	mu   sync.Mutex
	kept map[types.UID]*keptScalers
}

type keptScalers struct {
	generation int64
	list       []elasti.Scaler
}

func newScalers(r elasti.Registry) *scalers {
	return &scalers{registry: r, kept: map[types.UID]*keptScalers{}}
}

// of are the scalers of an ElastiService. A generation is a specification.
func (c *scalers) of(ctx context.Context, s *service) ([]elasti.Scaler, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.kept[s.UID]
	if k != nil && k.generation == s.Generation {
		return k.list, nil
	}
	list, err := c.registry.Scalers(ctx, s.Spec.Triggers, s.policy.Cooldown)
	if err != nil {
		return nil, reasoned(elasti.ReasonInvalidTriggers, err)
	}
	if k != nil {
		err = closeAll(ctx, k.list)
	}
	c.kept[s.UID] = &keptScalers{s.Generation, list}
	return list, err
}

// keep closes the scalers of all others.
func (c *scalers) keep(ctx context.Context, there map[types.UID]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for uid, k := range c.kept {
		if !there[uid] {
			_ = closeAll(ctx, k.list) // nobody asks them any more
			delete(c.kept, uid)
		}
	}
}

func (c *scalers) close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for uid, k := range c.kept {
		errs = append(errs, closeAll(ctx, k.list))
		delete(c.kept, uid)
	}
	return errors.Join(errs...)
}

func closeAll(ctx context.Context, list []elasti.Scaler) error {
	var errs []error
	for _, s := range list {
		errs = append(errs, s.Close(ctx))
	}
	return errors.Join(errs...)
}
