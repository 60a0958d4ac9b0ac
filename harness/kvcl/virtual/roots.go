package virtual

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// rootObject is the object of a workload as controllers take it: as recorded, with the replicas that are wanted; else made of its newest pod.
func (w *workload) rootObject() runtime.Object {
	uid := types.UID("workload/" + w.ref.String())
	run := func(own types.UID, template bool) types.UID {
		w.run.root, w.run.template = cmp.Or(own, uid), template
		return w.run.root
	}
	switch o := w.object.(type) {
	case *appsv1.Deployment:
		if !hasTemplate(&o.Spec.Template) || o.Spec.Selector == nil {
			break // which ReplicaSet is the present one does not show
		}
		d := o.DeepCopy()
		d.UID, d.Spec.Replicas = run(o.UID, true), ptr.To(w.wanted)
		return d
	case *appsv1.ReplicaSet:
		rs := o.DeepCopy()
		rs.TypeMeta = metav1.TypeMeta{}
		rs.UID, rs.Spec.Replicas = run(o.UID, hasTemplate(&o.Spec.Template)), ptr.To(w.wanted)
		if !w.run.template {
			rs.Spec.Template = w.run.shown
		}
		return rs
	case *appsv1.StatefulSet:
		if o.Spec.Selector == nil {
			break
		}
		set := o.DeepCopy()
		set.UID, set.Spec.Replicas = run(o.UID, hasTemplate(&o.Spec.Template)), ptr.To(w.wanted)
		if !w.run.template {
			set.Spec.Template = w.run.shown
		}
		return w.recall(set)
	case *batchv1.Job:
		job := o.DeepCopy()
		job.UID = run(o.UID, hasTemplate(&o.Spec.Template))
		if !w.run.template {
			job.Spec.Template = w.run.shown
		}
		return job
	}
	w.run.alone = true
	if w.ref.Kind == statefulSet {
		set := &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.ref.Namespace, Name: w.ref.Name, UID: run("", false)},
			Spec:       appsv1.StatefulSetSpec{Replicas: ptr.To(w.wanted), Template: w.run.shown},
		}
		if n, ok := w.firstOrdinal(); ok && n > 0 {
			set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(n)} //nolint:gosec // the API has no more
		}
		return w.recall(set)
	}
	name := w.ref.Name
	if w.last != nil {
		if owner := metav1.GetControllerOfNoCopy(w.last); owner != nil {
			name = owner.Name // that of a ReplicaSet, which its pods are named after
		}
	}
	return &appsv1.ReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: w.ref.APIVersion, Kind: w.ref.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ref.Namespace, Name: name, UID: run("", false),
			// One with an owner spares pods that are alone on their node when it is made smaller.
			OwnerReferences: []metav1.OwnerReference{{Kind: w.ref.Kind, Name: w.ref.Name, UID: uid + "/owner", Controller: ptr.To(true)}},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(w.wanted), Template: w.run.shown},
	}
}

// templateIn is the template of an object with replicas; nil where it is of another kind.
func templateIn(o scalehist.Object) *corev1.PodTemplateSpec {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	}
	return nil
}

// hasTemplate says whether a template was recorded; histories of earlier versions leave it out.
func hasTemplate(t *corev1.PodTemplateSpec) bool { return len(t.Spec.Containers) > 0 }

// templateOf is what a pod shows of its template. Without one it is a template of which no pod is made here.
func templateOf(p *corev1.Pod) corev1.PodTemplateSpec {
	if p == nil {
		return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "unknown"}}}}
	}
	like := podlife.AsPending(p)
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: like.Labels, Annotations: like.Annotations}, Spec: like.Spec}
	return *t.DeepCopy()
}

// recall gives a StatefulSet the revisions that its pods show, so that they are not taken for outdated: updates come from above.
func (w *workload) recall(set *appsv1.StatefulSet) *appsv1.StatefulSet {
	if w.run.label != "" {
		return set // it has them
	}
	pods := slices.Clone(w.pods)
	slices.SortStableFunc(pods, func(a, b *pod) int {
		i, _ := ordinalOf(set.Name, a.object.Name)
		j, _ := ordinalOf(set.Name, b.object.Name)
		return i - j
	})
	w.run.label = set.Name + "-recorded"
	shown := func(pods []*pod) string {
		for _, p := range pods {
			if l := p.object.Labels[appsv1.StatefulSetRevisionLabel]; l != "" {
				return l
			}
		}
		return w.run.label
	}
	set.Status.CurrentRevision = shown(pods)
	slices.Reverse(pods)
	set.Status.UpdateRevision = shown(pods)
	w.run.label = set.Status.UpdateRevision
	return set
}

// firstOrdinal is the lowest ordinal there is.
func (w *workload) firstOrdinal() (first int, ok bool) {
	for _, p := range w.pods {
		if n, is := ordinalOf(w.ref.Name, p.object.Name); is && (!ok || n < first) {
			first, ok = n, true
		}
	}
	return first, ok
}
