package virtual_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/kubelet"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// TestEvictedPodHoldsItsRoom: it goes on for its termination time while its replacement waits already, and steps aside to
// another name with the UID it had.
func TestEvictedPodHoldsItsRoom(t *testing.T) {
	w := slowWorld(t)
	w.add(node("n1", "1"), budget("web", 0), replica("a", "1"))
	w.settle(0)
	uid := w.pod("a").UID
	w.mustEvict("a")
	old := w.pod("a.terminating-1")
	if old.UID != uid || old.DeletionTimestamp == nil || !old.DeletionTimestamp.Time.Equal(w.start.Add(30*sec)) {
		t.Errorf("pod on its way out has UID %s and deletion timestamp %v, want %s and the end of its grace period", old.UID, old.DeletionTimestamp, uid)
	}
	w.settle(1 * sec)
	w.want(map[string]string{"a.terminating-1": "Running@n1", "a": "Pending@"})
	if got := w.allowed("web"); got != 0 {
		t.Errorf("disruptions allowed %d, want 0: no pod is healthy", got)
	}
	if at, ok := w.Next(); !ok || !at.Equal(w.start.Add(kubelet.DefaultTermination)) {
		t.Errorf("next at +%s (%t), want the end of the termination", at.Sub(w.start), ok)
	}
	w.settle(kubelet.DefaultTermination)
	w.want(map[string]string{"a": "Running@n1"})
	if _, ok := w.Next(); ok {
		t.Error("something is due still")
	}
}

// TestStatefulPodWaitsForItsName: a StatefulSet makes no other pod of a name before the old one is gone.
func TestStatefulPodWaitsForItsName(t *testing.T) {
	w := slowWorld(t)
	w.add(node("n1", "1"), node("n2", "1"), on(owned(pod("web-0", "1"), "StatefulSet"), "n1"))
	w.settle(0)
	w.mustEvict("web-0")
	w.settle(1 * sec)
	w.want(map[string]string{"web-0.terminating-1": "Running@n1"})
	if step := w.settle(2 * sec); len(step.Returned) != 1 {
		t.Errorf("returned %v, want web-0", step.Returned)
	}
	if got := w.pods(); len(got) != 1 || !strings.HasPrefix(got["web-0"], "Running@") {
		t.Errorf("pods %v, want web-0 running", got)
	}
	// Its owner was scaled down while it stopped: it does not come back.
	w.mustEvict("web-0")
	w.remove(owned(pod("web-0", "1"), "StatefulSet"))
	w.settle(10 * sec)
	w.want(map[string]string{})
}

// TestDeletionTakesTime: as long as was recorded, else as pods of its kind take; nothing where the pod does not run.
func TestDeletionTakesTime(t *testing.T) {
	w := slowWorld(t)
	waiting := pod("waiting", "9")
	quick := on(pod("quick", "1"), "n1")
	quick.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0)
	w.add(node("n1", "4"), on(pod("plain", "1"), "n1"), on(pod("told", "1"), "n1"), quick, runFor(on(pod("done", "1"), "n1"), 1*sec), waiting)
	w.settle(5 * sec)
	set := pod("told", "1")
	set.Annotations = map[string]string{podlife.TerminationAnnotation: "7s"}
	w.start = w.start.Add(5 * sec)
	w.remove(pod("plain", "1"), set, pod("quick", "1"), pod("done", "1"), pod("waiting", "9"))
	w.settle(1 * sec)
	w.want(map[string]string{"plain.terminating-1": "Running@n1", "told.terminating-1": "Running@n1"})
	w.settle(6 * sec)
	w.want(map[string]string{"told.terminating-1": "Running@n1"})
	w.settle(7 * sec)
	w.want(map[string]string{})
}

// TestNodeTakesStoppingPodsAlong: what was stopping on it is gone with it, and a StatefulSet's pod may come back.
func TestNodeTakesStoppingPodsAlong(t *testing.T) {
	w := slowWorld(t)
	w.add(node("n1", "4"), on(replica("a", "1"), "n1"), on(owned(pod("web-0", "1"), "StatefulSet"), "n1"))
	w.settle(0)
	w.mustEvict("a")
	w.mustEvict("web-0")
	w.remove(node("n1", "4"))
	w.settle(1 * sec)
	w.want(map[string]string{"a": "Pending@", "web-0": "Pending@"})
	if at, ok := w.Next(); ok {
		t.Errorf("something is due at +%s still", at.Sub(w.start))
	}
}

