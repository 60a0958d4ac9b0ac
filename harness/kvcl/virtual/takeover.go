package virtual

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

const statefulSet = "StatefulSet"

// controlled is what controllers know of a workload that was taken over.
type controlled struct {
	root types.UID
	// alone: its object was not recorded, or is of a kind nobody knows, so that it is what its pods show; they may have several owners.
	alone bool
	// template: what new pods are like was recorded. Else shown is what its newest pod showed of that when it was taken over.
	template bool
	shown    corev1.PodTemplateSpec
	// spares are recorded pods that have not been here: the next pods are these, in this order. evicted come back by themselves.
	spares  []*corev1.Pod
	evicted []*corev1.Pod
	// like are the newest pods by revision: what a pod is like that was never recorded.
	like map[string]*corev1.Pod
	// counted are the pods that a Job has counted.
	counted map[types.UID]bool
	// sets are the UIDs here of recorded ReplicaSets, by name. label is the revision of a StatefulSet's pods that do not say theirs.
	sets  map[string]types.UID
	label string
}

// control lets the controllers of simulator/workload act for a workload from now on, with the pods that it has.
func (c *Cluster) control(w *workload) error {
	k := &c.controllers
	w.run = &controlled{like: map[string]*corev1.Pod{}, sets: map[string]types.UID{}, counted: map[types.UID]bool{}, shown: templateOf(w.last)}
	root := w.rootObject()
	if err := k.state.Apply(root); err != nil {
		return fmt.Errorf("take over %s: %w", w.ref, err)
	}
	k.of[w.run.root] = w
	if !slices.Contains(k.taken, w) {
		k.taken = append(k.taken, w)
	}
	pods := w.pods
	var leaving []*corev1.Pod
	for _, l := range c.leaving {
		if c.workloads.of(l.object) == w {
			leaving = append(leaving, l.object)
		}
	}
	if d := k.state.Deployment(w.run.root); d != nil {
		if err := c.controlSets(w, d, pods, leaving); err != nil {
			return err
		}
	}
	if w.last != nil {
		w.run.like[revision(w, k.view(w, w.last))] = w.last
	}
	for _, p := range pods {
		k.put(w, p.object)
	}
	for i := range c.leaving {
		if l := c.leaving[i]; slices.Contains(leaving, l.object) {
			c.departs(l.name, l.object)
		}
	}
	for _, p := range c.returning(w) {
		c.forgetReturn(scalehist.NameOf(p))
		c.again(p)
	}
	k.stale, c.budgetsDirty = true, true
	return nil
}

// controlSets hands over the ReplicaSets of a Deployment: those that were recorded, and those that only its pods show.
func (c *Cluster) controlSets(w *workload, d *appsv1.Deployment, pods []*pod, leaving []*corev1.Pod) error {
	for _, rs := range w.sets {
		if err := c.controlSet(w, d, rs.DeepCopy()); err != nil {
			return err
		}
		c.controllers.written[w.run.sets[rs.Name]] = true
	}
	type shown struct {
		pod   *corev1.Pod
		count int32
	}
	owners := map[string]*shown{}
	see := func(p *corev1.Pod, n int32) {
		owner := metav1.GetControllerOfNoCopy(p)
		if _, known := w.run.sets[owner.Name]; known {
			return
		}
		if owners[owner.Name] == nil {
			owners[owner.Name] = &shown{pod: p}
		}
		owners[owner.Name].count += n
	}
	newest := "" // the one of the present template, as far as pods show
	for _, p := range leaving {
		see(p, 0)
	}
	for _, p := range pods {
		see(p.object, 1)
		newest = metav1.GetControllerOfNoCopy(p.object).Name
	}
	for _, name := range slices.Sorted(maps.Keys(owners)) {
		p := owners[name].pod
		rs := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, UID: podlife.ControllerUID(p)},
			Spec:       appsv1.ReplicaSetSpec{Replicas: ptr.To(owners[name].count), Template: *d.Spec.Template.DeepCopy()},
		}
		if len(w.sets) > 0 || name != newest {
			rs.Spec.Template = templateOf(p)
		}
		if err := c.controlSet(w, d, rs); err != nil {
			return err
		}
	}
	return nil
}

// controlSet hands over one ReplicaSet of a Deployment.
func (c *Cluster) controlSet(w *workload, d *appsv1.Deployment, rs *appsv1.ReplicaSet) error {
	rs.TypeMeta = metav1.TypeMeta{}
	rs.UID = cmp.Or(rs.UID, types.UID("workload/ReplicaSet/"+rs.Namespace+"/"+rs.Name))
	rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	if !hasTemplate(&rs.Spec.Template) {
		rs.Spec.Template = *d.Spec.Template.DeepCopy()
	}
	if rs.Spec.Selector == nil {
		rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Spec.Template.Labels}
	}
	// What the size is for, which the Deployment's controller writes there: without it a change of size is not spread over a rollout.
	deploymentutil.SetReplicasAnnotations(rs, *d.Spec.Replicas, *d.Spec.Replicas+deploymentutil.MaxSurge(*d))
	if err := c.controllers.state.Apply(rs); err != nil {
		return fmt.Errorf("take over %s: %w", w.ref, err)
	}
	w.run.sets[rs.Name] = rs.UID
	c.controllers.of[rs.UID] = w
	return nil
}

// changeObject lets a workload that was taken over have the object that was recorded of it now, and returns it as it is here: with the
// replicas that are wanted. One that was deleted and is back has those of its object, until somebody scales it.
func (c *Cluster) changeObject(w *workload) (scalehist.Object, error) {
	uid, template := w.object.GetUID(), templateIn(w.object)
	if w.run != nil && !w.run.alone && uid != "" && uid != w.run.root {
		c.abandon(w)
	}
	switch {
	case w.run == nil:
		w.wanted = ptr.Deref(w.replicas, 1)
		if err := c.control(w); err != nil {
			return nil, err
		}
	case !w.run.alone && (!w.run.template || template != nil && hasTemplate(template)):
		if err := c.controllers.state.Apply(w.rootObject()); err != nil {
			return nil, fmt.Errorf("change %s: %w", w.ref, err)
		}
		c.controllers.stale = true
	}
	out := w.object.DeepCopyObject().(scalehist.Object)
	switch o := out.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = ptr.To(w.wanted)
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = ptr.To(w.wanted)
	case *appsv1.StatefulSet:
		o.Spec.Replicas = ptr.To(w.wanted)
	case *corev1.ReplicationController:
		o.Spec.Replicas = ptr.To(w.wanted)
	}
	return out, nil
}

// abandon ends what controllers do with a workload whose object is gone: the garbage collector deletes its pods.
func (c *Cluster) abandon(w *workload) {
	if w.run == nil {
		return
	}
	k := &c.controllers
	k.dropped = append(k.dropped, w.run.evicted...)
	k.state.Delete(w.run.root)
	w.run, w.wanted, k.stale = nil, 0, true
}
