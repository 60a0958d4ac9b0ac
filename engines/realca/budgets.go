package realca

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// keepBudgets writes PodDisruptionBudget status whenever pods or budgets changed, as the disruption controller does.
func (w *world) keepBudgets() error {
	for {
		select {
		case <-w.ctx.Done():
			return nil
		case <-w.recount:
		}
		budgets, err := w.budgets.List(labels.Everything())
		if err != nil {
			return err
		}
		for _, b := range budgets {
			if err := w.keepBudget(b); apierrors.IsConflict(err) {
				w.dirty() // an eviction counted meanwhile
			} else if err != nil && !apierrors.IsNotFound(err) && w.ctx.Err() == nil {
				return err
			}
		}
	}
}

func (w *world) keepBudget(b *policyv1.PodDisruptionBudget) error {
	sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		return err
	}
	pods, err := w.pods.Pods(b.Namespace).List(sel)
	if err != nil {
		return err
	}
	status := budgetStatus(b, pods)
	if equality.Semantic.DeepEqual(status, b.Status) {
		return nil
	}
	next := b.DeepCopy()
	next.Status = status
	_, err = w.client.PolicyV1().PodDisruptionBudgets(b.Namespace).UpdateStatus(w.ctx, next, metav1.UpdateOptions{})
	return err
}

// budgetStatus counts the pods of a budget. A pod that an eviction has just been granted for does not count as healthy any more;
// percentages round up.
func budgetStatus(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod) policyv1.PodDisruptionBudgetStatus {
	out := policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation}
	expected, healthy := 0, 0
	for _, p := range pods {
		if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		expected++
		if since, ok := b.Status.DisruptedPods[p.Name]; ok {
			if out.DisruptedPods == nil {
				out.DisruptedPods = map[string]metav1.Time{}
			}
			out.DisruptedPods[p.Name] = since
			continue
		}
		if p.Status.Phase == corev1.PodRunning {
			healthy++
		}
	}
	desired := 0
	if u := b.Spec.MaxUnavailable; u != nil {
		down, _ := intstr.GetScaledValueFromIntOrPercent(u, expected, true) // the API server has checked it
		desired = max(0, expected-down)
	} else if a := b.Spec.MinAvailable; a != nil {
		desired, _ = intstr.GetScaledValueFromIntOrPercent(a, expected, true)
	}
	out.ExpectedPods, out.CurrentHealthy, out.DesiredHealthy = int32(expected), int32(healthy), int32(desired)
	if expected > 0 {
		out.DisruptionsAllowed = int32(max(0, healthy-desired))
	}
	return out
}
