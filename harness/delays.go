package harness

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// delivery is a node that joined Ready, and when it was asked for; asked is zero when that was before the window, or
// was not recorded.
type delivery struct{ asked, joined time.Time }

// provisionDelays are, per group, the median time from a recorded target size increase to its node being Ready, the
// upper one of two. Groups that never grew are absent.
func (r *recorded) provisionDelays() map[string]time.Duration {
	out := map[string]time.Duration{}
	for group, deliveries := range r.deliveries() {
		var delays []time.Duration
		for _, d := range deliveries {
			if !d.asked.IsZero() {
				delays = append(delays, d.joined.Sub(d.asked))
			}
		}
		if len(delays) > 0 {
			slices.Sort(delays)
			out[group] = delays[len(delays)/2].Round(time.Millisecond)
		}
	}
	return out
}

// deliveries pairs requests with nodes, per group: first asked, first joined.
func (r *recorded) deliveries() map[string][]delivery {
	asked := map[string][]time.Time{}
	out := map[string][]delivery{}
	size := map[string]int{}
	joined := map[string]bool{}
	for _, n := range r.initial.Objects.Nodes {
		joined[objectID(n)] = true
		if !r.departed[n.Name] {
			size[r.groupOf(n)]++
		}
	}
	for _, g := range r.groups {
		// Nodes on their way at the start join before those asked for later.
		asked[g.Name] = make([]time.Time, max(0, g.TargetSize-size[g.Name]))
		size[g.Name] = g.TargetSize
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
			if ch.Op == scalehist.OpDelete || joined[objectID(o)] || group == "" || ready(o) != corev1.ConditionTrue || blocked(o) {
				continue
			}
			joined[objectID(o)] = true
			d := delivery{joined: ch.At}
			if len(asked[group]) > 0 {
				d.asked, asked[group] = asked[group][0], asked[group][1:]
			}
			out[group] = append(out[group], d)
		}
	}
	return out
}

// blocked: Ready, but the node lifecycle's not-ready taint still keeps pods off.
func blocked(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
}
