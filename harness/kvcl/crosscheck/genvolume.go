package crosscheck

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

func storageClass(g *gen) scalehist.Object {
	c := &storagev1.StorageClass{ObjectMeta: g.global("sc"), Provisioner: pick(g, driver, driver, "kubernetes.io/no-provisioner")}
	if !g.in(3) {
		g.reach("storage class: for the first consumer")
		c.VolumeBindingMode = ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)
	} else if g.in(2) {
		c.VolumeBindingMode = ptr.To(storagev1.VolumeBindingImmediate)
	}
	if g.in(4) {
		g.reach("storage class: default")
		c.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	}
	if g.in(4) {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
			{Key: corev1.LabelTopologyZone, Values: []string{pick(g, zones...)}},
		}}}
	}
	return c
}

// className is a class that may be there.
func (g *gen) className() string {
	if c := g.some("StorageClass"); c != nil && !g.in(8) {
		return c.GetName()
	}
	return pick(g, "sc-0", "")
}

func volume(g *gen) scalehist.Object {
	v := &corev1.PersistentVolume{ObjectMeta: g.global("pv"), Spec: corev1.PersistentVolumeSpec{
		Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(pick(g, "1Gi", "5Gi", "10Gi"))},
		AccessModes: []corev1.PersistentVolumeAccessMode{g.accessMode()}, StorageClassName: g.className(),
	}}
	switch g.n(4) {
	case 0, 3:
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: v.Name}
	case 1:
		v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: "/x"}
	case 2:
		v.Spec.Local = &corev1.LocalVolumeSource{Path: "/x"}
	}
	if v.Spec.Local != nil || g.in(2) {
		g.reach("volume: node affinity")
		key, value := corev1.LabelTopologyZone, pick(g, zones...)
		if g.in(2) {
			key, value = corev1.LabelHostname, fmt.Sprintf("n-%d", g.n(4))
		}
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}}},
		}}}
	} else if g.in(3) {
		v.Labels = map[string]string{corev1.LabelTopologyZone: pick(g, zones...)}
	}
	if c := g.some("PersistentVolumeClaim"); c != nil && g.in(3) {
		g.reach("volume: claimed")
		v.Spec.ClaimRef = claimRef(c)
	}
	if g.in(3) {
		v.Status.Phase = pick(g, corev1.VolumeAvailable, corev1.VolumeBound, corev1.VolumeReleased, corev1.VolumePending)
	}
	if g.in(5) {
		v.Spec.PersistentVolumeReclaimPolicy = pick(g, corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)
	}
	return v
}

func claimRef(c scalehist.Object) *corev1.ObjectReference {
	ref := &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.GetNamespace(), Name: c.GetName(), UID: c.GetUID()}
	if ref.UID == "" {
		ref.UID = types.UID(fmt.Sprintf("PersistentVolumeClaim/%s/%s#1", c.GetNamespace(), c.GetName()))
	}
	return ref
}

func (g *gen) accessMode() corev1.PersistentVolumeAccessMode {
	m := pick(g, corev1.ReadWriteOnce, corev1.ReadWriteOnce, corev1.ReadWriteMany, corev1.ReadWriteOncePod)
	if m == corev1.ReadWriteOncePod {
		g.reach("volume: for one pod alone")
	}
	return m
}

func (g *gen) claimSpec() corev1.PersistentVolumeClaimSpec {
	s := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{g.accessMode()},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(pick(g, "1Gi", "2Gi", "20Gi"))}},
	}
	if !g.in(4) {
		s.StorageClassName = ptr.To(g.className())
	} else {
		g.reach("claim: of the default class")
	}
	return s
}

func claim(g *gen) scalehist.Object {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: g.meta("pvc"), Spec: g.claimSpec()}
	c.Namespace = pick(g, "default", "default", c.Namespace)
	if g.in(2) {
		if v, ok := g.some("PersistentVolume").(*corev1.PersistentVolume); ok {
			g.reach("claim: bound")
			bindClaim(c, v)
		}
	}
	if g.in(8) {
		at := g.past()
		c.DeletionTimestamp = &at
	}
	if g.in(8) {
		c.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "n-0"}
	}
	return c
}

func bindClaim(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
	c.Spec.StorageClassName = &v.Spec.StorageClassName
	c.Spec.VolumeName, c.Spec.AccessModes = v.Name, v.Spec.AccessModes
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: v.Spec.AccessModes, Capacity: v.Spec.Capacity}
}

func csiNode(g *gen) scalehist.Object {
	n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%d", g.n(4))}}
	if !g.in(5) {
		g.reach("CSI node: limit")
		d := storagev1.CSINodeDriver{Name: driver, NodeID: n.Name, TopologyKeys: []string{corev1.LabelTopologyZone}}
		if !g.in(4) {
			d.Allocatable = &storagev1.VolumeNodeResources{Count: ptr.To(pick[int32](g, 1, 0, 1, 2))}
		}
		n.Spec.Drivers = []storagev1.CSINodeDriver{d}
	}
	return n
}
