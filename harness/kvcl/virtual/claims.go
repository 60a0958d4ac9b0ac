package virtual

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

const (
	bindCompleted       = "pv.kubernetes.io/bind-completed"
	defaultStorageClass = "storageclass.kubernetes.io/is-default-class"
)

func (c *Cluster) admitStorageClass(ch scalehist.Change, s *storagev1.StorageClass) {
	if ch.Op == scalehist.OpDelete {
		delete(c.classes, s.Name)
		return
	}
	c.classes[s.Name] = s
}

// admitClaim binds a claim of an Immediate storage class as a volume controller and a provisioner would: to a volume
// of its own that every node can reach. Claims that wait for their first consumer are bound by the control plane when
// the scheduler has chosen a node, and a claim recorded as bound stays bound to its volume.
func (c *Cluster) admitClaim(ch scalehist.Change, claim *corev1.PersistentVolumeClaim) []scalehist.Change {
	if ch.Op != scalehist.OpAdd || claim.Spec.VolumeName != "" || !c.immediate(claim) {
		return []scalehist.Change{ch}
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pvc-" + claim.Namespace + "-" + claim.Name, CreationTimestamp: claim.CreationTimestamp},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: claim.Spec.AccessModes,
			Capacity:    claim.Spec.Resources.Requests,
			ClaimRef:    &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name},
			// Any source will do: nothing mounts it.
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/kept"}},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			VolumeMode:                    claim.Spec.VolumeMode,
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	if claim.Spec.StorageClassName != nil {
		volume.Spec.StorageClassName = *claim.Spec.StorageClassName
	}
	bound := claim.DeepCopy()
	bound.Spec.VolumeName = volume.Name
	if bound.Annotations == nil {
		bound.Annotations = map[string]string{}
	}
	bound.Annotations[bindCompleted] = "yes"
	bound.Status.Phase = corev1.ClaimBound
	return []scalehist.Change{
		{At: ch.At, Op: scalehist.OpAdd, Object: volume},
		{At: ch.At, Op: scalehist.OpAdd, Object: bound},
	}
}

// defaultClass is the newest of the default storage classes, as upstream's admission picks it; of two made at once the
// first by name.
func (c *Cluster) defaultClass() *storagev1.StorageClass {
	var best *storagev1.StorageClass
	for _, s := range c.classes {
		if s.Annotations[defaultStorageClass] != "true" {
			continue
		}
		if best == nil || best.CreationTimestamp.Before(&s.CreationTimestamp) ||
			best.CreationTimestamp.Equal(&s.CreationTimestamp) && s.Name < best.Name {
			best = s
		}
	}
	return best
}

// immediate says whether the claim's storage class, or the default one, provisions at once.
func (c *Cluster) immediate(claim *corev1.PersistentVolumeClaim) bool {
	var class *storagev1.StorageClass
	if name := claim.Spec.StorageClassName; name != nil {
		class = c.classes[*name]
	} else {
		class = c.defaultClass()
	}
	return class != nil && (class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate)
}
