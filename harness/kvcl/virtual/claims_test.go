package virtual_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

func storageClass(name string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "disk.example.com", VolumeBindingMode: &mode}
}

func claimSpec(class string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

// scratch gives a pod a generic ephemeral volume "tmp".
func scratch(p *corev1.Pod, class string) *corev1.Pod {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"kind": "scratch"}}, Spec: claimSpec(class),
		},
	}}})
	return p
}

func claimed(p *corev1.Pod, claim string) *corev1.Pod {
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
	return p
}

// storage are claims as "name phase owner" and volumes as "name claim".
func (w *world) storage() []string {
	var out []string
	o := w.Cluster.Objects()
	for _, c := range o.PersistentVolumeClaims {
		who := ""
		if r := metav1.GetControllerOf(c); r != nil {
			who = " " + string(r.UID)
		}
		out = append(out, c.Name+" "+string(c.Status.Phase)+who)
	}
	for _, v := range o.PersistentVolumes {
		out = append(out, v.Name+" for "+v.Spec.ClaimRef.Name)
	}
	return out
}

func (w *world) wantStorage(want ...string) {
	w.t.Helper()
	if d := cmp.Diff(want, w.storage()); d != "" {
		w.t.Errorf("storage (-want +got):\n%s", d)
	}
}

func newStorageWorld(t *testing.T) *world {
	t.Helper()
	cleanStorage(t)
	return newWorld(t)
}

// cleanStorage leaves no claims, volumes and classes behind.
func cleanStorage(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		o := shared.Objects()
		var all []scalehist.Change
		for _, list := range [][]scalehist.Object{objects(o.PersistentVolumeClaims), objects(o.PersistentVolumes), objects(o.StorageClasses)} {
			for _, obj := range list {
				all = append(all, scalehist.Change{Op: scalehist.OpDelete, Object: obj})
			}
		}
		if err := shared.Apply(context.Background(), all); err != nil {
			t.Error(err)
		}
	})
}

// TestEphemeralVolumes: each incarnation of a pod has a claim of its own, and nothing is left of it.
func TestEphemeralVolumes(t *testing.T) {
	w := newStorageWorld(t)
	w.add(storageClass("wait", storagev1.VolumeBindingWaitForFirstConsumer), storageClass("now", storagev1.VolumeBindingImmediate), node("n1", "4"))
	w.add(scratch(replica("a", "1"), "wait"), scratch(pod("b", "1"), "now"))
	w.settle(0)
	w.want(map[string]string{"a": "Running@n1", "b": "Running@n1"})
	w.wantStorage("a-tmp Bound pod-a", "b-tmp Bound pod-b", "pvc-default-b-tmp for b-tmp", "pvc-default-a-tmp for a-tmp")
	if got := w.Cluster.Objects().PersistentVolumeClaims[0].Labels; got["kind"] != "scratch" {
		t.Errorf("labels %v, want the template's", got)
	}
	// One that comes back elsewhere does not find the old volume.
	w.mustEvict("a")
	w.settle(time.Second)
	w.want(map[string]string{"a": "Running@n1", "b": "Running@n1"})
	w.wantStorage("b-tmp Bound pod-b", "a-tmp Bound "+string(w.pod("a").UID), "pvc-default-b-tmp for b-tmp", "pvc-default-a-tmp for a-tmp")
	if w.pod("a").UID == "pod-a" {
		t.Error("the pod that came back has the old UID")
	}
	w.remove(pod("a", "1"), pod("b", "1"))
	w.settle(2 * time.Second)
	w.wantStorage()
}

// TestEphemeralVolumesRecorded: a claim that was recorded with its pod is its claim; one that is somebody else's is not.
func TestEphemeralVolumesRecorded(t *testing.T) {
	w := newStorageWorld(t)
	held := func(name string, uid types.UID) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: claimSpec("wait")}
		if uid != "" {
			c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: uid, Controller: ptr.To(true)}}
		}
		return c
	}
	w.add(storageClass("wait", storagev1.VolumeBindingWaitForFirstConsumer), node("n1", "4"), held("a-tmp", "pod-a"), held("b-tmp", ""))
	w.add(scratch(pod("a", "1"), "wait"), scratch(pod("b", "1"), "wait"))
	step := w.settle(0)
	w.want(map[string]string{"a": "Running@n1", "b": "Pending@"})
	const want = "0/1 nodes are available: PVC default/b-tmp was not created for pod default/b (pod is not owner). not found"
	if len(step.Unschedulable) != 1 || step.Unschedulable[0].Message != want {
		t.Errorf("unschedulable %v, want b: %s", step.Unschedulable, want)
	}
	w.wantStorage("a-tmp Bound pod-a", "b-tmp Pending", "pvc-default-a-tmp for a-tmp")
	w.remove(pod("a", "1"), pod("b", "1"))
	w.settle(time.Second)
	w.wantStorage("b-tmp Pending")
}

// TestImmediateVolumesCount: volumes of a class that provisions at once count against what nodes take, and one that is to
// be retained stays when its claim goes.
func TestImmediateVolumesCount(t *testing.T) {
	w := newStorageWorld(t)
	class := storageClass("now", storagev1.VolumeBindingImmediate)
	class.ReclaimPolicy = ptr.To(corev1.PersistentVolumeReclaimRetain)
	w.add(class, node("n1", "4"), &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: class.Provisioner, NodeID: "n1", Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](1)}}},
	}})
	t.Cleanup(func() {
		csi := []scalehist.Change{{Op: scalehist.OpDelete, Object: &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}}
		if err := shared.Apply(context.Background(), csi); err != nil {
			t.Error(err)
		}
	})
	w.add(scratch(pod("a", "1"), "now"), scratch(pod("b", "1"), "now"))
	step := w.settle(0)
	w.want(map[string]string{"a": "Running@n1", "b": "Pending@"})
	const want = "0/1 nodes are available: 1 node(s) exceed max volume count. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
	if len(step.Unschedulable) != 1 || step.Unschedulable[0].Message != want {
		t.Errorf("unschedulable %v, want b: %s", step.Unschedulable, want)
	}
	w.remove(pod("a", "1"), pod("b", "1"))
	w.settle(time.Second)
	w.add(scratch(pod("a", "1"), "now"))
	w.settle(2 * time.Second)
	w.wantStorage("a-tmp Bound "+string(w.pod("a").UID), "pvc-default-a-tmp for a-tmp", "pvc-default-b-tmp for b-tmp", "pvc-default-a-tmp-2 for a-tmp")
}

// TestClaimsComeAgain: a claim that goes takes its volume along, and one of its name starts again.
func TestClaimsComeAgain(t *testing.T) {
	w := newStorageWorld(t)
	w.add(storageClass("wait", storagev1.VolumeBindingWaitForFirstConsumer), storageClass("now", storagev1.VolumeBindingImmediate), node("n1", "4"))
	claim := func(name, class string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: claimSpec(class)}
	}
	for i := range 2 {
		at := time.Duration(i) * time.Minute
		w.add(claim("first", "now"), claim("second", "wait"))
		w.add(claimed(pod("a", "1"), "first"), claimed(pod("b", "1"), "second"))
		w.settle(at)
		w.want(map[string]string{"a": "Running@n1", "b": "Running@n1"})
		w.wantStorage("first Bound", "second Bound", "pvc-default-first for first", "pvc-default-second for second")
		w.remove(pod("a", "1"), pod("b", "1"))
		w.remove(claim("first", "now"), claim("second", "wait"))
		w.settle(at + time.Second)
		w.wantStorage()
	}
}
