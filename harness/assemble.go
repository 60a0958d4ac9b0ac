package harness

import (
	"cmp"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// report puts the ledger into its final form.
func (r *run) report(end time.Time, playback scalehist.Playback) *scalehist.ReplayReport {
	l := r.ledger
	out := &scalehist.ReplayReport{
		Version: scalehist.ReportVersion, Scenario: r.in.Name, Autoscaler: r.engine.Name(), Playback: playback,
		StartTime: r.in.Start, EndTime: end.UTC(), BatchInterval: scalehist.Duration(r.batch),
		Decisions: nonNil(l.decisions), Loops: l.loops, Batches: nonNil(l.finalBatches()),
		Settings: l.engineStart, SettingsChanges: l.changes, Warnings: l.warnings, Inputs: r.inputs(),
		Start: l.start, End: l.end,
	}
	if !r.opts.fullSnapshots {
		out.Start, out.End = l.start.Summary(), l.end.Summary()
	}
	out.ScaledUpNodeGroups, out.ScaledDownNodeGroups = map[string]int{}, map[string]int{}
	steps := r.steps()
	for _, s := range steps {
		if s.To > s.From {
			out.ScaledUpNodeGroups[s.NodeGroup] += s.To - s.From
		} else {
			out.ScaledDownNodeGroups[s.NodeGroup] += s.From - s.To
		}
	}
	out.NodeGroups = r.groupResults(steps)
	out.ScaledUpNodes = l.scaledNodes()
	out.Pending = l.pending()
	out.UnschedulableAtEnd = unschedulable(l.end)
	cost, warnings := r.cost(end)
	out.Cost = cost
	out.Warnings = append(out.Warnings, warnings...)
	if r.in.Truth != nil {
		out.Recorded = r.in.Truth
		out.Agreement = agree(r.in.Truth, steps, l.decisions, r.in.Start, r.batch)
	}
	out.Run = r.runInfo()
	return out
}

// steps are the granted changes of target sizes; those of one instant and group are taken together when they go the
// same way, as the recording shows them.
func (r *run) steps() []scalehist.RecordedStep {
	var out []scalehist.RecordedStep
	for _, s := range r.provider.Resizes() {
		if n := len(out); n > 0 && out[n-1].NodeGroup == s.Group && out[n-1].At.Equal(s.At) &&
			(out[n-1].To > out[n-1].From) == (s.To > s.From) {
			out[n-1].To = s.To
			continue
		}
		out = append(out, scalehist.RecordedStep{At: s.At.UTC(), NodeGroup: s.Group, From: s.From, To: s.To})
	}
	return out
}

func (r *run) groupResults(steps []scalehist.RecordedStep) []scalehist.NodeGroupResult {
	var out []scalehist.NodeGroupResult
	for _, g := range r.ledger.groupsAtZero {
		now, _ := r.provider.Group(g.Name)
		res := scalehist.NodeGroupResult{
			Name: g.Name, MachineType: g.MachineType, Zone: g.Zone, MinSize: now.MinSize, MaxSize: now.MaxSize,
			Initial: g.TargetSize, Final: now.TargetSize, Peak: g.TargetSize,
			Sizes: []scalehist.SizeAt{{Offset: 0, Size: g.TargetSize}},
		}
		for _, s := range steps {
			if s.NodeGroup != g.Name {
				continue
			}
			res.Peak = max(res.Peak, s.To)
			res.ScaledUp += max(0, s.To-s.From)
			res.ScaledDown += max(0, s.From-s.To)
			res.Sizes = append(res.Sizes, scalehist.SizeAt{Offset: scalehist.Duration(s.At.Sub(r.in.Start)), Size: s.To})
		}
		if t := r.in.Truth; t != nil {
			final, up, down := t.FinalSizes[g.Name], t.ScaledUpNodeGroups[g.Name], t.ScaledDownNodeGroups[g.Name]
			res.RecordedFinal, res.RecordedScaledUp, res.RecordedScaledDown = &final, &up, &down
		}
		out = append(out, res)
	}
	slices.SortFunc(out, func(a, b scalehist.NodeGroupResult) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// finalBatches carries what became of each pod back to the batch that fed it in.
func (l *ledger) finalBatches() []scalehist.Batch {
	for i := range l.batches {
		for j := range l.batches[i].DeployedPods {
			e := &l.batches[i].DeployedPods[j]
			if p := l.pods[types.NamespacedName{Namespace: e.Namespace, Name: e.Name}]; p != nil {
				*e = p.entry
			}
		}
	}
	return l.batches
}

func (l *ledger) scaledNodes() []scalehist.ScaledNode {
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
		s := scalehist.ScaledNode{Name: n.name, NodeGroup: n.group, RequestedAt: n.requested.UTC(), ReadyAt: n.joined.UTC(), Pods: pods[n.name]}
		if !n.gone.IsZero() {
			gone := n.gone.UTC()
			s.RemovedAt = &gone
		}
		out = append(out, s)
	}
	return out
}

// pending sums up the waits of all pods fed in, nearest-rank percentiles over them.
func (l *ledger) pending() scalehist.PendingStats {
	var s scalehist.PendingStats
	var waits []float64
	for _, key := range l.order {
		w := l.pods[key].waited.Seconds()
		waits = append(waits, w)
		s.PodSeconds += w
		if w > 0 {
			s.Pods++
		}
	}
	if len(waits) == 0 {
		return s
	}
	slices.Sort(waits)
	rank := func(q float64) float64 { return waits[max(0, int(math.Ceil(q*float64(len(waits))))-1)] }
	s.P50, s.P95, s.Max = rank(0.50), rank(0.95), waits[len(waits)-1]
	return s
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

// staticPodOn is a group's static pod as the kubelet of a new node mirrors it.
func staticPodOn(p *corev1.Pod, node string) *corev1.Pod {
	out := p.DeepCopy()
	base := out.Name
	if n := len(base) - len(p.Spec.NodeName) - 1; n > 0 && base[n:] == "-"+p.Spec.NodeName {
		base = base[:n]
	}
	out.Name = base + "-" + node
	out.UID, out.ResourceVersion = "", ""
	out.CreationTimestamp = metav1.Time{}
	out.Spec.NodeName = node
	return out
}

func namedNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
