package virtual_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
)

const hashLabel = appsv1.DefaultDeploymentUniqueLabelKey

// shop is a recorded Deployment with its ReplicaSet shop-1 and pods of it, which ask for a core each. A rollout has one pod more, and none less,
// and takes pods for available that were Ready for ten seconds.
type shop struct {
	deployment *appsv1.Deployment
	set        *appsv1.ReplicaSet
	ref        scalehist.WorkloadRef
}

func newShop(replicas int32) *shop {
	one, none := intstr.FromInt32(1), intstr.FromInt32(0)
	labels := map[string]string{"app": "web"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: "d-shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, MinReadySeconds: 10, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &none}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("", "1").Spec},
		},
	}
	return &shop{deployment: d, set: recordedSet(d, "1"), ref: scalehist.WorkloadRef{Kind: "Deployment", Namespace: "default", Name: "shop"}}
}

// recordedSet is the ReplicaSet of a Deployment's template, with a hash that only the recorded cluster has.
func recordedSet(d *appsv1.Deployment, hash string) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name + "-" + hash, UID: types.UID("rs-" + hash),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(*d.Spec.Replicas), Template: *d.Spec.Template.DeepCopy()},
	}
	rs.Spec.Template.Labels = withLabel(rs.Spec.Template.Labels, hash)
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Spec.Template.Labels}
	return rs
}

func withLabel(labels map[string]string, hash string) map[string]string {
	out := maps.Clone(labels)
	out[hashLabel] = hash
	return out
}

// podOf is a recorded pod of a ReplicaSet.
func podOf(rs *appsv1.ReplicaSet, suffix string) *corev1.Pod {
	p := pod(rs.Name+"-"+suffix, "1")
	p.Labels, p.Spec = maps.Clone(rs.Spec.Template.Labels), *rs.Spec.Template.Spec.DeepCopy()
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	return p
}

// next is the Deployment with pods of another size.
func (s *shop) next(cpu string) *appsv1.Deployment {
	d := s.deployment.DeepCopy()
	d.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	return d
}

// sizes counts the pods by the CPU that they ask for, those that stop apart.
func (w *world) sizes() map[string]int {
	out := map[string]int{}
	for _, p := range w.Cluster.Objects().Pods {
		size := p.Spec.Containers[0].Resources.Requests.Cpu().String()
		if p.DeletionTimestamp != nil {
			size += " stopping"
		}
		out[size]++
	}
	return out
}

func (w *world) wantSizes(want map[string]int) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.sizes()); diff != "" {
		w.t.Errorf("pods by size (-want +got):\n%s", diff)
	}
}

// mustNext is how long it is until something happens by itself.
func (w *world) mustNext(want time.Duration) {
	w.t.Helper()
	if at, ok := w.Next(); !ok || !at.Equal(w.start.Add(want)) {
		w.t.Errorf("next at %s (%v), want %s after the start", at.Sub(w.start), ok, want)
	}
}

