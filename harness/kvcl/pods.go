package kvcl

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scalehist/scalehist"
)

// podWriters write pods in parallel. More gain nothing: the limit is the API server's CPU.
const podWriters = 8

// podRun counts the leading changes that do the same to pods with distinct names.
func podRun(changes []scalehist.Change) int {
	seen := map[string]bool{}
	for i, c := range changes {
		p, ok := c.Object.(*corev1.Pod)
		if !ok || c.Op != changes[0].Op || seen[name(p)] {
			return i
		}
		seen[name(p)] = true
	}
	return len(changes)
}

// addPods creates pods in parallel. If one is refused, those that come after it are taken back.
func (e *EnvTest) addPods(ctx context.Context, changes []scalehist.Change) error {
	bodies := make([]scalehist.Object, len(changes))
	items := make([]*item, len(changes))
	errs := make([]error, len(changes))
	for i, c := range changes {
		items[i], bodies[i], errs[i] = e.prepare(ctx, podKind, c.Object, c.At)
		if errs[i] != nil {
			bodies = bodies[:i]
			break
		}
	}
	created := make([]scalehist.Object, len(changes))
	parallel(podWriters, len(bodies), func(i int) bool {
		created[i], errs[i] = e.post(ctx, podKind, bodies[i])
		return errs[i] == nil
	})
	failed := -1
	for i, obj := range created {
		if obj != nil {
			e.store.add(items[i], obj)
		}
		if errs[i] != nil && failed < 0 {
			failed = i
		}
	}
	if failed < 0 {
		parallel(podWriters, len(bodies), func(i int) bool {
			errs[i] = e.writeStatus(ctx, items[i], changes[i].Object)
			return errs[i] == nil
		})
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
	p := changes[failed].Object
	err := fmt.Errorf("%s %s %s: %w", changes[failed].Op, podKind.name, name(p), errs[failed])
	for i := failed; i < len(created); i++ {
		if created[i] == nil {
			continue
		}
		if derr := e.remove(ctx, items[i], created[i].GetNamespace(), created[i].GetName()); derr != nil && !apierrors.IsNotFound(derr) {
			err = errors.Join(err, fmt.Errorf("take back Pod %s: %w", name(created[i]), derr))
		}
	}
	for i := 0; i < failed; i++ {
		if serr := e.writeStatus(ctx, items[i], changes[i].Object); serr != nil {
			err = errors.Join(err, serr)
		}
	}
	return err
}

// updatePods updates pods in parallel. If one is refused, those that come after it get back what they were.
func (e *EnvTest) updatePods(ctx context.Context, changes []scalehist.Change) error {
	items, before := make([]*item, len(changes)), make([]scalehist.Object, len(changes))
	errs, done := make([]error, len(changes)), make([]bool, len(changes))
	for i, c := range changes {
		items[i] = e.store.find(podKind, name(c.Object))
		if items[i] == nil {
			// Nothing after it is applied; the error comes in its turn.
			changes = changes[:i+1]
			break
		}
		before[i] = items[i].latest
		e.noteDeletion(items[i], c.Object)
	}
	parallel(podWriters, len(changes), func(i int) bool {
		errs[i] = e.update(ctx, podKind, changes[i].Object)
		done[i] = errs[i] == nil
		return done[i]
	})
	for i, err := range errs {
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s %s %s: %w", changes[i].Op, podKind.name, name(changes[i].Object), err)
		for j := i + 1; j < len(changes); j++ {
			if done[j] {
				err = errors.Join(err, e.update(ctx, podKind, before[j]))
			}
		}
		return err
	}
	return nil
}

// deletePods deletes pods in parallel.
func (e *EnvTest) deletePods(ctx context.Context, changes []scalehist.Change) error {
	items, errs := make([]*item, len(changes)), make([]error, len(changes))
	known := len(changes)
	for i, c := range changes {
		if items[i] = e.store.find(podKind, name(c.Object)); items[i] == nil {
			known = i
			errs[i] = apierrors.NewNotFound(corev1.Resource(podKind.resource), c.Object.GetName())
			break
		}
	}
	parallel(podWriters, known, func(i int) bool {
		errs[i] = e.remove(ctx, items[i], changes[i].Object.GetNamespace(), changes[i].Object.GetName())
		return errs[i] == nil
	})
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("%s %s %s: %w", changes[i].Op, podKind.name, name(changes[i].Object), err)
		}
		delete(e.store.byName[podKind.order], name(changes[i].Object))
	}
	return nil
}
