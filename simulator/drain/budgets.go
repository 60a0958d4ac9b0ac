package drain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Budgets are the PodDisruptionBudgets with the disruptions they still allow, counted down as removals are planned.
// A nil *Budgets has none.
type Budgets struct {
	byNamespace map[string][]*budget
}

type budget struct {
	selector labels.Selector
	allowed  int32
}

// NewBudgets starts from the budgets' status. A selector that cannot be parsed is an error that names the budget.
func NewBudgets(pdbs []*policyv1.PodDisruptionBudget) (*Budgets, error) {
	out := &Budgets{byNamespace: map[string][]*budget{}}
	for _, b := range pdbs {
		s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			return nil, fmt.Errorf("PodDisruptionBudget %s/%s: selector: %w", b.Namespace, b.Name, err)
		}
		out.byNamespace[b.Namespace] = append(out.byNamespace[b.Namespace], &budget{s, b.Status.DisruptionsAllowed})
	}
	return out, nil
}

func (b *Budgets) of(p *corev1.Pod) []*budget {
	if b == nil {
		return nil
	}
	var out []*budget
	for _, x := range b.byNamespace[p.Namespace] {
		if x.selector.Matches(labels.Set(p.Labels)) {
			out = append(out, x)
		}
	}
	return out
}

func (b *Budgets) match(p *corev1.Pod) bool { return len(b.of(p)) > 0 }

// exhausted: some budget of the pod allows no disruption.
func (b *Budgets) exhausted(p *corev1.Pod) bool {
	for _, x := range b.of(p) {
		if x.allowed < 1 {
			return true
		}
	}
	return false
}

// AllAtOnce says whether the pods could all go at the same time: no budget has more of them than it allows. A node
// whose pods cannot is risky, because its drain must wait for replacements.
func (b *Budgets) AllAtOnce(pods []*corev1.Pod) bool {
	need := map[*budget]int32{}
	for _, p := range pods {
		for _, x := range b.of(p) {
			if need[x]++; need[x] > x.allowed {
				return false
			}
		}
	}
	return true
}

// Take counts the pods as disrupted.
func (b *Budgets) Take(pods []*corev1.Pod) {
	for _, p := range pods {
		for _, x := range b.of(p) {
			x.allowed--
		}
	}
}
