package ledger

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
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
	for _, name := range slices.Sorted(maps.Keys(out)) {
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

// measureStart notes what the nodes of the start offer; the start of a report shows it.
func (l *Ledger) measureStart(o *scalehist.Objects) {
	for name, offers := range l.offered(o, nil) {
		if n := l.byNode[name]; n != nil {
			n.offersNow, n.measured = offers, true
		}
	}
}

// Measure notes which pods that belong to a node came or went, what the nodes that joined in this step offer to workload pods, now that the pods that belong to them are
// there (some of these nodes are gone before the end, which shows no trace of them), and which nodes offer something else
// after a change of DaemonSets or nodes.
func (l *Ledger) Measure(o *scalehist.Objects) {
	l.nodePods.look(l, o)
	if !l.Unmeasured() {
		return
	}
	var only map[string]bool // nil: all
	if !l.remeasure {
		only = map[string]bool{}
		for _, n := range l.joined {
			only[n.name] = true
		}
	}
	offered := l.offered(o, only)
	for _, n := range l.joined {
		n.offers, n.measured = offered[n.name], true // none of one that is gone again
		n.offersNow = n.offers
	}
	if l.remeasure {
		for _, name := range slices.Sorted(maps.Keys(offered)) {
			n := l.byNode[name]
			if n == nil || n.measured && maps.Equal(n.offersNow, offered[name]) {
				continue
			}
			n.offersNow, n.measured = offered[name], true
			l.batch.Offers = append(l.batch.Offers, scalehist.NodeOffer{Node: name, Offers: offered[name]})
		}
	}
	l.joined, l.remeasure = nil, false
}

// Unmeasured says whether what nodes offer may have changed in this step.
func (l *Ledger) Unmeasured() bool { return len(l.joined) > 0 || l.remeasure }

// offered is what each of some nodes has for workload pods, by name; of all nodes if only is nil.
func (l *Ledger) offered(o *scalehist.Objects, only map[string]bool) map[string]map[string]string {
	taken := map[string]corev1.ResourceList{}
	for _, p := range o.Pods {
		if only != nil && !only[p.Spec.NodeName] {
			continue
		}
		if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || !podlife.FollowsNode(p) {
			continue
		}
		if taken[p.Spec.NodeName] == nil {
			taken[p.Spec.NodeName] = corev1.ResourceList{}
		}
		add(taken[p.Spec.NodeName], resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}))
	}
	out := map[string]map[string]string{}
	for _, n := range o.Nodes {
		if only != nil && !only[n.Name] {
			continue
		}
		left := corev1.ResourceList{}
		for name, q := range n.Status.Allocatable {
			q = q.DeepCopy()
			if t, ok := taken[n.Name][name]; ok {
				q.Sub(t)
			}
			if q.Sign() > 0 {
				left[name] = q
			}
		}
		out[n.Name] = l.amounts.of(left)
	}
	return out
}

// add adds amounts to a list.
func add(to, more corev1.ResourceList) {
	for name, q := range more {
		sum := to[name].DeepCopy()
		sum.Add(q)
		to[name] = sum
	}
}