// TestRollout: a recorded change of the template is a rolling update, with a pod more, each step when the last pod has been Ready for long enough.
// Budgets, meanwhile, go by the replicas that are wanted.
func TestRollout(t *testing.T) {
	w := newWorld(t)
	s := newShop(3)
	percent := intstr.FromString("34%")
	b := budget("shop", 0)
	b.Spec.MinAvailable, b.Spec.MaxUnavailable = nil, &percent
	w.add(node("n1", "16"), s.deployment, s.set, podOf(s.set, "a"), podOf(s.set, "b"), podOf(s.set, "c"), b)
	w.settle(0)
	w.takeOver("hpa", s.ref)
	if step := w.settle(0); len(step.Fed) != 0 {
		t.Errorf("taking it over changed %v", step.Fed)
	}
	w.settle(10 * sec)
	w.update(s.next("2"))
	step := w.settle(11 * sec)
	w.wantSizes(map[string]int{"1": 3, "2": 1})
	if got := w.theOnly(); got.Replicas != 3 || got.Current != 4 {
		t.Errorf("%d of %d replicas in a rollout, want 4 of 3", got.Current, got.Replicas)
	}
	if len(step.Fed) != 1 || step.Fed[0].Op != scalehist.OpAdd || !strings.HasPrefix(step.Fed[0].Object.GetName(), "shop-") {
		t.Errorf("the step says that %v came, want one new pod", step.Fed)
	}
	for _, p := range w.Cluster.Objects().PodDisruptionBudgets {
		if p.Status.ExpectedPods != 3 || p.Status.DesiredHealthy != 1 {
			t.Errorf("the budget expects %d pods and wants %d of them, want 3 and 1", p.Status.ExpectedPods, p.Status.DesiredHealthy)
		}
	}
	w.mustNext(21 * sec)
	w.settle(21 * sec)
	w.wantSizes(map[string]int{"1": 2, "2": 2})
	w.mustNext(31 * sec)
	w.settle(31 * sec)
	w.settle(41 * sec)
	w.wantSizes(map[string]int{"2": 3})
	var sets []string
	for _, rs := range w.Cluster.Objects().ReplicaSets {
		sets = append(sets, fmt.Sprint(*rs.Spec.Replicas, " of ", rs.Spec.Template.Spec.Containers[0].Resources.Requests.Cpu()))
	}
	if diff := cmp.Diff([]string{"0 of 1", "3 of 2"}, sets); diff != "" {
		t.Errorf("ReplicaSets (-want +got):\n%s", diff)
	}
	w.update(s.deployment) // back again: the ReplicaSet is the earlier one
	w.settle(50 * sec)
	w.wantSizes(map[string]int{"1": 1, "2": 3})
	if n := len(w.Cluster.Objects().ReplicaSets); n != 2 {
		t.Errorf("%d ReplicaSets after a rollback, want the two", n)
	}
}

// TestScaleInRollout: a Deployment that is scaled in the middle of a rollout grows in both of its ReplicaSets.
func TestScaleInRollout(t *testing.T) {
	w := newWorld(t)
	s := newShop(4)
	w.add(node("n1", "32"), s.deployment, s.set, podOf(s.set, "a"), podOf(s.set, "b"), podOf(s.set, "c"), podOf(s.set, "d"))
	w.settle(0)
	w.takeOver("hpa", s.ref)
	w.update(s.next("2"))
	w.settle(1 * sec)
	w.settle(11 * sec)
	w.wantSizes(map[string]int{"1": 3, "2": 2})
	w.scale(s.ref, 8)
	w.settle(12 * sec)
	w.wantSizes(map[string]int{"1": 5, "2": 4}) // four more, and the surge: in proportion to 3 and 2
	for at := 20 * sec; at < 200*sec; at += 10 * sec {
		w.settle(at)
	}
	w.wantSizes(map[string]int{"2": 8})
}

// TestTakenOverInRollout: so does one that was in the middle of a rollout when it was taken over, as recorded.
func TestTakenOverInRollout(t *testing.T) {
	w := newWorld(t)
	s := newShop(4)
	d := s.next("2")
	second := recordedSet(d, "2")
	s.set.Spec.Replicas, second.Spec.Replicas = ptr.To[int32](3), ptr.To[int32](2)
	w.add(node("n1", "32"), d, s.set, second, podOf(s.set, "a"), podOf(s.set, "b"), podOf(s.set, "c"), podOf(second, "x"), podOf(second, "y"))
	w.settle(0)
	w.takeOver("hpa", s.ref)
	w.scale(s.ref, 8)
	w.settle(1 * sec)
	w.wantSizes(map[string]int{"1": 5, "2": 4})
}

