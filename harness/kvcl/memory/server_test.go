package memory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
)

func aServer(t *testing.T) *server {
	t.Helper()
	s, err := newServer()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func post[T scalehist.Object](t *testing.T, s *server, obj T) T {
	t.Helper()
	k, err := plane.KindOf(obj)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Post(t.Context(), k, obj)
	if err != nil {
		t.Fatal(err)
	}
	return out.(T)
}

func aPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "a"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}

// TestAWriteOfNothingIsNone: as in etcd, what is the same has the same version, and no watch would show it.
func TestAWriteOfNothingIsNone(t *testing.T) {
	s := aServer(t)
	p := post(t, s, aPod("a"))
	s.Take()
	again, err := s.Put(t.Context(), plane.PodKind, p)
	if err != nil {
		t.Fatal(err)
	}
	if again.GetResourceVersion() != p.ResourceVersion || len(s.Take()) != 0 {
		t.Errorf("version %s after %s, want the same and nothing told", again.GetResourceVersion(), p.ResourceVersion)
	}
	changed := p.DeepCopy()
	changed.Labels["app"] = "b"
	if _, err := s.Put(t.Context(), plane.PodKind, changed); err != nil {
		t.Fatal(err)
	}
	if events := s.Take(); len(events) != 1 || events[0].Obj.GetLabels()["app"] != "b" || events[0].RV <= plane.Version(p) {
		t.Errorf("told %+v, want the new version", events)
	}
	if _, err := s.Put(t.Context(), plane.PodKind, changed); !apierrors.IsConflict(err) {
		t.Errorf("an old version was written: %v", err)
	}
}

// TestPatches: the short way for a pod's status comes to what the long one does.
func TestPatches(t *testing.T) {
	for _, patch := range []string{
		`{"status":{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/1 nodes"}]}}`,
		`{"status":{"$setElementOrder/conditions":[{"type":"PodScheduled"}],"conditions":[{"message":"0/2 nodes","type":"PodScheduled"}]}}`,
		`{"status":{"nominatedNodeName":"n"}}`,
		`{"status":{"nominatedNodeName":null}}`,
		`{"metadata":{"labels":{"app":"x"}},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}`,
		`{"status":{"conditions":[{"$patch":"delete","type":"PodScheduled"}]}}`,
	} {
		s := aServer(t)
		p := post(t, s, aPod("a"))
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes"})
		with, err := s.Put(t.Context(), plane.PodKind, p, "status")
		if err != nil {
			t.Fatal(err)
		}
		long, err := patched(plane.PodKind, with, types.StrategicMergePatchType, []byte(patch))
		if err != nil {
			t.Fatal(err)
		}
		short, err := s.Patch(t.Context(), plane.PodKind, "default", "a", types.StrategicMergePatchType, []byte(patch), "status")
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.Put(t.Context(), plane.PodKind, func() *corev1.Pod {
			w := long.(*corev1.Pod)
			w.ResourceVersion = ""
			return w
		}(), "status")
		if err != nil {
			t.Fatal(err)
		}
		if short.GetResourceVersion() != want.GetResourceVersion() {
			t.Errorf("%s: the long way changes what the short one wrote:\n%+v\n%+v", patch, short.(*corev1.Pod).Status, want.(*corev1.Pod).Status)
		}
		if short.GetLabels()["app"] != want.GetLabels()["app"] || short.(*corev1.Pod).Spec.NodeName != "" {
			t.Errorf("%s: more than the status changed", patch)
		}
	}
}

// TestErrorsAreThoseOfAClient: with the status a program looks at.
func TestErrorsAreThoseOfAClient(t *testing.T) {
	s := aServer(t)
	p := post(t, s, aPod("a"))
	if _, err := s.Post(t.Context(), plane.PodKind, aPod("a")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second one of the name: %v", err)
	}
	if _, err := s.Get(t.Context(), plane.PodKind, "default", "b"); !apierrors.IsNotFound(err) {
		t.Errorf("get what is not there: %v", err)
	}
	if err := s.Delete(t.Context(), plane.PodKind, "default", "a", "another"); !apierrors.IsConflict(err) {
		t.Errorf("delete another UID: %v", err)
	}
	if err := s.Bind(t.Context(), "default", "a", p.UID, "n"); err != nil {
		t.Error(err)
	}
	if err := s.Bind(t.Context(), "default", "a", p.UID, "m"); !apierrors.IsConflict(err) {
		t.Errorf("bind twice: %v", err)
	}
	if _, err := s.Put(t.Context(), plane.PodKind, p, "exec"); !apierrors.IsNotFound(err) {
		t.Errorf("write a subresource there is not: %v", err)
	}
	bad := aPod("Not A Name")
	if _, err := s.Post(t.Context(), plane.PodKind, bad); !apierrors.IsInvalid(err) {
		t.Errorf("a bad name: %v", err)
	}
}

// TestEvictionCountsDown writes the budget's status as the real subresource does.
func TestEvictionCountsDown(t *testing.T) {
	s := aServer(t)
	running := post(t, s, aPod("a"))
	running.Status.Phase = corev1.PodRunning
	running.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := s.Put(t.Context(), plane.PodKind, running, "status"); err != nil {
		t.Fatal(err)
	}
	pdb := post(t, s, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}}})
	if err := s.Evict(t.Context(), "default", "a", "", nil); !apierrors.IsTooManyRequests(err) {
		t.Errorf("a budget that was never counted: %v", err)
	}
	pdb.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 1, ExpectedPods: 1, ObservedGeneration: pdb.Generation}
	if _, err := s.Put(t.Context(), plane.PDBKind, pdb, "status"); err != nil {
		t.Fatal(err)
	}
	if err := s.Evict(t.Context(), "default", "a", "", nil); err != nil {
		t.Error(err)
	}
	after, err := s.Get(t.Context(), plane.PDBKind, "default", "b")
	if err != nil {
		t.Fatal(err)
	}
	if left := after.(*policyv1.PodDisruptionBudget).Status.DisruptionsAllowed; left != 0 {
		t.Errorf("%d disruptions left, want none", left)
	}
	if _, err := s.Get(t.Context(), plane.PodKind, "default", "a"); !apierrors.IsNotFound(err) {
		t.Errorf("the pod: %v, want it gone", err)
	}
}
