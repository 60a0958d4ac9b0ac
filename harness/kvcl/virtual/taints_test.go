package virtual_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func tolerating(p *corev1.Pod, key string, seconds *int64) *corev1.Pod {
	p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
		Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds,
	})
	return p
}

// TestTaintsDrivePodsOff: pods leave an unreachable node when they tolerate it no longer, five minutes if they say nothing;
// other NoExecute taints act at once; a taint that is taken back in time does nothing.
func TestTaintsDrivePodsOff(t *testing.T) {
	w := newWorld(t)
	w.add(daemonSet("agent", "100m", nil), node("n1", "8"), node("n2", "8"), budget("web", 5))
	w.add(on(replica("plain", "1"), "n1"), on(tolerating(replica("short", "1"), corev1.TaintNodeUnreachable, new(int64(30))), "n1"),
		on(tolerating(replica("loyal", "1"), corev1.TaintNodeUnreachable, nil), "n1"), on(pod("bare", "1"), "n1"))
	w.settle(0)
	set := func(taints ...corev1.Taint) {
		t.Helper()
		if err := w.SetTaints(t.Context(), "n1", taints); err != nil {
			t.Fatal(err)
		}
	}
	next := func(want int) {
		t.Helper()
		at, ok := w.Next()
		if got := int(at.Sub(w.start).Seconds()); want == 0 && ok || want > 0 && got != want {
			t.Errorf("next at +%ds (%t), want +%ds", got, ok, want)
		}
	}
	gone := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
	set(gone)
	w.settle(10 * sec)
	next(40)
	w.settle(39 * sec)
	set() // back in time
	w.settle(39 * sec)
	next(0)
	set(gone)
	w.settle(100 * sec)
	step := w.settle(130 * sec)
	if diff := cmp.Diff([]types.NamespacedName{key("short")}, step.Returned); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	w.want(map[string]string{
		"agent-n1": "Running@n1", "agent-n2": "Running@n2", "plain": "Running@n1", "short": "Running@n2", "loyal": "Running@n1", "bare": "Running@n1",
	})
	next(400)
	w.settle(400 * sec)
	w.want(map[string]string{
		"agent-n1": "Running@n1", "agent-n2": "Running@n2", "plain": "Running@n2", "short": "Running@n2", "loyal": "Running@n1",
	})
	next(0)
	set(gone, corev1.Taint{Key: "repair", Effect: corev1.TaintEffectNoExecute})
	w.settle(401 * sec)
	w.want(map[string]string{"agent-n2": "Running@n2", "plain": "Running@n2", "short": "Running@n2", "loyal": "Running@n2"})
	w.remove(node("n1", "8"))
	w.settle(402 * sec)
	next(0)
}
