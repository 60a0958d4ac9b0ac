package plane

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

// Apply writes changes in order, as kvcl.ControlPlane says. Pods that are added, updated or deleted one after the other are written in parallel;
// their order is kept by ordinals, which come from the order of changes.
func (pl *Plane) Apply(ctx context.Context, changes []scalehist.Change) error {
	defer since(&pl.stats.Apply)()
	err := pl.apply(ctx, changes)
	// What was written before an error counts, too.
	if serr := pl.Sync(ctx); err == nil {
		err = serr
	}
	return err
}

func (pl *Plane) apply(ctx context.Context, changes []scalehist.Change) error {
	for i := 0; i < len(changes); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := pl.podRun(changes[i:])
		// A status alone is written as a run, even one: that it is one is known by now.
		if n == 0 || n == 1 && changes[i].Op != scalehist.OpUpdate {
			if err := pl.applyOne(ctx, changes[i]); err != nil {
				return err
			}
			i++
			continue
		}
		run := changes[i : i+n]
		var err error
		switch run[0].Op {
		case scalehist.OpAdd:
			err = pl.addPods(ctx, run)
		case scalehist.OpUpdate:
			err = pl.updatePods(ctx, run)
		case scalehist.OpDelete:
			err = pl.deletePods(ctx, run)
		}
		if err != nil {
			return err
		}
		i += n
	}
	return nil
}

func (pl *Plane) applyOne(ctx context.Context, c scalehist.Change) error {
	k, err := KindOf(c.Object)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Op, err)
	}
	switch c.Op {
	case scalehist.OpAdd:
		err = pl.add(ctx, k, c.Object, c.At)
	case scalehist.OpUpdate:
		err = pl.update(ctx, k, c.Object)
	case scalehist.OpDelete:
		err = pl.delete(ctx, k, c.Object)
	default:
		err = fmt.Errorf("unknown operation %q", c.Op)
	}
	if err != nil {
		return fmt.Errorf("%s %s %s: %w", c.Op, k.Name, Name(c.Object), err)
	}
	return nil
}

// prepare makes the identity and the body of an object that is about to be created.
func (pl *Plane) prepare(ctx context.Context, k *Kind, obj scalehist.Object, at time.Time) (*item, scalehist.Object, error) {
	if at.IsZero() {
		at = pl.now
	}
	if k.Namespaced {
		if obj.GetNamespace() == "" {
			return nil, nil, errors.New("it has no namespace")
		}
		if err := pl.needNamespace(ctx, obj.GetNamespace(), at); err != nil {
			return nil, nil, err
		}
	}
	body := sendable(obj)
	if err := pl.admit(body); err != nil {
		return nil, nil, err
	}
	it := pl.store.newItem(k, obj, at)
	if k == PodKind {
		delete(pl.lost, Name(obj))
	}
	if job, ok := body.(*batchv1.Job); ok {
		selectJob(job, it.uid)
	}
	if k == PodKind {
		it.sent = body
	}
	return it, body, nil
}