// TestRecordedRolloutNames: of a rollout that was recorded, too, the new pods have the recorded names and UIDs, though the ReplicaSet has another
// name here. An evicted pod of an older revision that is not wanted any more ends there.
func TestRecordedRolloutNames(t *testing.T) {
	w := newWorld(t)
	s := newShop(2)
	w.add(node("n1", "16"), s.deployment, s.set, podOf(s.set, "a"), podOf(s.set, "b"))
	w.settle(0)
	w.takeOver("hpa", s.ref)
	d := s.next("2")
	second := recordedSet(d, "2")
	w.update(d)
	w.add(second)
	var withheld []scalehist.Change
	for _, name := range []string{"x", "y"} {
		withheld = append(withheld, scalehist.Change{At: w.start, Op: scalehist.OpAdd, Object: podOf(second, name)})
	}
	if left := w.Withhold(withheld); len(left) != 0 {
		t.Errorf("%v are fed in", left)
	}
	w.settle(1 * sec)
	if p := w.pod("shop-2-x"); p.UID != "pod-shop-2-x" {
		t.Errorf("the pod has UID %s, want that which was recorded", p.UID)
	}
	own := metav1.GetControllerOf(w.pod("shop-2-x"))
	if i := slices.IndexFunc(w.Cluster.Objects().ReplicaSets, func(rs *appsv1.ReplicaSet) bool { return rs.Name == own.Name }); i < 0 {
		t.Errorf("its owner %s is not there", own.Name)
	}
	if n := len(w.Cluster.Objects().ReplicaSets); n != 2 {
		t.Errorf("%d ReplicaSets, want two: that which was recorded of the new template is the one that is here", n)
	}
	w.settle(11 * sec)
	w.mustEvict("shop-2-x")
	step := w.settle(12 * sec)
	if len(step.Returned) != 1 || step.Returned[0].Name != "shop-2-x" {
		t.Errorf("returned %v, want the evicted pod", step.Returned)
	}
	w.settle(22 * sec)
	w.settle(32 * sec)
	names := slices.Sorted(maps.Keys(w.pods()))
	if diff := cmp.Diff([]string{"shop-2-x", "shop-2-y"}, names); diff != "" {
		t.Errorf("pods after the rollout (-want +got):\n%s", diff)
	}
	w.mustEvict("shop-2-y")
	w.scale(s.ref, 1)
	step = w.settle(33 * sec)
	if len(step.Returned) != 0 || len(step.Fed) != 1 || step.Fed[0].Op != scalehist.OpDelete || step.Fed[0].Object.GetName() != "shop-2-y" {
		t.Errorf("returned %v, fed %v: want the evicted pod to end", step.Returned, step.Fed)
	}
}

// TestRequestsOfNewPods: a new pod is like the last one of its ReplicaSet, with what admission added, but asks for what the template says.
func TestRequestsOfNewPods(t *testing.T) {
	w := newWorld(t)
	s := newShop(1)
	p := podOf(s.set, "a")
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("3")
	p.Spec.Containers = append(p.Spec.Containers, pod("", "250m").Spec.Containers[0])
	p.Spec.Containers[1].Name = "proxy"
	w.add(node("n1", "16"), s.deployment, s.set, p)
	w.settle(0)
	w.takeOver("hpa", s.ref)
	w.scale(s.ref, 2)
	w.settle(1 * sec)
	all := w.Cluster.Objects().Pods
	var got []string
	for _, c := range all[1].Spec.Containers {
		got = append(got, c.Name+" "+c.Resources.Requests.Cpu().String())
	}
	if diff := cmp.Diff([]string{"c 1", "proxy 250m"}, got); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
}

// TestDeletedWorkload: with its object a workload ends, and its pods are deleted; one of its name that comes later is its controller's, too.
func TestDeletedWorkload(t *testing.T) {
	w := newWorld(t)
	s := newShop(2)
	w.add(node("n1", "16"), s.deployment, s.set, podOf(s.set, "a"), podOf(s.set, "b"))
	w.settle(0)
	w.takeOver("hpa", s.ref)
	w.settle(0)
	w.mustEvict("shop-1-a")
	w.remove(s.deployment)
	if step := w.settle(1 * sec); len(step.Fed) != 2 {
		t.Errorf("fed %v, want both pods to end", step.Fed)
	}
	w.want(map[string]string{})
	if _, err := w.Target(s.ref); err == nil {
		t.Error("the workload is there")
	}
	if err := w.Scale(t.Context(), s.ref, 3); err == nil {
		t.Error("a workload that is gone is scaled")
	}
	again := s.deployment.DeepCopy()
	again.UID = "d-shop-2"
	w.add(again)
	w.settle(2 * sec)
	w.wantSizes(map[string]int{"1": 2})
}

