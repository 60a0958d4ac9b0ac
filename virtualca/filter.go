package virtualca

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/virtualca/estimator"
)

// hints remember on which node a pod fitted in this loop and the one before (simulator/scheduling/hints).
type hints struct{ current, previous map[string]string }

func newHints() *hints { return &hints{map[string]string{}, map[string]string{}} }

func (h *hints) get(key string) (string, bool) {
	if n, ok := h.current[key]; ok {
		return n, true
	}
	n, ok := h.previous[key]
	return n, ok
}

func (h *hints) set(key, node string) { h.current[key] = node }

// dropOld forgets hints not renewed in this loop.
func (h *hints) dropOld() { h.previous, h.current = h.current, map[string]string{} }

func hintKey(p *corev1.Pod) string {
	if p.UID != "" {
		return string(p.UID)
	}
	return podName(p)
}

// filterSchedulable places the pods that fit on existing and upcoming nodes, so that later pods and the estimator see
// that room as taken, and returns those that do not fit: by priority, the highest first, else in the order given. A pod
// like one that failed before is not tried (core/podlistprocessor/filter_out_schedulable.go).
func (l *loop) filterSchedulable(ctx context.Context, pods []*corev1.Pod) []*corev1.Pod {
	c := l.a.checker
	sorted := append([]*corev1.Pod(nil), pods...)
	slices.SortStableFunc(sorted, func(a, b *corev1.Pod) int { return cmp.Compare(priority(b), priority(a)) })
	failed := map[types.UID][]*corev1.Pod{}
	var left []*corev1.Pod
	for _, p := range sorted {
		if ctx.Err() != nil {
			break // the loop ends with it
		}
		if at, ok := l.hinted(ctx, p); ok {
			c.Place(p, at)
			continue
		}
		owner := metav1.GetControllerOfNoCopy(p)
		if owner != nil && l.failedBefore(failed[owner.UID], p) {
			left = append(left, p)
			continue
		}
		if at, ok := c.FirstFit(ctx, p, 0, c.Snapshot().Len(), -1); ok {
			l.a.hints.set(hintKey(p), c.Snapshot().NodeInfo(at).Node().Name)
			c.Place(p, at)
			continue
		}
		if owner != nil && len(failed[owner.UID]) < estimator.MaxShapesPerController {
			failed[owner.UID] = append(failed[owner.UID], p)
		}
		left = append(left, p)
	}
	l.a.hints.dropOld()
	l.d.FilteredSchedulable = len(sorted) - len(left)
	return left
}

// hinted finds the node a pod went to last loop, if it still fits there.
func (l *loop) hinted(ctx context.Context, p *corev1.Pod) (int, bool) {
	node, ok := l.a.hints.get(hintKey(p))
	if !ok {
		return 0, false
	}
	at, ok := l.a.checker.Snapshot().Index(node)
	if !ok || !l.a.checker.Fits(ctx, p, at) {
		return 0, false
	}
	l.a.hints.set(hintKey(p), node)
	return at, true
}

func (l *loop) failedBefore(failed []*corev1.Pod, p *corev1.Pod) bool {
	for _, f := range failed {
		if l.equivalence.Alike(p, f) {
			return true
		}
	}
	return false
}

func priority(p *corev1.Pod) int32 {
	if p.Spec.Priority != nil {
		return *p.Spec.Priority
	}
	return 0
}

// dropDaemonSetPods leaves out pods that only their own node can take.
func dropDaemonSetPods(pods []*corev1.Pod) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range pods {
		if !isDaemonSetPod(p) {
			out = append(out, p)
		}
	}
	return out
}
