package virtual_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestRetainedClaims: what becomes of the claims of a StatefulSet that is scaled down and up, whose pods are evicted, and that is deleted, by its policy; and
// that recorded deletions of them by the policy are effects.
func TestRetainedClaims(t *testing.T) {
	const keep, remove = appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	for name, tt := range map[string]struct {
		policy                  *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy
		smaller, again, deleted []string
	}{
		"none":         {nil, []string{"data-db-0", "data-db-1", "data-db-2", "other"}, []string{"data-db-0", "data-db-1", "data-db-2", "other"}, []string{"data-db-0", "data-db-1", "data-db-2", "other"}},
		"when scaled":  {&appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: remove, WhenDeleted: keep}, []string{"data-db-0", "other"}, []string{"data-db-0", "data-db-1", "other"}, []string{"data-db-0", "data-db-1", "other"}},
		"when deleted": {&appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: keep, WhenDeleted: remove}, []string{"data-db-0", "data-db-1", "data-db-2", "other"}, []string{"data-db-0", "data-db-1", "data-db-2", "other"}, []string{"other"}},
		"both":         {&appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenScaled: remove, WhenDeleted: remove}, []string{"data-db-0", "other"}, []string{"data-db-0", "data-db-1", "other"}, []string{"other"}},
	} {
		t.Run(name, func(t *testing.T) {
			cleanStorage(t)
			w := newWorld(t)
			labels := map[string]string{"app": "web"}
			set := &appsv1.StatefulSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", UID: "s-db"},
				Spec: appsv1.StatefulSetSpec{
					Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: "db", PodManagementPolicy: appsv1.ParallelPodManagement,
					Template:                             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("", "1").Spec},
					VolumeClaimTemplates:                 []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec("now")}},
					PersistentVolumeClaimRetentionPolicy: tt.policy,
				},
			}
			claim := func(name string) *corev1.PersistentVolumeClaim {
				return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"first": "yes"}}, Spec: claimSpec("now")}
			}
			w.add(storageClass("now", storagev1.VolumeBindingImmediate), node("n1", "16"), set, claim("other"))
			for n := range 3 {
				p := pod(fmt.Sprintf("db-%d", n), "1")
				p.Labels = labels
				p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
				w.add(claim("data-"+p.Name), p)
			}
			w.settle(0)
			want := func(when string, names []string) {
				t.Helper()
				var got []string
				for _, c := range w.Cluster.Objects().PersistentVolumeClaims {
					got = append(got, c.Name)
				}
				slices.Sort(got)
				if diff := cmp.Diff(names, got); diff != "" {
					t.Errorf("%s: claims (-want +got):\n%s", when, diff)
				}
			}
			ref := w.theOnly().WorkloadRef
			w.takeOver("hpa", ref)
			w.scale(ref, 1)
			w.settle(1 * sec)
			w.settle(2 * sec)
			want("one replica", tt.smaller)
			w.mustEvict("db-0")
			w.settle(3 * sec)
			w.scale(ref, 2)
			w.settle(4 * sec)
			w.settle(5 * sec)
			want("two again, one evicted", tt.again)
			if tt.policy != nil && tt.policy.WhenScaled == remove {
				w.remove(claim("data-db-0")) // the recorded set was scaled to none, and up again
				want("deleted as recorded", tt.again)
				w.add(claim("data-db-0"))
			}
			next := set.DeepCopy()
			next.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
			w.update(next)
			for i := range 4 {
				w.settle(time.Duration(6+i) * sec)
			}
			w.wantSizes(map[string]int{"2": 2})
			want("replaced by those of another template", tt.again)
			if claims := w.Cluster.Objects().PersistentVolumeClaims; !slices.ContainsFunc(claims, func(c *corev1.PersistentVolumeClaim) bool { return c.Name == "data-db-0" && c.Labels["first"] == "yes" }) {
				t.Error("db-0, which was evicted and replaced, has another claim than at first")
			}
			w.remove(set)
			w.settle(10 * sec)
			want("deleted", tt.deleted)
			w.remove(claim("other"))
			if tt.policy != nil && tt.policy.WhenDeleted == remove {
				w.remove(claim("data-db-0")) // as recorded
			}
		})
	}
}
