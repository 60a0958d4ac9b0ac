package kvcl

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
)

// Observe returns when everything that others wrote through Client before the call is in Cluster and will be seen by
// the next Settle. Without it, Settle sees of their writes what the watches have shown by then.
func (e *EnvTest) Observe(ctx context.Context) error {
	for _, k := range plane.Kinds {
		list, err := restOf(e.client, k).Get().Resource(k.Resource).Do(ctx).Get()
		if err != nil {
			return fmt.Errorf("observe %s: %w", k.Resource, err)
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			return fmt.Errorf("observe %s: %w", k.Resource, err)
		}
		listed, err := meta.ListAccessor(list)
		if err != nil {
			return fmt.Errorf("observe %s: %w", k.Resource, err)
		}
		there := make(map[types.UID]bool, len(objects))
		for _, o := range objects {
			obj := o.(scalehist.Object)
			there[obj.GetUID()] = true
			e.inbox.wrote(k, obj)
		}
		e.inbox.onlyThese(k, there, listed.GetResourceVersion())
	}
	return e.plane.Sync(ctx)
}
