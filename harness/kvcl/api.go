package kvcl

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

// conflictTries: somebody else, through Client, may write the same object between our read and write.
const conflictTries = 5

// post creates obj. It touches neither store nor obj and may run in parallel with itself.
func (e *EnvTest) post(ctx context.Context, k *kind, obj scalehist.Object) (scalehist.Object, error) {
	out := k.new()
	err := k.group(e.client).Post().NamespaceIfScoped(obj.GetNamespace(), k.namespaced).Resource(k.resource).Body(obj).Do(ctx).Into(out)
	if err != nil {
		return nil, err
	}
	e.inbox.wrote(k, out)
	return out, nil
}

// put replaces obj or, with sub, one of its subresources.
func (e *EnvTest) put(ctx context.Context, k *kind, obj scalehist.Object, sub ...string) (scalehist.Object, error) {
	out := k.new()
	err := k.group(e.client).Put().NamespaceIfScoped(obj.GetNamespace(), k.namespaced).Resource(k.resource).Name(obj.GetName()).
		SubResource(sub...).Body(obj).Do(ctx).Into(out)
	if err != nil {
		return nil, err
	}
	e.inbox.wrote(k, out)
	return out, nil
}

// patch applies a patch to an object or a subresource.
func (e *EnvTest) patch(ctx context.Context, k *kind, namespace, objName string, pt types.PatchType, data []byte, sub ...string) (scalehist.Object, error) {
	out := k.new()
	err := k.group(e.client).Patch(pt).NamespaceIfScoped(namespace, k.namespaced).Resource(k.resource).Name(objName).
		SubResource(sub...).Body(data).Do(ctx).Into(out)
	if err != nil {
		return nil, err
	}
	e.inbox.wrote(k, out)
	return out, nil
}

// get reads the object as it is now.
func (e *EnvTest) get(ctx context.Context, k *kind, namespace, objName string) (scalehist.Object, error) {
	out := k.new()
	return out, k.group(e.client).Get().NamespaceIfScoped(namespace, k.namespaced).Resource(k.resource).Name(objName).Do(ctx).Into(out)
}

// remove deletes an object at once.
func (e *EnvTest) remove(ctx context.Context, it *item, namespace, objName string) error {
	opts := &metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0),
		PropagationPolicy:  ptr.To(metav1.DeletePropagationBackground),
		Preconditions:      &metav1.Preconditions{UID: &it.apiUID},
	}
	err := it.kind.group(e.client).Delete().NamespaceIfScoped(namespace, it.kind.namespaced).Resource(it.kind.resource).Name(objName).
		Body(opts).Do(ctx).Error()
	if err != nil {
		return err
	}
	e.inbox.deleted(it.kind, it.apiUID)
	return nil
}

// change edits an object and writes it, reading it anew when somebody else was faster. edit gets a copy of the
// latest version known; it returns false when there is nothing to write.
func (e *EnvTest) change(ctx context.Context, it *item, edit func(obj scalehist.Object) bool, sub ...string) error {
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
		out, err := e.put(ctx, it.kind, obj, sub...)
		if apierrors.IsConflict(err) && try < conflictTries {
			if out, err = e.get(ctx, it.kind, obj.GetNamespace(), obj.GetName()); err == nil {
				it.latest = out
				continue
			}
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
func (e *EnvTest) writeStatus(ctx context.Context, it *item, given scalehist.Object) error {
	if !it.kind.status {
		return nil
	}
	want := statusOf(given)
	if want.IsZero() {
		return nil
	}
	if it.kind == podKind && !worthWriting(given.(*corev1.Pod)) {
		return nil
	}
	err := e.change(ctx, it, func(obj scalehist.Object) bool {
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
	if p, ok := given.(*corev1.Pod); ok {
		if c := podScheduled(p); c != nil {
			it.scheduled = c
		}
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

// sync waits for the watches and takes what they delivered into the store.
func (e *EnvTest) sync(ctx context.Context) error {
	if err := e.inbox.barrier(ctx); err != nil {
		return fmt.Errorf("wait for the watches to show what was written: %w", err)
	}
	e.drain()
	return nil
}

func since(d *time.Duration) func() {
	start := time.Now()
	return func() { *d += time.Since(start) }
}
