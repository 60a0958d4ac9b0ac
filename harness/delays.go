package harness

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// provisionDelays measures, per group, the time from a recorded target size increase to its node being Ready: first
// asked, first joined; the median of what was seen. Groups that never grew are absent.
func (r *recorded) provisionDelays() map[string]time.Duration {
	asked := map[string][]time.Time{}
	seen := map[string][]time.Duration{}
	size := map[string]int{}
	for _, g := range r.groups {
		size[g.Name] = g.TargetSize
	}
	joined := map[string]bool{}
	for _, n := range r.initial.Objects.Nodes {
		joined[n.Name] = true
	}
	for _, ch := range r.changes {
		switch o := ch.Object.(type) {
		case *v1alpha1.NodeGroup:
			target := int(o.Spec.TargetSize)
			for ; size[o.Name] < target; size[o.Name]++ {
				asked[o.Name] = append(asked[o.Name], ch.At)
			}
			// A shrinking target takes back the newest requests: nodes that will never join.
			for ; size[o.Name] > target; size[o.Name]-- {
				if n := len(asked[o.Name]); n > 0 {
					asked[o.Name] = asked[o.Name][:n-1]
				}
			}
		case *corev1.Node:
			group := r.groupOf(o)
			if ch.Op == scalehist.OpDelete || joined[o.Name] || group == "" || ready(o) != corev1.ConditionTrue || blocked(o) {
				continue
			}
			joined[o.Name] = true
			if len(asked[group]) == 0 {
				continue
			}
			seen[group] = append(seen[group], ch.At.Sub(asked[group][0]))
			asked[group] = asked[group][1:]
		}
	}
	out := map[string]time.Duration{}
	for group, delays := range seen {
		slices.Sort(delays)
		out[group] = delays[len(delays)/2].Round(time.Millisecond)
	}
	return out
}

// blocked: Ready, but the node lifecycle's not-ready taint still keeps pods off.
func blocked(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
}
