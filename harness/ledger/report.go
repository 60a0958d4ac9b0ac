package ledger

import (
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/trace"
)

// Fill puts what was written so far into a report that ends at end, with all pods and nodes of its first and its last snapshot if
// whole. The report shares nothing with the ledger that changes when more is played.
func (l *Ledger) Fill(out *scalehist.ReplayReport, end time.Time, whole bool) {
	out.Decisions, out.Loops = append([]scalehist.Decision{}, l.decisions...), l.loops
	out.Steps = append([]scalehist.SizeStep{}, l.steps...)
	out.Batches = l.finalBatches()
	out.Settings, out.SettingsChanges = l.engineStart, slices.Clone(l.changes)
	out.Warnings = slices.Clone(l.warnings)
	out.Moments = l.Moments.Moments()
	if whole {
		out.Start, out.End = l.start.Whole(), l.end.Whole()
	} else {
		out.Start, out.End = l.start.Summary(), l.end.Summary()
	}
	out.ScaledUpNodes = l.ScaledNodes()
	out.Pending = l.pending(end)
	out.UnschedulableAtEnd = unschedulable(l.end)
}

// Batches counts the steps in which anything came in or moved.
func (l *Ledger) Batches() int { return len(l.batches) }

// FirstSettings are those of the start.
func (l *Ledger) FirstSettings() scalehist.CASettings { return l.engineStart }

// finalBatches says in each batch what became of the pods it fed in, and where others got a node.
func (l *Ledger) finalBatches() []scalehist.Batch {
	out := append([]scalehist.Batch{}, l.batches...)
	for i, pods := range l.fedIn {
		out[i].DeployedPods = make([]scalehist.DeployedPod, 0, len(pods))
		for _, p := range pods {
			out[i].DeployedPods = append(out[i].DeployedPods, p.entry)
		}
	}
	for i, list := range l.placed {
		for _, p := range list {
			if !p.pod.fed || p.pod.entry.ScheduledAt != p.at {
				out[i].Placed = append(out[i].Placed, p.Placement)
			}
		}
	}
	return out
}

// ScaledNodes are the nodes that joined groups in the replay, in the order in which they did, with the pods they have at the end.
func (l *Ledger) ScaledNodes() []scalehist.ScaledNode {
	pods := map[string][]string{}
	for _, p := range l.end.ScheduledPods {
		if !isDaemon(p) {
			pods[p.NodeName] = append(pods[p.NodeName], p.Namespace+"/"+p.Name)
		}
	}
	out := []scalehist.ScaledNode{}
	for _, n := range l.nodeList {
		if n.standing {
			continue
		}
		s := scalehist.ScaledNode{Name: n.name, NodeGroup: n.group, RequestedAt: n.requested.UTC(), ReadyAt: n.joined.UTC(), Pods: pods[n.name], Offers: n.offers}
		if !n.gone.IsZero() {
			gone := n.gone.UTC()
			s.RemovedAt = &gone
		}
		out = append(out, s)
	}
	return out
}

// pending sums up the waits of all demands as of an instant that is not before the last step.
func (l *Ledger) pending(at time.Time) scalehist.PendingStats {
	waits := make([]trace.Wait, 0, len(l.demands))
	for _, p := range l.demands {
		waits = append(waits, trace.Wait{For: p.waitedBy(at), Still: p.waits})
	}
	return trace.SumWaits(waits)
}

func unschedulable(s scalehist.ClusterSnapshot) []scalehist.UnschedulablePod {
	out := []scalehist.UnschedulablePod{}
	for _, p := range s.UnscheduledPods {
		out = append(out, scalehist.UnschedulablePod{Namespace: p.Namespace, Name: p.Name, Message: p.Message})
	}
	return out
}

func isDaemon(p scalehist.PodInfo) bool {
	return len(p.Owner) > 10 && p.Owner[:10] == "DaemonSet/" || len(p.Owner) > 5 && p.Owner[:5] == "Node/"
}