// TestStoppingPodIsNoVictim: the scheduler waits for a pod that is stopping anyway, and preempts nobody.
func TestStoppingPodIsNoVictim(t *testing.T) {
	w := slowWorld(t)
	urgent := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000}
	w.add(urgent, node("n1", "1"), on(pod("bare", "1"), "n1"))
	w.settle(0)
	w.remove(pod("bare", "1"))
	w.add(priority(pod("now", "1"), urgent))
	if step := w.settle(1 * sec); len(step.Victims) > 0 {
		t.Errorf("victims %v, want none", step.Victims)
	}
	w.want(map[string]string{"bare.terminating-1": "Running@n1", "now": "Pending@"})
	w.settle(2 * sec)
	w.want(map[string]string{"now": "Running@n1"})
}

// preemption is a slow world of one node, with a pod on all of it and an urgent one that needs as much.
func preemption(t *testing.T, victim *corev1.Pod) *world {
	w := slowWorld(t)
	urgent := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000}
	low := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Value: 1, PreemptionPolicy: ptr.To(corev1.PreemptNever)}
	victim.Spec.PreemptionPolicy = low.PreemptionPolicy
	w.add(urgent, low, node("n1", "2"), on(priority(victim, low), "n1"))
	w.settle(0)
	w.add(priority(pod("bold", "2"), urgent))
	return w
}

// TestPreemptedPodTerminates: a victim holds its room until it has stopped, and its replacement waits from the start. The preemptor waits
// for that room, which nobody else gets, and preempts nobody else.
func TestPreemptedPodTerminates(t *testing.T) {
	w := preemption(t, replica("meek", "2"))
	uid := w.pod("meek").UID
	step := w.settle(1 * sec)
	if diff := cmp.Diff([]kvcl.Victim{{Pod: key("meek"), Node: "n1", Preemptor: key("bold")}}, step.Victims); diff != "" {
		t.Fatalf("victims (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]types.NamespacedName{key("meek")}, step.Returned); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	w.want(map[string]string{"meek.terminating-1": "Running@n1", "meek": "Pending@", "bold": "Pending@"})
	if got := w.pod("bold").Status.NominatedNodeName; got != "n1" {
		t.Errorf("bold is nominated for %q, want n1", got)
	}
	old := w.pod("meek.terminating-1")
	if old.UID != uid || old.DeletionTimestamp == nil || !old.DeletionTimestamp.Time.Equal(w.start.Add(31*sec)) {
		t.Errorf("the victim has UID %s and deletion timestamp %v, want %s and the end of its grace period", old.UID, old.DeletionTimestamp, uid)
	}
	if at, ok := w.Next(); !ok || !at.Equal(w.start.Add(1*sec+kubelet.DefaultTermination)) {
		t.Errorf("next at +%s (%t), want the end of the termination", at.Sub(w.start), ok)
	}
	// A node wakes the preemptor. Its pod is worth less than the first victim, and is left alone all the same.
	w.add(node("n2", "2"), on(pod("least", "2"), "n2"))
	if step := w.settle(2 * sec); len(step.Victims)+len(step.Bindings) > 0 {
		t.Errorf("victims %v and bindings %v while the victim terminates, want none", step.Victims, step.Bindings)
	}
	w.settle(1*sec + kubelet.DefaultTermination)
	w.want(map[string]string{"meek": "Pending@", "bold": "Running@n1", "least": "Running@n2"})
}

// TestPreemptorMayLeave: the room of a victim is for its replacement when nobody else needs it any more.
func TestPreemptorMayLeave(t *testing.T) {
	w := preemption(t, replica("meek", "2"))
	w.settle(1 * sec)
	w.remove(pod("bold", "2"))
	w.settle(2 * sec)
	w.want(map[string]string{"meek.terminating-1": "Running@n1", "meek": "Pending@"})
	w.settle(1*sec + kubelet.DefaultTermination)
	w.want(map[string]string{"meek": "Running@n1"})
}

// TestPreemptedStatefulPodWaitsForItsName: its controller makes another when the victim is gone.
func TestPreemptedStatefulPodWaitsForItsName(t *testing.T) {
	w := preemption(t, owned(pod("web-0", "2"), "StatefulSet"))
	w.settle(1 * sec)
	w.want(map[string]string{"web-0.terminating-1": "Running@n1", "bold": "Pending@"})
	w.settle(1*sec + kubelet.DefaultTermination)
	w.want(map[string]string{"web-0": "Pending@", "bold": "Running@n1"})
}

// TestBudgetCountsStoppingPods: what an eviction took of a budget is taken, while the pod stops, too.
func TestBudgetCountsStoppingPods(t *testing.T) {
	w := slowWorld(t)
	w.add(node("n1", "4"), budget("web", 1), replica("a", "1"), replica("b", "1"))
	w.settle(0)
	w.mustEvict("a")
	w.refused("b")
	w.settle(1 * sec)
	w.mustEvict("b") // the replacement runs
}
