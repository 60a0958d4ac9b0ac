package virtual

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

// admitWorkload notes an object with replicas, and returns what to write for it. What controllers decide of a workload that was taken over
// is left out: its replicas, and the ReplicaSets of a Deployment.
func (c *Cluster) admitWorkload(ch scalehist.Change) ([]scalehist.Change, error) {
	ref, replicas, selector := scaleOf(ch.Object)
	if rs, ok := ch.Object.(*appsv1.ReplicaSet); ok {
		if ref, owned := c.workloads.owners.Note(rs); owned {
			w := c.workloads.get(ref)
			w.revise(ch.Op, rs)
			if w.run != nil {
				return nil, nil
			}
			return []scalehist.Change{ch}, nil
		}
	}
	if job, ok := ch.Object.(*batchv1.Job); ok {
		return c.admitJob(ch, job)
	}
	if ref.Kind == "" {
		return []scalehist.Change{ch}, nil
	}
	w := c.workloads.get(ref)
	c.workloads.touch(w)
	if ch.Op == scalehist.OpDelete {
		claims := c.deleteClaims(w, ch.At)
		w.replicas, w.object, w.sets = nil, nil, nil
		c.abandon(w)
		return append([]scalehist.Change{ch}, claims...), nil
	}
	w.replicas, w.object = replicas, ch.Object
	if s, err := metav1.LabelSelectorAsSelector(selector); err == nil && selector != nil {
		w.selector = s
	}
	if w.keeper == "" || w.keeper == recorded {
		return []scalehist.Change{ch}, nil
	}
	var err error
	ch.Object, err = c.changeObject(w)
	return []scalehist.Change{ch}, err
}

// scaleOf is the scale of an object with replicas; the kind is empty where it has none.
func scaleOf(o scalehist.Object) (ref scalehist.WorkloadRef, replicas *int32, selector *metav1.LabelSelector) {
	ref = scalehist.WorkloadRef{APIVersion: "apps/v1", Namespace: o.GetNamespace(), Name: o.GetName()}
	switch o := o.(type) {
	case *appsv1.Deployment:
		ref.Kind = "Deployment"
		return ref, o.Spec.Replicas, o.Spec.Selector
	case *appsv1.StatefulSet:
		ref.Kind = "StatefulSet"
		return ref, o.Spec.Replicas, o.Spec.Selector
	case *appsv1.ReplicaSet:
		ref.Kind = "ReplicaSet"
		return ref, o.Spec.Replicas, o.Spec.Selector
	case *corev1.ReplicationController:
		ref.APIVersion, ref.Kind = "v1", "ReplicationController"
		return ref, o.Spec.Replicas, &metav1.LabelSelector{MatchLabels: o.Spec.Selector}
	}
	return ref, nil, nil
}

// revise notes a ReplicaSet of a Deployment, as recorded.
func (w *workload) revise(op scalehist.Op, rs *appsv1.ReplicaSet) {
	i := slices.IndexFunc(w.sets, func(o *appsv1.ReplicaSet) bool { return o.Name == rs.Name })
	switch {
	case op == scalehist.OpDelete:
		if i >= 0 && w.run == nil { // later pods of it may be recorded: a replay is at another point than the recording was
			w.sets = slices.Delete(w.sets, i, i+1)
		}
	case i >= 0:
		w.sets[i] = rs
	default:
		w.sets = append(w.sets, rs)
	}
}
