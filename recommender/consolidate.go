package recommender

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/simulator/drain"
	"github.com/scalehist/scalehist/simulator/fit"
)

// noScaleDownAnnotation ("true") on a node keeps it, as upstream has it.
const noScaleDownAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled"

// leaver is a node that may be removed.
type leaver struct {
	node        *corev1.Node
	g           *group
	at          int
	utilization float64
	price       float64
	pods        drain.Pods
}

// consolidate finds the nodes that could be removed together, on the snapshot with all pending pods placed. Pods move to ready
// other nodes, never to new or upcoming ones; a node that took a pod is unremovable. Groups the plan grows do not shrink.
func (p *planner) consolidate(ctx context.Context) (downs []ScaleDown, unremovable []NodeReason, err error) {
	k := p.req.Constraints.ScaleDown
	budgets, err := drain.NewBudgets(p.req.Objects.PodDisruptionBudgets)
	if err != nil {
		return nil, nil, err
	}
	judge := &drain.Judge{Now: p.req.Now, Options: k.Rules, Owners: drain.NewOwners(p.req.Objects), Budgets: budgets}
	c := p.workers[0].c
	s := c.Snapshot()
	keep := func(n *corev1.Node, format string, args ...any) {
		unremovable = append(unremovable, NodeReason{n.Name, fmt.Sprintf(format, args...)})
	}
	busy := map[string]bool{} // took pods
	for _, f := range p.fits {
		busy[f.Node] = true
	}
	leavers, err := p.leavers(judge, busy, keep)
	if err != nil {
		return nil, nil, err
	}
	gone := map[string]bool{}
	for _, l := range leavers {
		switch why := p.keeps(l, busy); {
		case k.MaxNodes > 0 && len(downs) >= k.MaxNodes:
			keep(l.node, "%s %s enough for now", plural.Of(k.MaxNodes, "node"), plural.Verb(k.MaxNodes, "is", "are"))
			continue
		case why != "":
			keep(l.node, "%s", why)
			continue
		case !budgets.AllAtOnce(l.pods.Move):
			keep(l.node, "a PodDisruptionBudget allows fewer disruptions than the node has pods of it")
			continue
		}
		// Budgets may have been used up by nodes before.
		if again := judge.Sort(podsOf(s.NodeInfo(l.at).Pods)); again.Blocking != nil {
			keep(l.node, "pod %s: %s", podName(again.Blocking), again.Reason)
			continue
		}
		moves, stuck, err := p.move(ctx, l, gone)
		if err != nil {
			return nil, nil, err
		}
		if stuck != nil {
			keep(l.node, "no place for pod %s", podName(stuck))
			continue
		}
		budgets.Take(l.pods.Move)
		gone[l.node.Name] = true
		for _, m := range moves {
			busy[m.Node] = true
		}
		p.target[l.g.order]--
		less := p.capacityOf(l.node)
		p.capacity.add(less, -1)
		d := ScaleDown{NodeGroup: l.g.Name, Node: l.node.Name, Utilization: l.utilization, Pods: moves}
		if p.req.Prices != nil {
			d.PricePerHour = &l.price
		}
		downs = append(downs, d)
	}
	slices.SortFunc(unremovable, func(a, b NodeReason) int { return cmp.Compare(a.Node, b.Node) })
	return downs, unremovable, ctx.Err()
}

