package podlife

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// defaultToleration is how long admission lets every pod stay on a node that is not ready or unreachable, when the pod
// says nothing of its own (admission plugin DefaultTolerationSeconds, which is off here: recorded pods have it already).
const defaultToleration = 300 * time.Second

// Tolerates says how long a pod stays under a NoExecute taint: the shortest of its tolerations that match.
func Tolerates(p *corev1.Pod, taint corev1.Taint) (stay time.Duration, forever bool) {
	matched := false
	forever = true
	for i := range p.Spec.Tolerations {
		t := &p.Spec.Tolerations[i]
		if !t.ToleratesTaint(klog.Background(), &taint, false) {
			continue
		}
		matched = true
		if t.TolerationSeconds == nil {
			continue
		}
		if d := max(0, time.Duration(*t.TolerationSeconds)*time.Second); forever || d < stay {
			stay, forever = d, false
		}
	}
	switch {
	case matched:
		return stay, forever
	case taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable:
		return defaultToleration, false
	}
	return 0, false
}