// needNamespace creates a namespace that nobody added.
func (pl *Plane) needNamespace(ctx context.Context, namespace string, at time.Time) error {
	if namespace == "" || pl.store.find(NamespaceKind, namespace) != nil {
		return nil
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := pl.add(ctx, NamespaceKind, ns, at); err != nil {
		return fmt.Errorf("namespace: %w", err)
	}
	pl.store.find(NamespaceKind, namespace).implicit = true
	return nil
}

func (pl *Plane) add(ctx context.Context, k *Kind, obj scalehist.Object, at time.Time) error {
	if it := pl.store.find(k, Name(obj)); it != nil && it.implicit {
		return pl.adopt(ctx, it, obj, at)
	}
	it, body, err := pl.prepare(ctx, k, obj, at)
	if err != nil {
		return err
	}
	created, err := pl.server.Post(ctx, k, body)
	if apierrors.IsAlreadyExists(err) && serverMade(k, Name(obj)) && pl.store.find(k, Name(obj)) == nil {
		if created, err = pl.server.Get(ctx, k, obj.GetNamespace(), obj.GetName()); err != nil {
			return err
		}
		pl.store.add(it, created)
		pl.show(it)
		return pl.update(ctx, k, obj)
	}
	if err != nil {
		return err
	}
	pl.store.add(it, created)
	return pl.writeStatus(ctx, it, obj)
}

// adopt makes an implicit namespace the one that was added.
func (pl *Plane) adopt(ctx context.Context, it *item, obj scalehist.Object, at time.Time) error {
	it.implicit = false
	fresh := pl.store.newItem(it.kind, obj, at)
	it.uid, it.created = fresh.uid, fresh.created
	pl.show(it)
	return pl.update(ctx, it.kind, obj)
}

// show makes an object visible that the watch delivered before it was ours, or that changed its identity.
func (pl *Plane) show(it *item) {
	pl.redeliver(it, it.latest.DeepCopyObject().(scalehist.Object))
}

// noteDeletion keeps a recorded deletion time: the API server lets nobody set it.
func (pl *Plane) noteDeletion(it *item, obj scalehist.Object) {
	if d := obj.GetDeletionTimestamp(); d != nil && it.deletion == nil {
		it.deletion = d
		pl.show(it)
	}
}

// update replaces labels, annotations, owners, spec and status. For pods it may run in parallel with itself.
func (pl *Plane) update(ctx context.Context, k *Kind, obj scalehist.Object) error {
	it := pl.store.find(k, Name(obj))
	if it == nil && k == PodKind && pl.lost[Name(obj)] {
		return nil
	}
	if it == nil {
		return apierrors.NewNotFound(corev1.Resource(k.Resource), obj.GetName())
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		if err := crank.Unsupported(pod); err != nil {
			return err
		}
	}
	statusOnly := pl.statusOnly(it, obj)
	pl.noteDeletion(it, obj)
	if statusOnly {
		return pl.writeStatus(ctx, it, obj)
	}
	want := sendable(obj)
	var sent scalehist.Object
	if pod, ok := want.(*corev1.Pod); ok {
		sent = want.DeepCopyObject().(scalehist.Object)
		if err := pl.updatePod(ctx, it, pod); err != nil {
			return err
		}
	}
	if svc, ok := obj.(*corev1.Service); ok {
		it.service = svc.Spec.DeepCopy()
	}
	err := pl.change(ctx, it, func(have scalehist.Object) bool {
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
	return pl.writeStatus(ctx, it, obj)
}

// statusOnly says whether an update of a pod asks for nothing but its status. Everything else must be as Cluster shows it, or
// as Apply last sent it: that the API server has filled in, and the scheduler bound.
func (pl *Plane) statusOnly(it *item, obj scalehist.Object) bool {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return false
	}
	shown, _ := it.obj.(*corev1.Pod)
	if it.shown < Version(it.latest) {
		shown = nil // something was written since
	}
	if shown != nil && sameButStatus(shown, pod) {
		return true
	}
	sent, _ := it.sent.(*corev1.Pod)
	if sent == nil {
		return false
	}
	want := *pod
	if shown != nil {
		if want.Spec.NodeName == shown.Spec.NodeName {
			want.Spec.NodeName = sent.Spec.NodeName
		}
		if equality.Semantic.DeepEqual(want.Labels, shown.Labels) {
			want.Labels = sent.Labels
		}
	}
	return sameButStatus(sent, &want)
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
func copyFields(have, want scalehist.Object, k *Kind) {
	h, w := reflect.ValueOf(have).Elem(), reflect.ValueOf(want).Elem()
	for i := range h.NumField() {
		switch h.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		case "Spec":
			if k == NamespaceKind {
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
func (pl *Plane) updatePod(ctx context.Context, it *item, want *corev1.Pod) error {
	have := it.latest.(*corev1.Pod)
	if want.Spec.NodeName != "" && pl.nodeOf(it) == "" {
		if err := pl.bind(ctx, it, want.Namespace, want.Name, want.Spec.NodeName); err != nil {
			return err
		}
		fresh, err := pl.server.Get(ctx, PodKind, want.Namespace, want.Name)
		if err != nil {
			return err
		}
		it.latest, have = fresh, fresh.(*corev1.Pod)
	}
	if want.Spec.NodeName == "" {
		want.Spec.NodeName = pl.nodeOf(it)
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
	err := pl.change(ctx, it, func(obj scalehist.Object) bool {
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

// nodeOf is where the pod is as far as we know; the scheduler may have bound it since its latest version.
func (pl *Plane) nodeOf(it *item) string {
	if p, ok := it.obj.(*corev1.Pod); ok && p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	return it.latest.(*corev1.Pod).Spec.NodeName
}

func (pl *Plane) bind(ctx context.Context, it *item, namespace, podName, node string) error {
	if err := pl.server.Bind(ctx, namespace, podName, it.apiUID, node); err != nil {
		return fmt.Errorf("bind to node %s: %w", node, err)
	}
	return nil
}

func (pl *Plane) delete(ctx context.Context, k *Kind, obj scalehist.Object) error {
	it := pl.store.find(k, Name(obj))
	if it == nil && k == PodKind && pl.lost[Name(obj)] {
		return nil
	}
	if it == nil {
		return apierrors.NewNotFound(corev1.Resource(k.Resource), obj.GetName())
	}
	if k == NamespaceKind {
		return pl.deleteNamespace(ctx, it, obj.GetName())
	}
	if err := pl.remove(ctx, it, obj.GetNamespace(), obj.GetName()); err != nil {
		return err
	}
	// The name is free from now on; the object is removed when the watch says so.
	delete(pl.store.byName[k.Order], Name(obj))
	return nil
}

// deleteNamespace does what the namespace controller would: content first, then the finalizer.
func (pl *Plane) deleteNamespace(ctx context.Context, it *item, namespace string) error {
	for _, k := range Kinds {
		if !k.Namespaced {
			continue
		}
		for objName, content := range pl.store.byName[k.Order] {
			if content.latest.GetNamespace() != namespace {
				continue
			}
			if err := pl.remove(ctx, content, namespace, content.latest.GetName()); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s %s: %w", k.Name, objName, err)
			}
			delete(pl.store.byName[k.Order], objName)
		}
	}
	if err := pl.remove(ctx, it, "", namespace); err != nil {
		return err
	}
	err := pl.server.Finalize(ctx, namespace)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	delete(pl.store.byName[NamespaceKind.Order], namespace)
	return nil
}
