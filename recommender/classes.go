package recommender

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/scalehist/scalehist/simulator/fit"
)

// class are pending pods that no plugin can tell apart, of one priority. Its pods are in creation order.
type class struct {
	pods []*corev1.Pod
	// like is one of its pods, whichever wait.
	like     *corev1.Pod
	demand   amounts
	priority int32
	size     float64
	// wide: whether its pods fit a node depends on pods elsewhere. ordered: more pods elsewhere may make room for it.
	wide, ordered bool
	// attracts select the pods that may make room for an ordered class.
	attracts []attraction
}

type attraction struct {
	selector labels.Selector
	// namespace is the only one; "": any may be.
	namespace string
}

// classify sorts the pods that ask for room into classes: by priority, then by size, then by creation.
func (c *cluster) classify(checker *fit.Checker) []*class {
	type key struct {
		shape    int
		priority int32
	}
	byKey := map[key]*class{}
	var out []*class
	for _, p := range c.pending {
		k := key{checker.ShapeID(p), priority(p)}
		cl := byKey[k]
		if cl == nil {
			cl = &class{like: p, demand: c.table.demand(p), priority: k.priority}
			cl.demand[podsSlot] = 1
			cl.size = c.sizeOf(cl.demand)
			cl.constraints(p)
			byKey[k] = cl
			out = append(out, cl)
		}
		cl.pods = append(cl.pods, p)
	}
	slices.SortStableFunc(out, func(a, b *class) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(b.size, a.size))
	})
	return out
}

// sizeOf is the largest share of any resource, of the most that a node of any group has of it.
func (c *cluster) sizeOf(demand amounts) float64 {
	size := 0.0
	for i, n := range demand {
		most := int64(0)
		for _, g := range c.groups {
			if g.node != nil {
				most = max(most, g.size[i])
			}
		}
		if most > 0 && i != podsSlot {
			size = max(size, float64(n)/float64(most))
		}
	}
	return size
}

func (cl *class) constraints(p *corev1.Pod) {
	for i := range p.Spec.TopologySpreadConstraints {
		s := &p.Spec.TopologySpreadConstraints[i]
		if s.WhenUnsatisfiable == corev1.DoNotSchedule {
			cl.wide, cl.ordered = true, true
			cl.attract(s.LabelSelector, p.Namespace)
		}
	}
	a := p.Spec.Affinity
	if a == nil {
		return
	}
	if a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		cl.wide = true
	}
	if a.PodAffinity != nil {
		for i := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			t := &a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i]
			cl.wide, cl.ordered = true, true
			cl.attract(t.LabelSelector, "")
		}
	}
}

// attract takes a selector that cannot be parsed for one that selects all: the plugins report the error.
func (cl *class) attract(s *metav1.LabelSelector, namespace string) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		selector = labels.Everything()
	}
	cl.attracts = append(cl.attracts, attraction{selector, namespace})
}

// opens says whether pods of another class may make room for this one.
func (cl *class) opens(by *class) bool {
	p := by.like
	return slices.ContainsFunc(cl.attracts, func(a attraction) bool {
		return (a.namespace == "" || a.namespace == p.Namespace) && a.selector.Matches(labels.Set(p.Labels))
	})
}

// queue are the classes with how many of their pods have a place.
type queue struct {
	classes []*class
	placed  []int
}

func (q *queue) rest(i int) []*corev1.Pod { return q.classes[i].pods[q.placed[i]:] }

// waiting sums up what the pods without a place ask for.
func (q *queue) waiting(t *table) amounts {
	sum := make(amounts, len(t.names))
	for i, cl := range q.classes {
		sum.add(cl.demand, int64(len(cl.pods)-q.placed[i]))
	}
	return sum
}
