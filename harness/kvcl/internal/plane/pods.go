package plane

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

// podRun counts the leading changes that do the same to pods with distinct names, and of which the later ones can be taken
// back when an early one is refused: an update of more than the status cannot.
func (pl *Plane) podRun(changes []scalehist.Change) int {
	seen := map[string]bool{}
	for i, c := range changes {
		p, ok := c.Object.(*corev1.Pod)
		if !ok || c.Op != changes[0].Op || seen[Name(p)] {
			return i
		}
		if c.Op == scalehist.OpUpdate {
			if it := pl.store.find(PodKind, Name(p)); it == nil || !pl.statusOnly(it, p) || crank.Unsupported(p) != nil {
				return i
			}
		}
		seen[Name(p)] = true
	}
	return len(changes)
}

// addPods creates pods in parallel. If one is refused, those that come after it are taken back.
func (pl *Plane) addPods(ctx context.Context, changes []scalehist.Change) error {
	bodies := make([]scalehist.Object, len(changes))
	items := make([]*item, len(changes))
	errs := make([]error, len(changes))
	for i, c := range changes {
		items[i], bodies[i], errs[i] = pl.prepare(ctx, PodKind, c.Object, c.At)
		if errs[i] != nil {
			bodies = bodies[:i]
			break
		}
	}
	created := make([]scalehist.Object, len(changes))
	parallel(ctx, pl.server.Writers(), errs[:len(bodies)], func(i int) (err error) {
		created[i], err = pl.server.Post(ctx, PodKind, bodies[i])
		return err
	})
	failed := -1
	for i, obj := range created {
		if obj != nil {
			pl.store.add(items[i], obj)
		}
		if errs[i] != nil && failed < 0 {
			failed = i
		}
	}
	if failed < 0 {
		parallel(ctx, pl.server.Writers(), errs, func(i int) error { return pl.writeStatus(ctx, items[i], changes[i].Object) })
		for i, err := range errs {
			if err != nil {
				failed = i
				break
			}
		}
	}
	if failed < 0 {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err() // nothing can be taken back either, and nobody goes on with this cluster
	}
	p := changes[failed].Object
	err := fmt.Errorf("%s %s %s: %w", changes[failed].Op, PodKind.Name, Name(p), errs[failed])
	for i := failed; i < len(created); i++ {
		if created[i] == nil {
			continue
		}
		items[i].takenBack = true
		if derr := pl.remove(ctx, items[i], created[i].GetNamespace(), created[i].GetName()); derr != nil && !apierrors.IsNotFound(derr) {
			err = errors.Join(err, fmt.Errorf("take back Pod %s: %w", Name(created[i]), derr))
		}
	}
	for i := 0; i < failed; i++ {
		if serr := pl.writeStatus(ctx, items[i], changes[i].Object); serr != nil {
			err = errors.Join(err, serr)
		}
	}
	return err
}

// updatePods writes the status of pods in parallel. If one is refused, those that come after it get back what they had.
func (pl *Plane) updatePods(ctx context.Context, changes []scalehist.Change) error {
	items, before := make([]*item, len(changes)), make([]item, len(changes))
	errs, done := make([]error, len(changes)), make([]bool, len(changes))
	for i, c := range changes {
		items[i] = pl.store.find(PodKind, Name(c.Object))
		before[i] = *items[i]
		pl.noteDeletion(items[i], c.Object)
	}
	parallel(ctx, pl.server.Writers(), errs, func(i int) error {
		err := pl.writeStatus(ctx, items[i], changes[i].Object)
		done[i] = err == nil
		return err
	})
	for i, err := range errs {
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err() // nothing can be taken back either
		}
		err = fmt.Errorf("%s %s %s: %w", changes[i].Op, PodKind.Name, Name(changes[i].Object), err)
		for j := i + 1; j < len(changes); j++ {
			err = errors.Join(err, pl.takeBack(ctx, items[j], &before[j], done[j]))
		}
		return err
	}
	return nil
}

// takeBack gives a pod the status it had; written says whether the server took another one.
func (pl *Plane) takeBack(ctx context.Context, it, was *item, written bool) error {
	if written {
		status := was.latest.(*corev1.Pod).Status
		err := pl.change(ctx, it, func(obj scalehist.Object) bool {
			have := &obj.(*corev1.Pod).Status
			if equality.Semantic.DeepEqual(*have, status) {
				return false
			}
			*have = *status.DeepCopy()
			return true
		}, "status")
		if err != nil {
			return fmt.Errorf("take back the status of Pod %s: %w", Name(it.latest), err)
		}
	}
	it.scheduled, it.hushed = was.scheduled, Version(it.latest)
	if it.deletion != was.deletion {
		it.deletion = was.deletion
		pl.show(it)
	}
	return nil
}

// deletePods deletes pods in parallel.
func (pl *Plane) deletePods(ctx context.Context, changes []scalehist.Change) error {
	items, errs := make([]*item, len(changes)), make([]error, len(changes))
	known := len(changes)
	for i, c := range changes {
		if items[i] = pl.store.find(PodKind, Name(c.Object)); items[i] == nil && !pl.lost[Name(c.Object)] {
			known = i
			errs[i] = apierrors.NewNotFound(corev1.Resource(PodKind.Resource), c.Object.GetName())
			break
		}
	}
	parallel(ctx, pl.server.Writers(), errs[:known], func(i int) error {
		if items[i] == nil {
			return nil
		}
		return pl.remove(ctx, items[i], changes[i].Object.GetNamespace(), changes[i].Object.GetName())
	})
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s %s %s: %w", changes[i].Op, PodKind.Name, Name(changes[i].Object), err)
		}
		delete(pl.store.byName[PodKind.Order], Name(changes[i].Object))
	}
	return nil
}