// leavers lists the nodes worth a simulation, in order: empty nodes first, then by utilization, then the dearer, then by
// creation.
func (p *planner) leavers(judge *drain.Judge, busy map[string]bool, keep func(*corev1.Node, string, ...any)) ([]*leaver, error) {
	k := p.req.Constraints.ScaleDown
	grown := map[*group]bool{}
	for _, n := range p.nodes {
		grown[n.g] = true
	}
	s := p.workers[0].c.Snapshot()
	var out []*leaver
	for _, n := range p.req.Objects.Nodes {
		g := p.groupOf[n.Name]
		at, ok := s.Index(n.Name)
		if g == nil || !ok || !p.real[n.Name] {
			continue
		}
		l := &leaver{node: n, g: g, at: at}
		l.utilization = p.utilization(at, k.IgnoreDaemonSets)
		switch {
		case scalehist.HasTaint(n, scalehist.ToBeDeletedTaint):
			keep(n, "being deleted already")
		case n.Annotations[noScaleDownAnnotation] == "true":
			keep(n, "annotation %s", noScaleDownAnnotation)
		case p.target[g.order] <= g.MinSize:
			keep(n, "min size %d of the group reached", g.MinSize)
		case grown[g]:
			keep(n, "the group grows")
		case busy[n.Name]:
			keep(n, "pending pods fit on it")
		case l.utilization > k.UtilizationThreshold:
			keep(n, "utilization %.1f%% > %.1f%%", 100*l.utilization, 100*k.UtilizationThreshold)
		default:
			l.pods = judge.Sort(podsOf(s.NodeInfo(at).Pods))
			switch {
			case l.pods.Blocking != nil:
				keep(n, "pod %s: %s", podName(l.pods.Blocking), l.pods.Reason)
				continue
			case l.pods.Waits:
				keep(n, "a pod on it must complete first")
				continue
			}
			if t := p.req.Prices; t != nil {
				v, err := t.PerHour(n, g.Name, g.machine)
				if err != nil {
					return nil, fmt.Errorf("price of node %s of node group %s: %w", n.Name, g.Name, err)
				}
				l.price = v
			}
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b *leaver) int {
		return cmp.Or(cmp.Compare(min(1, len(a.pods.Move)), min(1, len(b.pods.Move))), cmp.Compare(a.utilization, b.utilization), cmp.Compare(b.price, a.price))
	})
	return out, nil
}

// keeps says why a node is unremovable after what was removed before it; "" when it may be removed.
func (p *planner) keeps(l *leaver, busy map[string]bool) string {
	k := &p.req.Constraints
	less := p.capacityOf(l.node)
	switch {
	case busy[l.node.Name]:
		return "pods of nodes that go land on it"
	case p.target[l.g.order] <= l.g.MinSize:
		return fmt.Sprintf("min size %d of the group reached", l.g.MinSize)
	case k.Cores != nil && p.capacity[cpuSlot]-less[cpuSlot] < k.Cores.Min*1000:
		return fmt.Sprintf("the cluster must keep %d cores", k.Cores.Min)
	case k.MemoryGiB != nil && p.capacity[memorySlot]-less[memorySlot] < k.MemoryGiB.Min<<30:
		return fmt.Sprintf("the cluster must keep %d GiB", k.MemoryGiB.Min)
	}
	return ""
}

// move empties a node in the snapshot and finds the first node that takes each of its pods. The pod that has no place is
// returned, and nothing has changed then.
func (p *planner) move(ctx context.Context, l *leaver, gone map[string]bool) ([]Placement, *corev1.Pod, error) {
	c := p.workers[0].c
	s := c.Snapshot()
	s.Fork()
	empty := *l.node
	empty.Spec.Taints = append([]corev1.Taint{{Key: scalehist.ToBeDeletedTaint, Effect: corev1.TaintEffectNoSchedule}}, l.node.Spec.Taints...)
	if err := s.ReplaceNode(l.at, fit.NewNodeInfo(&empty)); err != nil {
		return nil, nil, fmt.Errorf("simulate the removal of node %s: %w", l.node.Name, err)
	}
	var out []Placement
	for _, pod := range l.pods.Move {
		free := *pod
		free.Spec.NodeName = ""
		to := -1
		for at := range p.cluster.nodes {
			n := s.NodeInfo(at).Node()
			if at == l.at || gone[n.Name] || !p.real[n.Name] || n.Spec.Unschedulable || scalehist.HasTaint(n, scalehist.ToBeDeletedTaint) {
				continue
			}
			if c.Fits(ctx, &free, at) {
				to = at
				break
			}
		}
		if to < 0 {
			s.Revert()
			return nil, pod, nil
		}
		c.Place(&free, to)
		out = append(out, Placement{podName(pod), s.NodeInfo(to).Node().Name})
	}
	s.Commit()
	return out, nil, nil
}
