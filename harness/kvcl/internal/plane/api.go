package plane

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

// conflictTries: somebody else, through Client, may write the same object between our read and write.
const conflictTries = 5

// remove deletes an object at once.
func (pl *Plane) remove(ctx context.Context, it *item, namespace, objName string) error {
	err := pl.server.Delete(ctx, it.kind, namespace, objName, it.apiUID)
	if it.kind == PodKind && apierrors.IsNotFound(err) {
		return nil // somebody else was faster, and the watch will say so
	}
	return err
}

// change edits an object and writes it, reading it again when somebody else was faster. edit gets a copy of the
// latest version known; it returns false when there is nothing to write.
func (pl *Plane) change(ctx context.Context, it *item, edit func(obj scalehist.Object) bool, sub ...string) error {
	for try := 0; ; try++ {
		obj := it.latest.DeepCopyObject().(scalehist.Object)
		// Empty times mean: as they are.
		obj.SetUID(it.apiUID)
		obj.SetCreationTimestamp(metav1.Time{})
		obj.SetDeletionTimestamp(nil)
		obj.SetManagedFields(nil)
		if !edit(obj) {
			return nil
		}
		out, err := pl.server.Put(ctx, it.kind, obj, sub...)
		if apierrors.IsConflict(err) && try < conflictTries {
			if out, err = pl.server.Get(ctx, it.kind, obj.GetNamespace(), obj.GetName()); err == nil {
				it.latest = out
				continue
			}
		}
		if it.kind == PodKind && apierrors.IsNotFound(err) {
			return nil // as in remove
		}
		if err != nil {
			return err
		}
		it.latest = out
		return nil
	}
}

// sendable is a copy of obj as it may be created: without what belongs to the server it came from.
func sendable(obj scalehist.Object) scalehist.Object {
	c := obj.DeepCopyObject().(scalehist.Object)
	c.SetUID("")
	c.SetResourceVersion("")
	c.SetCreationTimestamp(metav1.Time{})
	c.SetDeletionTimestamp(nil)
	c.SetDeletionGracePeriodSeconds(nil)
	c.SetManagedFields(nil)
	c.SetSelfLink("")
	c.SetGeneration(0)
	// Finalizers wait for controllers that do not run; OpDelete removes at once.
	c.SetFinalizers(nil)
	sendableSpec(c)
	return c
}

// writeStatus brings the status of the object behind it to the one of given, if they differ.
func (pl *Plane) writeStatus(ctx context.Context, it *item, given scalehist.Object) error {
	if !it.kind.Status {
		return nil
	}
	want := statusOf(given)
	if want.IsZero() {
		return nil
	}
	if it.kind == PodKind && !worthWriting(given.(*corev1.Pod)) {
		return nil
	}
	err := pl.change(ctx, it, func(obj scalehist.Object) bool {
		have := statusOf(obj)
		w := reflect.New(want.Type()).Elem()
		w.Set(want)
		if p, ok := obj.(*corev1.Pod); ok {
			fillPodStatus(w.Addr().Interface().(*corev1.PodStatus), &p.Status)
		}
		if equality.Semantic.DeepEqual(have.Interface(), w.Interface()) {
			return false
		}
		have.Set(w)
		return true
	}, "status")
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	switch o := given.(type) {
	case *corev1.Pod:
		if c := podScheduled(o); c != nil {
			it.scheduled = c
		}
	case *policyv1.PodDisruptionBudget:
		it.budget = o.Status.DeepCopy()
	}
	return nil
}

// worthWriting: a pod that has not started has nothing in its status that the API server or the scheduler would not
// write themselves, unless room was made for it.
func worthWriting(p *corev1.Pod) bool {
	s := &p.Status
	if s.Phase != "" && s.Phase != corev1.PodPending || s.NominatedNodeName != "" {
		return true
	}
	return p.Spec.NodeName != "" && (s.StartTime != nil || len(s.Conditions) > 0)
}

// fillPodStatus completes a recorded status with what the API server insists on.
func fillPodStatus(want, have *corev1.PodStatus) {
	if want.Phase == "" {
		want.Phase = have.Phase
	}
	if want.QOSClass == "" {
		want.QOSClass = have.QOSClass
	}
}

func podScheduled(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodScheduled {
			return p.Status.Conditions[i].DeepCopy()
		}
	}
	return nil
}

func since(d *time.Duration) func() {
	start := time.Now()
	return func() { *d += time.Since(start) }
}
