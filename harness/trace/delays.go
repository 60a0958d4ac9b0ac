package trace

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
	joined, _ := r.deliveries(r.end)
	for group, deliveries := range joined {
		var delays []time.Duration
		for _, d := range deliveries {
			if !d.asked.IsZero() {
				delays = append(delays, d.joined.Sub(d.asked))
			}
		}
		if len(delays) > 0 {
			out[group] = median(delays)
		}
	}
	return out
}

// deliveries pairs requests with nodes up to an instant, per group: first asked, first joined. outstanding are the
// requests without a node then; a zero time was asked for before the window.
func (r *recorded) deliveries(until time.Time) (done map[string][]delivery, outstanding map[string][]time.Time) {
	asked := map[string][]time.Time{}
	out := map[string][]delivery{}
	joined := map[string]bool{}
	standing := map[string]int{}
	for _, n := range r.initial.Objects.Nodes {
		joined[objectID(n)] = true
		if !r.departed[n.Name] {
			standing[r.groupOf(n)]++
		}
	}
	for _, g := range r.groups {
		// Nodes on their way at the start join before those asked for later.
		asked[g.Name] = make([]time.Time, max(0, g.TargetSize-standing[g.Name]))
	}
	steps := r.steps()
	ask := func(upTo time.Time) {
		for ; len(steps) > 0 && !steps[0].At.After(upTo); steps = steps[1:] {
			s := steps[0]
			for range s.To - s.From {
				asked[s.NodeGroup] = append(asked[s.NodeGroup], s.At)
			}
			// A shrinking target takes back the newest requests: nodes that will never join.
			keep := max(0, len(asked[s.NodeGroup])-max(0, s.From-s.To))
			asked[s.NodeGroup] = asked[s.NodeGroup][:keep]
		}
	}
	for _, ch := range r.changes {
		if ch.At.After(until) {
			break
		}
		ask(ch.At)
		if g, ok := ch.Object.(*v1alpha1.NodeGroup); ok && r.late[g.Name].at.Equal(ch.At) && ch.Op == scalehist.OpAdd {
			// It came with nodes on their way.
			for range int(g.Spec.TargetSize) - len(out[g.Name]) {
				asked[g.Name] = append(asked[g.Name], ch.At)
			}
		}
		o, ok := ch.Object.(*corev1.Node)
		if !ok {
			continue
		}
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
	ask(until)
	return out, asked
}

// deletionDelay is the median time from a recorded target size decrease to a node of the group being gone, the upper one
// of two; false when none was seen to go. Each decrease counts for as many nodes as it takes, the first asked first gone, of
// those since the node was marked for deletion: a target shrinks as well for instances that never became nodes.
func (r *recorded) deletionDelay() (time.Duration, bool) {
	asked := map[string][]time.Time{}
	for _, s := range r.steps() {
		for range s.From - s.To {
			asked[s.NodeGroup] = append(asked[s.NodeGroup], s.At)
		}
	}
	var delays []time.Duration
	marked := map[string]time.Time{}
	for _, ch := range r.changes {
		n, ok := ch.Object.(*corev1.Node)
		if !ok || !scalehist.BeingRemoved(n) {
			continue
		}
		if _, known := marked[objectID(n)]; !known {
			marked[objectID(n)] = ch.At
		}
		if ch.Op != scalehist.OpDelete {
			continue
		}
		of := asked[r.groupOf(n)]
		at := slices.IndexFunc(of, func(t time.Time) bool { return !t.Before(marked[objectID(n)]) })
		if at < 0 || of[at].After(ch.At) {
			continue // it was asked for before the window
		}
		delays = append(delays, ch.At.Sub(of[at]))
		asked[r.groupOf(n)] = slices.Delete(of, at, at+1)
	}
	if len(delays) == 0 {
		return 0, false
	}
	return median(delays), true
}

// blocked: Ready, but the node lifecycle's not-ready taint still keeps pods off.
func blocked(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
}