// TestUpdatedStatefulSet: pods are replaced one by one from above, each when the one above is there again. A new ordinal gets its claim.
func TestUpdatedStatefulSet(t *testing.T) {
	cleanStorage(t)
	w := worldWith(t, virtual.Options{Termination: func(*corev1.Pod) time.Duration { return 5 * sec }})
	labels := map[string]string{"app": "web"}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", UID: "s-db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: "db",
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("", "1").Spec},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec("now")}},
		},
	}
	member := func(n int) *corev1.Pod {
		p := pod(fmt.Sprintf("db-%d", n), "1")
		p.Labels = map[string]string{"app": "web", appsv1.StatefulSetRevisionLabel: "db-recorded-7", appsv1.StatefulSetPodNameLabel: p.Name, appsv1.PodIndexLabel: fmt.Sprint(n)}
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		return p
	}
	w.add(storageClass("now", storagev1.VolumeBindingImmediate), node("n1", "16"), set, member(0), member(1))
	w.settle(0)
	ref := w.theOnly().WorkloadRef
	w.takeOver("hpa", ref)
	if step := w.settle(0); len(step.Fed) != 0 {
		t.Errorf("taking it over changed %v", step.Fed)
	}
	next := set.DeepCopy()
	next.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	w.update(next)
	w.settle(1 * sec)
	w.wantSizes(map[string]int{"1": 1, "1 stopping": 1})
	w.settle(6 * sec)
	w.wantSizes(map[string]int{"2": 1, "1 stopping": 1})
	if p := w.pod("db-1"); p.Labels[appsv1.StatefulSetRevisionLabel] == "db-recorded-7" {
		t.Error("db-1 has the earlier revision")
	}
	w.settle(11 * sec)
	w.wantSizes(map[string]int{"2": 2})
	w.scale(ref, 3)
	w.settle(12 * sec)
	p := w.pod("db-2")
	if len(p.Spec.Volumes) != 1 || p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName != "data-db-2" {
		t.Errorf("volumes of db-2: %v", p.Spec.Volumes)
	}
	var claims []string
	for _, c := range w.Cluster.Objects().PersistentVolumeClaims {
		claims = append(claims, c.Name)
	}
	if !slices.Contains(claims, "data-db-2") {
		t.Errorf("claims %v, want one of db-2", claims)
	}
	w.add(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-db-2"}, Spec: claimSpec("now")}) // recorded, later than here
	w.mustEvict("db-2")
	w.settle(13 * sec)
	w.mustNext(17 * sec)
	if step := w.settle(17 * sec); len(step.Returned) != 1 {
		t.Errorf("returned %v, want db-2 when the old one has stopped", step.Returned)
	}
}

// TestEvictedFromOldRevision: a pod of a StatefulSet that is evicted while a new template is on its way comes back with the new one; below the
// partition it comes back as it was.
func TestEvictedFromOldRevision(t *testing.T) {
	w := newWorld(t)
	labels := map[string]string{"app": "web"}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", UID: "s-old"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: "db",
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("", "1").Spec},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](1)}},
		},
	}
	var pods []scalehist.Object
	for n := range 3 { // they do not say their revision
		p := pod(fmt.Sprintf("db-%d", n), "1")
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		pods = append(pods, p)
	}
	w.add(append(pods, node("n1", "16"), set)...)
	w.settle(0)
	w.takeOver("hpa", w.theOnly().WorkloadRef)
	w.settle(0)
	next := set.DeepCopy()
	next.Spec.Template.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
	w.update(next)
	w.mustEvict("db-0")
	w.mustEvict("db-1")
	step := w.settle(1 * sec)
	if len(step.Returned) != 2 {
		t.Errorf("returned %v, want both that were evicted", step.Returned)
	}
	w.wantSizes(map[string]int{"1": 1, "2": 2})
	if cpu := w.pod("db-0").Spec.Containers[0].Resources.Requests.Cpu().String(); cpu != "1" {
		t.Errorf("db-0, below the partition, asks for %s", cpu)
	}
}

// TestFedAndUnschedulable: a pod that is deleted later in a step is not unschedulable at its end.
func TestFedAndUnschedulable(t *testing.T) {
	var step virtual.Step
	for _, name := range []string{"a", "b"} {
		step.Unschedulable = append(step.Unschedulable, kvcl.Unschedulable{Pod: types.NamespacedName{Namespace: "default", Name: name}})
	}
	virtual.Feed(&step, []scalehist.Change{{Op: scalehist.OpDelete, Object: pod("a", "1")}, {Op: scalehist.OpAdd, Object: pod("b", "1")}})
	if len(step.Unschedulable) != 1 || step.Unschedulable[0].Pod.Name != "b" || len(step.Fed) != 2 {
		t.Errorf("unschedulable %v, fed %v", step.Unschedulable, step.Fed)
	}
}
