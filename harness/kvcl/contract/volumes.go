package contract

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

func bindsVolumes(s *suite) {
	class := &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: "zonal", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}},
		Provisioner:       "disk.example.com",
		VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	claim := func(name string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
			},
		}
	}
	uses := func(claim string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}}}
		}
	}
	s.add(class, claim("data"), node("n-a", 1, inZone("a")), pod("first", 1, uses("data")), pod("lost", 1, uses("absent")))
	got := s.settle()
	s.equal("bindings", []kvcl.Binding{binding("first", "n-a")}, got.Bindings)
	if len(got.Unschedulable) != 1 || got.Unschedulable[0].Pod != id("lost") {
		s.t.Errorf("unschedulable %v, want the pod whose claim does not exist", got.Unschedulable)
	}
	o := s.cp.Objects()
	if len(o.PersistentVolumes) != 1 || len(o.PersistentVolumeClaims) != 1 {
		s.t.Fatalf("%d volumes and %d claims, want 1 and 1", len(o.PersistentVolumes), len(o.PersistentVolumeClaims))
	}
	pv, pvc := o.PersistentVolumes[0], o.PersistentVolumeClaims[0]
	if pv.Name != "pvc-default-data" || pv.Status.Phase != corev1.VolumeBound || pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != pvc.UID {
		s.t.Errorf("volume %s %s claimed by %v, want pvc-default-data, Bound, by %s", pv.Name, pv.Status.Phase, pv.Spec.ClaimRef, pvc.UID)
	}
	if pvc.Spec.VolumeName != pv.Name || pvc.Status.Phase != corev1.ClaimBound {
		s.t.Errorf("claim %s, %s, want Bound to %s", pvc.Status.Phase, pvc.Spec.VolumeName, pv.Name)
	}
	s.apply(scalehist.OpDelete, pod("lost", 1))
	// The volume holds its next pod in the zone.
	s.add(node("n-b", 4, inZone("b")), pod("second", 1, uses("data")))
	got = s.settle()
	if len(got.Bindings) != 0 || len(got.Unschedulable) != 1 || got.Unschedulable[0].Pod != id("second") {
		s.t.Errorf("settled %+v, want second unschedulable: its volume is in zone a", got)
	}
	s.add(node("n-a2", 1, inZone("a")))
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("second", "n-a2")}})
}
