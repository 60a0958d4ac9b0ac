package virtualca

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/scalehist/scalehist/virtualca/estimator"
)

// similarGroups lists the groups that new nodes of a group may be shared with: alike by template, safe to scale, and
// able to take all pod groups this one can take.
func (l *loop) similarGroups(group string, schedulable map[string][]*estimator.Group) []string {
	if !l.a.settings.BalanceSimilarNodeGroups || l.zeroOrMax(group) || len(schedulable[group]) == 0 {
		return nil
	}
	var out []string
	for _, g := range l.groups {
		other := l.template(g.Name)
		if g.Name == group || other == nil {
			continue
		}
		if own := l.template(group); !l.a.settings.Similar(own.node, other.node, own.free(), other.free()) {
			continue
		}
		if !l.a.state.healthy(g.Name) || l.a.state.backoff.Active(g.Name, l.now) {
			continue
		}
		if theirs, ok := schedulable[g.Name]; ok && containsAll(theirs, schedulable[group]) {
			out = append(out, g.Name)
		}
	}
	return out
}

func containsAll(have, want []*estimator.Group) bool {
	in := make(map[*estimator.Group]bool, len(have))
	for _, g := range have {
		in[g] = true
	}
	for _, g := range want {
		if !in[g] {
			return false
		}
	}
	return true
}

// free is what the pods of a fresh node leave.
func (t *template) free() corev1.ResourceList {
	out := t.node.Status.Allocatable.DeepCopy()
	for _, p := range t.pods {
		for r, q := range resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}) {
			if have, ok := out[r]; ok {
				have.Sub(q)
				out[r] = have
			}
		}
	}
	return out
}
