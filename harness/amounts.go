package harness

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/scalehist/scalehist"
)

// amounts holds one copy of each list of resources of a report: a thousand replicas ask for the same.
type amounts map[string]map[string]string

// of is a list in the canonical form of reports: equal amounts are equal text. Amounts of nothing are left out.
func (a *amounts) of(list corev1.ResourceList) map[string]string {
	out := map[string]string{}
	for name, q := range list {
		if !q.IsZero() {
			out[string(name)] = q.String()
		}
	}
	if len(out) == 0 {
		return nil
	}
	var key strings.Builder
	for _, name := range sortedKeys(out) {
		key.WriteString(name + "\x00" + out[name] + "\x00")
	}
	if known, ok := (*a)[key.String()]; ok {
		return known
	}
	if *a == nil {
		*a = amounts{}
	}
	(*a)[key.String()] = out
	return out
}

// measure notes which pods that belong to a node came or went, and what the nodes that joined in this step offer to workload pods, now
// that those pods are
// there: some of these nodes are gone before the end, which shows no trace of them.
func (l *ledger) measure(o *scalehist.Objects) {
	l.nodePods.look(l, o)
	if len(l.joined) == 0 {
		return
	}
	taken := map[string]corev1.ResourceList{}
	for _, n := range l.joined {
		taken[n.name] = corev1.ResourceList{}
	}
	for _, p := range o.Pods {
		if sum, fresh := taken[p.Spec.NodeName]; fresh && followsNode(p) {
			add(sum, resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}))
		}
	}
	for _, n := range l.joined {
		left := corev1.ResourceList{}
		for name, q := range n.object.Status.Allocatable {
			q = q.DeepCopy()
			if t, ok := taken[n.name][name]; ok {
				q.Sub(t)
			}
			if q.Sign() > 0 {
				left[name] = q
			}
		}
		n.offers = l.amounts.of(left)
	}
	l.joined = nil
}

// add adds amounts to a list.
func add(to, more corev1.ResourceList) {
	for name, q := range more {
		sum := to[name].DeepCopy()
		sum.Add(q)
		to[name] = sum
	}
}
