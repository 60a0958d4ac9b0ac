package trace

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/moment"
)

// takenWithin is how long before a node's removal its group's target size was lowered, if that is why: a cloud takes
// minutes to delete a machine.
const takenWithin = 15 * time.Minute

// lostNodes are the nodes of groups that were removed without the autoscaler's mark and without their group getting smaller: a
// machine failed, a spot instance was reclaimed, or a person deleted it. They are causes, and go again: a node that stood
// at the start by its name, of the others the oldest one of the group.
func (r *recorded) lostNodes() []NodeFault {
	taken := map[string][]time.Time{}
	for _, s := range r.steps() {
		for range s.From - s.To {
			taken[s.NodeGroup] = append(taken[s.NodeGroup], s.At)
		}
	}
	// take uses up the first decrease that a node's end may answer.
	take := func(group string, at time.Time) bool {
		i := slices.IndexFunc(taken[group], func(t time.Time) bool { return !t.After(at) && at.Sub(t) <= takenWithin })
		if i >= 0 {
			taken[group] = slices.Delete(taken[group], i, i+1)
		}
		return i >= 0
	}
	var gone []scalehist.Change
	for _, ch := range r.changes {
		if n, ok := ch.Object.(*corev1.Node); ok && ch.Op == scalehist.OpDelete && r.grouped(n, ch.At) && (!r.departed[n.Name] || !r.stood(n)) {
			if scalehist.BeingRemoved(n) {
				take(r.groupOf(n), ch.At)
				continue
			}
			gone = append(gone, ch)
		}
	}
	var out []NodeFault
	for _, ch := range gone {
		n, _ := ch.Object.(*corev1.Node)
		if take(r.groupOf(n), ch.At) {
			continue
		}
		f := NodeFault{Kind: FaultSpotReclaim, NodeGroup: r.groupOf(n), Count: 1, From: ch.At, Recorded: true}
		if r.stood(n) {
			f.Node, f.NodeGroup = n.Name, ""
		}
		out = append(out, f)
	}
	return out
}

// stood says whether a node is one of the start, and not another that took its name.
func (r *recorded) stood(n *corev1.Node) bool {
	return slices.ContainsFunc(r.initial.Objects.Nodes, func(i *corev1.Node) bool { return i.Name == n.Name && i.UID == n.UID })
}

// failedNodes are the nodes of groups that came within the window, were Ready, and were not for a while: the autoscaler's
// doing brought them, and something else made them fail. (A node that stood at the start fails by name: see nodeCause.)
func (r *recorded) failedNodes() []NodeFault {
	came := map[string]bool{} // by identity; true: it has been Ready
	var out []NodeFault
	open := map[string]int{} // by identity: the fault that lasts
	for _, ch := range r.changes {
		n, ok := ch.Object.(*corev1.Node)
		if !ok || r.groupOf(n) == "" {
			continue
		}
		id := objectID(n)
		i, down := open[id]
		switch ok := ready(n) == corev1.ConditionTrue; {
		case ch.Op == scalehist.OpDelete:
			delete(came, id)
			delete(open, id)
		case ch.Op == scalehist.OpAdd || came[id] && ok && !down:
			came[id] = ok
		case ok && down:
			out[i].To = ch.At
			delete(open, id)
		case ok:
			if _, known := came[id]; known {
				came[id] = true
			}
		case came[id] && !down && !scalehist.BeingRemoved(n):
			open[id] = len(out)
			out = append(out, NodeFault{Kind: FaultNotReady, NodeGroup: r.groupOf(n), Count: 1, From: ch.At, Recorded: true})
		}
	}
	return out
}

func describeLoss(f NodeFault) string {
	what := "node " + f.Node
	if f.Node == "" {
		what = "a node of group " + f.NodeGroup
	}
	if f.Kind == FaultNotReady {
		until := "for good"
		if !f.To.IsZero() {
			until = "until " + moment.Stamp(f.To)
		}
		return fmt.Sprintf(faultWarning+"%s was not ready from %s %s; a node of the group fails again then; --recorded-faults=false keeps it ready", what, moment.Stamp(f.From), until)
	}
	return fmt.Sprintf(faultWarning+"%s went at %s without the autoscaler's mark and goes again; --recorded-faults=false keeps it", what, moment.Stamp(f.From))
}
