package virtual_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// TestDrain is the removal of a node as a cluster autoscaler does it: taint, cordon, evict, delete.
func TestDrain(t *testing.T) {
	w := newWorld(t)
	w.add(daemonSet("agent", "100m", nil), node("n1", "4"), node("n2", "4"), budget("web", 1))
	w.add(on(replica("a", "1"), "n1"), on(replica("b", "1"), "n1"))
	w.settle(0)
	if got := w.allowed("web"); got != 1 {
		t.Fatalf("disruptions allowed %d, want 1 of two", got)
	}
	taint := corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Value: "1", Effect: corev1.TaintEffectNoSchedule}
	if err := w.SetTaints(t.Context(), "n1", []corev1.Taint{taint}); err != nil {
		t.Fatal(err)
	}
	if err := w.Cordon(t.Context(), "n1", true); err != nil {
		t.Fatal(err)
	}
	w.mustEvict("a")
	w.refused("b")
	step := w.settle(1 * sec)
	if diff := cmp.Diff([]types.NamespacedName{key("a")}, step.Returned); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	// The replacement runs on the other node, so the budget allows the next one.
	w.want(map[string]string{"agent-n1": "Running@n1", "agent-n2": "Running@n2", "a": "Running@n2", "b": "Running@n1"})
	w.mustEvict("b")
	w.settle(2 * sec)
	w.want(map[string]string{"agent-n1": "Running@n1", "agent-n2": "Running@n2", "a": "Running@n2", "b": "Running@n2"})
	// The tainted node does not get its agent back.
	w.mustEvict("agent-n1")
	w.settle(3 * sec)
	w.want(map[string]string{"agent-n2": "Running@n2", "a": "Running@n2", "b": "Running@n2"})
	// A removal that was given up: the agent returns with the taint gone.
	if err := w.SetTaints(t.Context(), "n1", nil); err != nil {
		t.Fatal(err)
	}
	w.settle(4 * sec)
	w.want(map[string]string{"agent-n1": "Running@n1", "agent-n2": "Running@n2", "a": "Running@n2", "b": "Running@n2"})
	w.add(replica("c", "3"))
	w.settle(5 * sec)
	w.want(map[string]string{"agent-n1": "Running@n1", "agent-n2": "Running@n2", "a": "Running@n2", "b": "Running@n2", "c": "Pending@"})
	if err := w.Cordon(t.Context(), "n1", false); err != nil {
		t.Fatal(err)
	}
	w.settle(6 * sec)
	w.want(map[string]string{"agent-n1": "Running@n1", "agent-n2": "Running@n2", "a": "Running@n2", "b": "Running@n2", "c": "Running@n1"})
	w.remove(node("n1", "4"))
	step = w.settle(7 * sec)
	if diff := cmp.Diff([]types.NamespacedName{key("c")}, step.Returned); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	w.want(map[string]string{"agent-n2": "Running@n2", "a": "Running@n2", "b": "Running@n2", "c": "Pending@"})
}

// TestEvictedDaemonPodReturns: its controller makes another on a node that still wants it.
func TestEvictedDaemonPodReturns(t *testing.T) {
	w := newWorld(t)
	w.add(daemonSet("agent", "100m", nil), node("n1", "1"))
	w.settle(0)
	before := w.pod("agent-n1").UID
	w.mustEvict("agent-n1")
	w.settle(1 * sec)
	w.want(map[string]string{"agent-n1": "Running@n1"})
	if now := w.pod("agent-n1").UID; now == before {
		t.Errorf("the pod has UID %s still, want another pod", now)
	}
}

// TestDrainOfTheUnknown: what is not there is reported as such.
func TestDrainOfTheUnknown(t *testing.T) {
	w := newWorld(t)
	if err := w.Evict(t.Context(), "default", "absent"); !apierrors.IsNotFound(err) {
		t.Errorf("evict: %v, want not found", err)
	}
	if err := w.Cordon(t.Context(), "absent", true); !apierrors.IsNotFound(err) {
		t.Errorf("cordon: %v, want not found", err)
	}
	if err := w.SetTaints(t.Context(), "absent", nil); !apierrors.IsNotFound(err) {
		t.Errorf("taint: %v, want not found", err)
	}
}
