package virtual_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

// theOnly is the one workload there is.
func (w *world) theOnly() scalehist.Workload {
	w.t.Helper()
	all := w.Targets()
	if len(all) != 1 {
		w.t.Fatalf("%d workloads, want one", len(all))
	}
	return all[0]
}

func (w *world) scale(ref scalehist.WorkloadRef, n int32) {
	w.t.Helper()
	if err := w.Scale(w.t.Context(), ref, n); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) takeOver(controller string, ref scalehist.WorkloadRef) {
	w.t.Helper()
	if err := w.TakeOver(controller, ref); err != nil {
		w.t.Fatal(err)
	}
}

// TestScaledWorkload: recorded pods of a workload that was taken over are no causes, but new replicas are named after them; beyond them names are made up.
// The youngest are deleted first, and a pod that is evicted comes back without anybody else coming.
func TestScaledWorkload(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "8"), replica("a", "1"), replica("b", "1"))
	w.settle(0)
	ref := w.theOnly().WorkloadRef
	if err := w.Scale(t.Context(), ref, 3); err == nil {
		t.Error("a workload that nobody has taken over is scaled")
	}
	w.takeOver("hpa", ref)
	if err := w.TakeOver("keda", ref); err == nil || !strings.Contains(err.Error(), "belongs to hpa already") {
		t.Errorf("a second controller takes it over: %v", err)
	}
	recorded := []scalehist.Change{
		{At: w.start.Add(1 * sec), Op: scalehist.OpAdd, Object: replica("c", "1")},
		{At: w.start.Add(1 * sec), Op: scalehist.OpDelete, Object: replica("a", "1")},
		{At: w.start.Add(1 * sec), Op: scalehist.OpAdd, Object: pod("bare", "1")},
	}
	if left := w.Withhold(recorded); len(left) != 1 || left[0].Object.GetName() != "bare" {
		t.Errorf("%d of the recorded changes are left, want the pod that nobody owns", len(left))
	}
	w.settle(1 * sec)
	w.want(map[string]string{"a": "Running@n1", "b": "Running@n1"})

	w.scale(ref, 3)
	step := w.settle(2 * sec)
	w.want(map[string]string{"a": "Running@n1", "b": "Running@n1", "c": "Running@n1"})
	if len(step.Fed) != 1 || step.Fed[0].Op != scalehist.OpAdd || step.Fed[0].Object.GetName() != "c" {
		t.Errorf("the step says that %v came, want c", step.Fed)
	}
	w.scale(ref, 4)
	w.settle(40 * sec)
	made := ""
	for name := range w.pods() {
		if !slices.Contains([]string{"a", "b", "c"}, name) {
			made = name
		}
	}
	if len(w.pods()) != 4 || !strings.HasPrefix(made, ref.Name+"-") || len(made) != len(ref.Name)+6 {
		t.Errorf("pods %v, want one more whose name is the owner's with five characters", w.pods())
	}
	w.mustEvict("a")
	w.settle(60 * sec)
	if now := w.theOnly(); now.Replicas != 4 || now.Current != 4 {
		t.Errorf("%d of %d replicas after an eviction, want 4 of 4", now.Current, now.Replicas)
	}
	w.scale(ref, 2)
	w.settle(64 * sec)
	w.want(map[string]string{"b": "Running@n1", "c": "Running@n1"}) // a is four seconds old, the made one 24
	w.scale(ref, 0)
	w.settle(65 * sec)
	w.want(map[string]string{})
	if err := w.Scale(t.Context(), scalehist.WorkloadRef{Kind: "Deployment", Namespace: "default", Name: "other"}, 1); !errors.Is(err, scalehist.ErrNoWorkload) {
		t.Errorf("a workload that is not there: %v", err)
	}
}

// TestScaledStatefulSet: ordinals are filled from below and deleted from above.
func TestScaledStatefulSet(t *testing.T) {
	w := newWorld(t)
	set := func(name string) scalehist.Object {
		p := owned(pod(name, "1"), "StatefulSet")
		p.OwnerReferences[0].Name = "db"
		return p
	}
	w.add(node("n1", "8"), set("db-0"), set("db-2"))
	w.settle(0)
	ref := w.theOnly().WorkloadRef
	w.takeOver("hpa", ref)
	w.scale(ref, 4)
	w.settle(1 * sec)
	w.want(map[string]string{"db-0": "Running@n1", "db-1": "Running@n1", "db-2": "Running@n1", "db-3": "Running@n1"})
	w.scale(ref, 2)
	w.settle(2 * sec)
	w.want(map[string]string{"db-0": "Running@n1", "db-1": "Running@n1"})
}

// TestWorkloadOfPod: pods belong to the Deployment of their ReplicaSet, by what was recorded of it or by its name.
func TestWorkloadOfPod(t *testing.T) {
	w := newWorld(t)
	known := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "default", UID: "rs-1", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "shop", UID: "d-1", Controller: new(bool)},
	}}}
	*known.OwnerReferences[0].Controller = true
	labels := map[string]string{"app": "shop"}
	known.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	known.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("x", "1").Spec}
	a, b, c := replica("a", "1"), replica("b", "1"), replica("c", "1")
	a.OwnerReferences[0].Name = "web-1"
	b.OwnerReferences[0].Name, b.Labels = "api-5d4f", map[string]string{"pod-template-hash": "5d4f"}
	c.OwnerReferences[0].Name, c.Labels = "alone", map[string]string{"pod-template-hash": "5d4f"}
	w.add(known, a, b, c)
	var got []string
	for _, x := range w.Targets() {
		got = append(got, x.String())
	}
	if diff := cmp.Diff([]string{"Deployment/default/shop", "Deployment/default/api", "ReplicaSet/default/alone"}, got); diff != "" {
		t.Errorf("workloads (-want +got):\n%s", diff)
	}
}

// TestComingPods: pods that wait to be fed in from the start on are replicas of what is taken over before that.
func TestComingPods(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "8"), replica("a", "1"))
	w.Coming(replica("b", "1"))
	w.settle(0)
	ref := w.theOnly().WorkloadRef
	w.takeOver("hpa", ref)
	if left := w.Withhold([]scalehist.Change{{At: w.start, Op: scalehist.OpAdd, Object: replica("b", "1")}}); len(left) != 0 {
		t.Error("a pod of it is fed in")
	}
	w.settle(1 * sec)
	w.want(map[string]string{"a": "Running@n1", "b": "Running@n1"})
}
