package plane

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

// Admission that recorded objects have been through already and handmade ones have not. The server's own plugins are
// off: they read informers of their own, so what they do depends on when.

// admit completes c, a copy that is about to be created: priority and overhead of a pod from its classes, the class of
// a claim from the default one.
func (pl *Plane) admit(c scalehist.Object) error {
	switch o := c.(type) {
	case *corev1.Pod:
		if err := crank.Unsupported(o); err != nil {
			return err
		}
		pl.admitRuntimeClass(o)
		return pl.admitPriority(o)
	case *corev1.PersistentVolumeClaim:
		if o.Spec.StorageClassName == nil {
			if class := pl.defaultStorageClass(); class != "" {
				o.Spec.StorageClassName = &class
			}
		}
	}
	return nil
}

// admitRuntimeClass adds the overhead and the placement of the pod's runtime class, where the pod has no overhead yet.
func (pl *Plane) admitRuntimeClass(p *corev1.Pod) {
	if p.Spec.RuntimeClassName == nil || p.Spec.Overhead != nil {
		return
	}
	it := pl.store.find(runtimeKind, *p.Spec.RuntimeClassName)
	if it == nil {
		return
	}
	c := it.latest.(*nodev1.RuntimeClass)
	if c.Overhead != nil {
		p.Spec.Overhead = c.Overhead.PodFixed.DeepCopy()
	}
	if c.Scheduling == nil {
		return
	}
	for k, v := range c.Scheduling.NodeSelector {
		if p.Spec.NodeSelector == nil {
			p.Spec.NodeSelector = map[string]string{}
		}
		p.Spec.NodeSelector[k] = v
	}
	p.Spec.Tolerations = append(p.Spec.Tolerations, c.Scheduling.Tolerations...)
}

func (pl *Plane) admitPriority(p *corev1.Pod) error {
	if p.Spec.Priority != nil {
		return nil
	}
	switch p.Spec.PriorityClassName {
	case "system-cluster-critical":
		p.Spec.Priority = ptr.To[int32](2000000000)
		return nil
	case "system-node-critical":
		p.Spec.Priority = ptr.To[int32](2000001000)
		return nil
	case "":
		var first *item
		for _, it := range pl.store.byName[priorityKind.Order] {
			if it.latest.(*schedulingv1.PriorityClass).GlobalDefault && (first == nil || it.ordinal < first.ordinal) {
				first = it
			}
		}
		if first != nil {
			setPriority(p, first.latest.(*schedulingv1.PriorityClass))
		}
		return nil
	}
	it := pl.store.find(priorityKind, p.Spec.PriorityClassName)
	if it == nil {
		return fmt.Errorf("no PriorityClass with name %s was found", p.Spec.PriorityClassName)
	}
	setPriority(p, it.latest.(*schedulingv1.PriorityClass))
	return nil
}

func setPriority(p *corev1.Pod, c *schedulingv1.PriorityClass) {
	p.Spec.PriorityClassName = c.Name
	p.Spec.Priority = &c.Value
	if p.Spec.PreemptionPolicy == nil {
		p.Spec.PreemptionPolicy = c.PreemptionPolicy
	}
}

// defaultStorageClass is the newest class marked as default, as upstream picks it; by name among equals.
func (pl *Plane) defaultStorageClass() string {
	var best *item
	for _, it := range pl.store.byName[classKind.Order] {
		c := it.latest.(*storagev1.StorageClass)
		if c.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" {
			continue
		}
		if best == nil || best.created.Before(&it.created) ||
			best.created.Equal(&it.created) && c.Name < best.latest.GetName() {
			best = it
		}
	}
	if best == nil {
		return ""
	}
	return best.latest.GetName()
}

// sendableSpec drops from a copy what another cluster's API server assigned and ours would refuse.
func sendableSpec(c scalehist.Object) {
	switch o := c.(type) {
	case *corev1.Service:
		// Only the selector matters to scheduling; addresses and ports belong to the recorded network. The recorded
		// spec is kept beside the object.
		s := &corev1.ServiceSpec{Selector: o.Spec.Selector, Type: corev1.ServiceTypeClusterIP, ClusterIP: corev1.ClusterIPNone}
		if o.Spec.Type == corev1.ServiceTypeExternalName {
			s = &corev1.ServiceSpec{Selector: o.Spec.Selector, Type: o.Spec.Type, ExternalName: o.Spec.ExternalName}
		}
		o.Spec = *s
	case *batchv1.Job:
		// A recorded Job carries the selector its controller made.
		if o.Spec.Selector != nil {
			o.Spec.ManualSelector = ptr.To(true)
		}
	case *corev1.Namespace:
		o.Spec.Finalizers = nil
	}
}

// selectJob gives a Job without a selector the labels and the selector that the API server would make of a UID of its own,
// with ours in its place.
func selectJob(job *batchv1.Job, uid types.UID) {
	if job.Spec.Selector != nil || ptr.Deref(job.Spec.ManualSelector, false) {
		return
	}
	value := strings.Map(func(r rune) rune {
		if r == '/' || r == '#' {
			return '-' // a virtual UID is no label
		}
		return r
	}, string(uid))
	labels := &job.Spec.Template.Labels
	if *labels == nil {
		*labels = map[string]string{}
	}
	for _, l := range []struct{ key, value string }{
		{"job-name", job.Name}, {batchv1.JobNameLabel, job.Name}, {"controller-uid", value}, {batchv1.ControllerUidLabel, value},
	} {
		if _, there := (*labels)[l.key]; !there {
			(*labels)[l.key] = l.value
		}
	}
	job.Spec.ManualSelector = ptr.To(true)
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: value}}
}
