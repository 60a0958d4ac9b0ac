package plane

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// restoreBudget replaces the wall-clock times that an eviction writes into the status of a budget: when a pod was evicted,
// and since when a condition holds. Times that Apply was given stay.
func (it *item) restoreBudget(b *policyv1.PodDisruptionBudget, now time.Time) {
	given, before := it.budget, (*policyv1.PodDisruptionBudgetStatus)(nil)
	if given == nil {
		given = &policyv1.PodDisruptionBudgetStatus{}
	}
	if shown, ok := it.obj.(*policyv1.PodDisruptionBudget); ok {
		before = &shown.Status
	} else {
		before = given
	}
	for pod, at := range b.Status.DisruptedPods {
		if same(at, given.DisruptedPods[pod]) {
			continue
		}
		at = metav1.NewTime(now)
		if known, ok := before.DisruptedPods[pod]; ok {
			at = known
		}
		b.Status.DisruptedPods[pod] = at
	}
	for i := range b.Status.Conditions {
		c := &b.Status.Conditions[i]
		if g := condition(given, c.Type); g != nil && same(c.LastTransitionTime, g.LastTransitionTime) {
			continue
		}
		at := metav1.NewTime(now)
		if known := condition(before, c.Type); known != nil && known.Status == c.Status {
			at = known.LastTransitionTime
		}
		c.LastTransitionTime = at
	}
}

// same says whether two times are one to an API server, which keeps seconds.
func same(a, b metav1.Time) bool { return a.Unix() == b.Unix() }

func condition(s *policyv1.PodDisruptionBudgetStatus, of string) *metav1.Condition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == of {
			return &s.Conditions[i]
		}
	}
	return nil
}
