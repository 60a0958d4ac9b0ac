package virtual_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist/harness/kvcl/virtual"
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
	if at, ok := w.Next(); !ok || !at.Equal(w.start.Add(virtual.DefaultTermination)) {
		t.Errorf("next at +%s (%t), want the end of the termination", at.Sub(w.start), ok)
	}
	w.settle(virtual.DefaultTermination)
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
	told := pod("told", "1")
	told.Annotations = map[string]string{virtual.TerminationAnnotation: "7s"}
	w.start = w.start.Add(5 * sec)
	w.remove(pod("plain", "1"), told, pod("quick", "1"), pod("done", "1"), pod("waiting", "9"))
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

func TestAssumedTermination(t *testing.T) {
	for name, tt := range map[string]struct {
		grace *int64
		want  time.Duration
	}{
		"no grace period": {nil, virtual.DefaultTermination},
		"a long one":      {ptr.To[int64](600), virtual.DefaultTermination},
		"a short one":     {ptr.To[int64](1), time.Second},
		"none":            {ptr.To[int64](0), 0},
	} {
		if got := virtual.AssumedTermination(&corev1.Pod{Spec: corev1.PodSpec{TerminationGracePeriodSeconds: tt.grace}}); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
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
