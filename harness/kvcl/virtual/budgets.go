package virtual

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/scalehist/scalehist"
)

func (c *Cluster) admitBudget(ch scalehist.Change, b *policyv1.PodDisruptionBudget) {
	same := func(o *policyv1.PodDisruptionBudget) bool { return o.Namespace == b.Namespace && o.Name == b.Name }
	key := types.NamespacedName{Namespace: b.Namespace, Name: b.Name}
	switch i := slices.IndexFunc(c.budgets, same); {
	case ch.Op == scalehist.OpDelete:
		c.budgets = slices.DeleteFunc(c.budgets, same)
	case i >= 0:
		c.budgets[i] = b
	default:
		c.budgets = append(c.budgets, b)
	}
	if ch.Op == scalehist.OpUpdate {
		c.generations[key]++
	} else {
		c.generations[key] = 1
	}
	c.budgetsDirty, c.tally.stale = true, true
}

// reconcileBudgets keeps PodDisruptionBudget status as the disruption controller would: healthy pods are the Running
// ones, percentages round up against the pods the selector matches or, of workloads that were taken over, those that are wanted.
func (c *Cluster) reconcileBudgets(now time.Time) []scalehist.Change {
	if !c.budgetsDirty {
		return nil
	}
	c.budgetsDirty = false
	var out []scalehist.Change
	counts := c.countMatches()
	for i, b := range c.budgets {
		status := c.budgetStatus(b, c.expected(b, i, counts[i]))
		if equality.Semantic.DeepEqual(b.Status, status) {
			continue
		}
		next := b.DeepCopy()
		next.Status = status
		c.budgets[i] = next
		out = append(out, scalehist.Change{At: now, Op: scalehist.OpUpdate, Object: next})
	}
	return out
}

func (c *Cluster) budgetStatus(b *policyv1.PodDisruptionBudget, n matches) policyv1.PodDisruptionBudgetStatus {
	expected, healthy := n.expected, n.healthy
	desired := 0
	switch {
	case b.Spec.MaxUnavailable != nil:
		down, _ := intstr.GetScaledValueFromIntOrPercent(b.Spec.MaxUnavailable, expected, true)
		desired = max(0, expected-down)
	case b.Spec.MinAvailable != nil:
		desired, _ = intstr.GetScaledValueFromIntOrPercent(b.Spec.MinAvailable, expected, true)
	}
	allowed := max(0, healthy-desired)
	if expected == 0 {
		allowed = 0
	}
	return policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: c.generations[types.NamespacedName{Namespace: b.Namespace, Name: b.Name}],
		CurrentHealthy:     int32(healthy),
		DesiredHealthy:     int32(desired),
		ExpectedPods:       int32(expected),
		DisruptionsAllowed: int32(allowed),
	}
}

// expected counts of a workload that was taken over the replicas that are wanted instead of the pods there are, which are more in a rollout;
// but for a number of pods that must be available, as upstream (pkg/controller/disruption, getExpectedPodCount).
func (c *Cluster) expected(b *policyv1.PodDisruptionBudget, i int, n matches) matches {
	if m := b.Spec.MinAvailable; b.Spec.MaxUnavailable == nil && (m == nil || m.Type == intstr.Int) {
		return n
	}
	for _, w := range c.controllers.taken {
		if has := w.matched[i]; has > 0 && w.run != nil {
			n.expected += int(w.wanted) - has
		}
	}
	return n
}

// matches counts the pods of a budget, and the Running ones among them.
type matches struct{ expected, healthy int }

// tally counts the pods of each budget as they come, change and go.
type tally struct {
	selectors []labels.Selector
	// inNamespace are the indices of the budgets of a namespace.
	inNamespace map[string][]int
	counts      []matches
	// stale: there are other budgets, or other selectors, than counts is of.
	stale bool
}

// count takes in a pod that has come or changed.
func (t *tally) count(p *pod) {
	if p.done {
		return
	}
	p.healthy = p.object.Status.Phase == corev1.PodRunning
	for _, i := range t.inNamespace[p.object.Namespace] {
		if !t.selectors[i].Matches(labels.Set(p.object.Labels)) {
			continue
		}
		p.budgets = append(p.budgets, i)
		t.counts[i].expected++
		p.workload.match(i, 1)
		if p.healthy {
			t.counts[i].healthy++
		}
	}
}

// uncount takes out a pod that will go or change.
func (t *tally) uncount(p *pod) {
	for _, i := range p.budgets {
		t.counts[i].expected--
		p.workload.match(i, -1)
		if p.healthy {
			t.counts[i].healthy--
		}
	}
	p.budgets = p.budgets[:0]
}

// countMatches is the tally, taken again when the budgets are others.
func (c *Cluster) countMatches() []matches {
	t := &c.tally
	if !t.stale {
		return t.counts
	}
	*t = tally{selectors: make([]labels.Selector, len(c.budgets)), inNamespace: map[string][]int{}, counts: make([]matches, len(c.budgets))}
	for i, b := range c.budgets {
		sel, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue // matches nothing; the API server has refused it before
		}
		t.selectors[i] = sel
		t.inNamespace[b.Namespace] = append(t.inNamespace[b.Namespace], i)
	}
	for _, w := range c.workloads.list {
		clear(w.matched)
	}
	for _, p := range c.pods {
		p.budgets = p.budgets[:0]
		t.count(p)
	}
	return t.counts
}
