package crank

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	csitrans "k8s.io/csi-translation-lib"

	"github.com/scalehist/scalehist/harness/kvcl/profile"
)

// Provisioners whose volumes live on one node. All others are taken to be zonal where nodes have zones.
var nodeLocalProvisioners = map[string]bool{
	"rancher.io/local-path": true,
	"openebs.io/local":      true,
	"topolvm.io":            true,
}

// bindVolumes finishes the volumes of a pod in place of the PV controller and the provisioner.
func (c *Crank) bindVolumes(_ context.Context, v profile.PodVolumes) error {
	for _, pv := range v.Static {
		ref := pv.Spec.ClaimRef
		claim, ok := get(c, &corev1.PersistentVolumeClaim{}, ref.Namespace+"/"+ref.Name)
		if !ok {
			return fmt.Errorf("persistentvolumeclaim %s/%s of volume %s does not exist", ref.Namespace, ref.Name, pv.Name)
		}
		c.rememberBound(pv, claim)
	}
	for _, claim := range v.Dynamic {
		node, ok := get(c, &corev1.Node{}, v.Node)
		if !ok {
			return fmt.Errorf("node %s does not exist", v.Node)
		}
		class, ok := get(c, &storagev1.StorageClass{}, className(claim))
		if !ok {
			return fmt.Errorf("storageclass %q of persistentvolumeclaim %s/%s does not exist", className(claim), claim.Namespace, claim.Name)
		}
		c.rememberBound(Provision(claim, class, node, c.volumeName(claim)), claim)
	}
	return nil
}

func (c *Crank) rememberBound(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) {
	pv, claim = Bound(pv, claim)
	c.remember(Write{Kind: WriteVolume, Volume: pv, Claim: claim})
}

// volumeName is upstream's "pvc-<uid>" with the claim's name in place of the random UID.
func (c *Crank) volumeName(claim *corev1.PersistentVolumeClaim) string {
	base := fmt.Sprintf("pvc-%s-%s", claim.Namespace, claim.Name)
	name := base
	for n := 2; ; n++ {
		pv, taken := get(c, &corev1.PersistentVolume{}, name)
		// Another pod of this round may have provisioned for the same claim.
		if !taken || pv.Spec.ClaimRef != nil && pv.Spec.ClaimRef.UID == claim.UID {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// Provision returns the volume a provisioner would make for claim when its pod goes to node: of the size asked for,
// in the zone of the node, or on the node itself for node-local provisioners.
func Provision(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, node *corev1.Node, name string) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{volume.AnnDynamicallyProvisioned: class.Provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			StorageClassName:              class.Name,
			VolumeMode:                    claim.Spec.VolumeMode,
			MountOptions:                  class.MountOptions,
			PersistentVolumeSource:        source(class.Provisioner, name),
		},
	}
	if class.ReclaimPolicy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	key := corev1.LabelTopologyZone
	if nodeLocalProvisioners[class.Provisioner] {
		key = corev1.LabelHostname
	}
	if value := node.Labels[key]; value != "" {
		pv.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
			}}},
		}}
	}
	return pv
}

// source is a CSI volume, so that the volume limits of CSINodes count it. In-tree provisioners are known by the name
// of the CSI driver they were migrated to; one that is neither has no limits, and a host path will do.
func source(provisioner, name string) corev1.PersistentVolumeSource {
	if driver, err := csitrans.New().GetCSINameFromInTreeName(provisioner); err == nil {
		provisioner = driver
	}
	if strings.Contains(provisioner, "/") {
		return corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/" + name}}
	}
	return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: provisioner, VolumeHandle: name}}
}

// Bound returns copies of a volume and a claim as the PV controller leaves them when they are bound to each other.
func Bound(pv *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	pv, claim = pv.DeepCopy(), claim.DeepCopy()
	pv.Spec.ClaimRef = &corev1.ObjectReference{
		Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
	}
	metav1.SetMetaDataAnnotation(&pv.ObjectMeta, volume.AnnBoundByController, "yes")
	pv.Status.Phase = corev1.VolumeBound
	claim.Spec.VolumeName = pv.Name
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBindCompleted, "yes")
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBoundByController, "yes")
	claim.Status.Phase = corev1.ClaimBound
	claim.Status.AccessModes = pv.Spec.AccessModes
	claim.Status.Capacity = pv.Spec.Capacity
	return pv, claim
}

func className(claim *corev1.PersistentVolumeClaim) string {
	if claim.Spec.StorageClassName == nil {
		return ""
	}
	return *claim.Spec.StorageClassName
}
