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

	"github.com/scalehist/scalehist"
)

// Apply implements ControlPlane. Pods that are added, updated or deleted one after the other are written in parallel;
// their order is kept by ordinals, which come from the order of changes.
func (e *EnvTest) Apply(ctx context.Context, changes []scalehist.Change) error {
	defer since(&e.stats.Apply)()
	err := e.apply(ctx, changes)
	// What was written before an error counts, too.
	if serr := e.sync(ctx); err == nil {
		err = serr
	}
	return err
}

func (e *EnvTest) apply(ctx context.Context, changes []scalehist.Change) error {
	for i := 0; i < len(changes); {
		n := podRun(changes[i:])
		if n < 2 {
			if err := e.applyOne(ctx, changes[i]); err != nil {
				return err
			}
			i++
			continue
		}
		run := changes[i : i+n]
		var err error
		switch run[0].Op {
		case scalehist.OpAdd:
			err = e.addPods(ctx, run)
		case scalehist.OpUpdate:
			err = e.updatePods(ctx, run)
		case scalehist.OpDelete:
			err = e.deletePods(ctx, run)
		}
		if err != nil {
			return err
		}
		i += n
	}
	return nil
}

func (e *EnvTest) applyOne(ctx context.Context, c scalehist.Change) error {
	k, err := kindOf(c.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Op, err)
	}
	switch c.Op {
	case scalehist.OpAdd:
		err = e.add(ctx, k, c.Object, c.At)
	case scalehist.OpUpdate:
		err = e.update(ctx, k, c.Object)
	case scalehist.OpDelete:
		err = e.delete(ctx, k, c.Object)
	default:
		err = fmt.Errorf("unknown operation %q", c.Op)
	}
	if err != nil {
		return fmt.Errorf("%s %s %s: %w", c.Op, k.name, name(c.Object), err)
	}
	return nil
}

// prepare makes the identity and the body of an object that is about to be created.
func (e *EnvTest) prepare(ctx context.Context, k *kind, obj scalehist.Object, at time.Time) (*item, scalehist.Object, error) {
	if at.IsZero() {
		at = e.now
	}
	if k.namespaced {
		if err := e.needNamespace(ctx, obj.GetNamespace(), at); err != nil {
			return nil, nil, err
		}
	}
	body := sendable(obj)
	if err := e.admit(body); err != nil {
		return nil, nil, err
	}
	it := e.store.newItem(k, obj, at)
	if k == podKind {
		it.sent = body
	}
	return it, body, nil
}

// needNamespace creates a namespace that nobody added.
func (e *EnvTest) needNamespace(ctx context.Context, namespace string, at time.Time) error {
	if namespace == "" || e.store.find(namespaceKind, namespace) != nil {
		return nil
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := e.add(ctx, namespaceKind, ns, at); err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	e.store.find(namespaceKind, namespace).implicit = true
	return nil
}

func (e *EnvTest) add(ctx context.Context, k *kind, obj scalehist.Object, at time.Time) error {
	if it := e.store.find(k, name(obj)); it != nil && it.implicit {
		return e.adopt(ctx, it, obj, at)
	}
	it, body, err := e.prepare(ctx, k, obj, at)
	if err != nil {
		return err
	}
	created, err := e.post(ctx, k, body)
	if apierrors.IsAlreadyExists(err) && serverMade(k, name(obj)) && e.store.find(k, name(obj)) == nil {
		if created, err = e.get(ctx, k, obj.GetNamespace(), obj.GetName()); err != nil {
			return err
		}
		e.store.add(it, created)
		e.inbox.wrote(k, created)
		e.show(it)
		return e.update(ctx, k, obj)
	}
	if err != nil {
		return err
	}
	e.store.add(it, created)
	return e.writeStatus(ctx, it, obj)
}

// adopt makes an implicit namespace the one that was added.
func (e *EnvTest) adopt(ctx context.Context, it *item, obj scalehist.Object, at time.Time) error {
	it.implicit = false
	fresh := e.store.newItem(it.kind, obj, at)
	it.uid, it.created = fresh.uid, fresh.created
	e.show(it)
	return e.update(ctx, it.kind, obj)
}

// show makes an object visible that the watch delivered before it was ours, or that changed its identity.
func (e *EnvTest) show(it *item) {
	e.redeliver(it, it.latest.DeepCopyObject().(scalehist.Object))
}

// noteDeletion keeps a recorded deletion time: the API server lets nobody set it.
func (e *EnvTest) noteDeletion(it *item, obj scalehist.Object) {
	if d := obj.GetDeletionTimestamp(); d != nil && it.deletion == nil {
		it.deletion = d
		e.show(it)
	}
}

// update replaces labels, annotations, owners, spec and status. For pods it may run in parallel with itself.
func (e *EnvTest) update(ctx context.Context, k *kind, obj scalehist.Object) error {
	it := e.store.find(k, name(obj))
	if it == nil {
		return apierrors.NewNotFound(corev1.Resource(k.resource), obj.GetName())
	}
	e.noteDeletion(it, obj)
	want := sendable(obj)
	var sent scalehist.Object
	if pod, ok := want.(*corev1.Pod); ok {
		if it.sent != nil && sameButStatus(it.sent, want) {
			return e.writeStatus(ctx, it, obj)
		}
		sent = want.DeepCopyObject().(scalehist.Object)
		if err := e.updatePod(ctx, it, pod); err != nil {
			return err
		}
	}
	if svc, ok := obj.(*corev1.Service); ok {
		it.service = svc.Spec.DeepCopy()
	}
	err := e.change(ctx, it, func(have scalehist.Object) bool {
		before := have.DeepCopyObject()
		have.SetLabels(want.GetLabels())
		have.SetAnnotations(want.GetAnnotations())
		have.SetOwnerReferences(want.GetOwnerReferences())
		copyFields(have, want, k)
		return !equality.Semantic.DeepEqual(before, have)
	})
	if err != nil {
		return err
	}
	it.sent = sent
	return e.writeStatus(ctx, it, obj)
}

// sameButStatus says whether b asks for nothing that a did not. Most updates of pods are of their status alone.
func sameButStatus(a, b scalehist.Object) bool {
	if !equality.Semantic.DeepEqual(a.GetLabels(), b.GetLabels()) || !equality.Semantic.DeepEqual(a.GetAnnotations(), b.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences()) {
		return false
	}
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		switch x.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			if !equality.Semantic.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
				return false
			}
		}
	}
	return true
}

