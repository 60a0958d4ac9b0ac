package contract

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	csiDriver    = "disk.example.com"
	bindComplete = "pv.kubernetes.io/bind-completed"
	// noProvisioner is upstream's for volumes that people make.
	noProvisioner = "kubernetes.io/no-provisioner"
)

// class waits for the first consumer.
func class(name, provisioner string, edits ...func(*storagev1.StorageClass)) *storagev1.StorageClass {
	c := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner,
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	for _, e := range edits {
		e(c)
	}
	return c
}

func immediate(c *storagev1.StorageClass) {
	c.VolumeBindingMode = ptr.To(storagev1.VolumeBindingImmediate)
}

// claim asks class for size, once writable.
func claim(name, class, size string, edits ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(class),
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}
	for _, e := range edits {
		e(c)
	}
	return c
}

// boundTo is a claim as the volume controller leaves it.
func boundTo(volume string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeName = volume
		c.Annotations = map[string]string{bindComplete: "yes"}
		c.Status.Phase = corev1.ClaimBound
	}
}

func oncePerPod(c *corev1.PersistentVolumeClaim) {
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
}

// volume is a free one of class and size.
func volume(name, class, size string, edits ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              class,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: csiDriver, VolumeHandle: name},
			},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
	for _, e := range edits {
		e(v)
	}
	return v
}

// reachable limits a volume to the nodes with a label of that value.
func reachable(key, value string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}},
		}}}}
	}
}

// heldBy is a volume bound to a claim.
func heldBy(claim string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: namespace, Name: claim}
		v.Status.Phase = corev1.VolumeBound
	}
}

// uses mounts claims.
func uses(claims ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, c := range claims {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: c, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c},
			}})
		}
	}
}

// csiNode takes at most limit volumes of a driver, and serves in-tree plugins migrated to it.
func csiNode(node, driver string, limit int32, migrated string) *storagev1.CSINode {
	c := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: driver, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To(limit)},
		}}},
	}
	if migrated != "" {
		c.Annotations = map[string]string{"storage.alpha.kubernetes.io/migrated-plugins": migrated}
	}
	return c
}

// heldVolumes are "volume claim" of every volume, in creation order.
func (s *suite) heldVolumes() []string {
	var out []string
	for _, v := range s.cp.Objects().PersistentVolumes {
		held := "-"
		if v.Spec.ClaimRef != nil {
			held = v.Spec.ClaimRef.Name
		}
		out = append(out, v.Name+" "+held)
	}
	return out
}