// copyFields copies everything but metadata and status: spec, data, value, provisioner and so on. Kinds made only of
// immutable fields stay as they are.
func copyFields(have, want scalehist.Object, k *kind) {
	h, w := reflect.ValueOf(have).Elem(), reflect.ValueOf(want).Elem()
	for i := range h.NumField() {
		switch h.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		case "Spec":
			if k == namespaceKind {
				continue
			}
			h.Field(i).Set(w.Field(i))
		default:
			h.Field(i).Set(w.Field(i))
		}
	}
}

// updatePod prepares a pod's replacement: what may only change through a subresource is changed there, and what the
// virtual cluster decided stays unless the change says otherwise.
func (e *EnvTest) updatePod(ctx context.Context, it *item, want *corev1.Pod) error {
	have := it.latest.(*corev1.Pod)
	if want.Spec.NodeName != "" && e.nodeOf(it) == "" {
		if err := e.bind(ctx, it, want.Namespace, want.Name, want.Spec.NodeName); err != nil {
			return err
		}
		fresh, err := e.get(ctx, podKind, want.Namespace, want.Name)
		if err != nil {
			return err
		}
		it.latest, have = fresh, fresh.(*corev1.Pod)
	}
	if want.Spec.NodeName == "" {
		want.Spec.NodeName = e.nodeOf(it)
	}
	if want.Spec.Priority == nil {
		want.Spec.Priority, want.Spec.PriorityClassName = have.Spec.Priority, have.Spec.PriorityClassName
		want.Spec.PreemptionPolicy = have.Spec.PreemptionPolicy
	}
	resized := false
	for i := range want.Spec.Containers {
		if i < len(have.Spec.Containers) && !equality.Semantic.DeepEqual(want.Spec.Containers[i].Resources, have.Spec.Containers[i].Resources) {
			resized = true
		}
	}
	if !resized {
		return nil
	}
	err := e.change(ctx, it, func(obj scalehist.Object) bool {
		p := obj.(*corev1.Pod)
		for i := range p.Spec.Containers {
			if i < len(want.Spec.Containers) {
				p.Spec.Containers[i].Resources = want.Spec.Containers[i].Resources
			}
		}
		return true
	}, "resize")
	if err != nil {
		return fmt.Errorf("resize: %w", err)
	}
	return nil
}

// nodeOf is where the pod stands as far as we know; the scheduler may have bound it since its latest version.
func (e *EnvTest) nodeOf(it *item) string {
	if p, ok := it.obj.(*corev1.Pod); ok && p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	return it.latest.(*corev1.Pod).Spec.NodeName
}

func (e *EnvTest) bind(ctx context.Context, it *item, namespace, podName, node string) error {
	b := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: podName, UID: it.apiUID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	err := core(e.client).Post().Namespace(namespace).Resource("pods").Name(podName).SubResource("binding").Body(b).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("bind to node %s: %w", node, err)
	}
	e.inbox.boundTo(it.apiUID)
	return nil
}

func (e *EnvTest) delete(ctx context.Context, k *kind, obj scalehist.Object) error {
	it := e.store.find(k, name(obj))
	if it == nil {
		return apierrors.NewNotFound(corev1.Resource(k.resource), obj.GetName())
	}
	if k == namespaceKind {
		return e.deleteNamespace(ctx, it, obj.GetName())
	}
	if err := e.remove(ctx, it, obj.GetNamespace(), obj.GetName()); err != nil {
		return err
	}
	// The name is free from now on; the object goes when the watch says so.
	delete(e.store.byName[k.order], name(obj))
	return nil
}

// deleteNamespace does what the namespace controller would: content first, then the finalizer.
func (e *EnvTest) deleteNamespace(ctx context.Context, it *item, namespace string) error {
	for _, k := range kinds {
		if !k.namespaced {
			continue
		}
		for objName, content := range e.store.byName[k.order] {
			if content.latest.GetNamespace() != namespace {
				continue
			}
			if err := e.remove(ctx, content, namespace, content.latest.GetName()); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s %s: %w", k.name, objName, err)
			}
			delete(e.store.byName[k.order], objName)
		}
	}
	if err := e.remove(ctx, it, "", namespace); err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	err := core(e.client).Put().Resource("namespaces").Name(namespace).SubResource("finalize").Body(ns).Do(ctx).Error()
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	delete(e.store.byName[namespaceKind.order], namespace)
	return nil
}
