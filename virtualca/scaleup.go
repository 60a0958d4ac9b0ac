package virtualca

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/virtualca/estimator"
	"github.com/scalehist/scalehist/virtualca/expander"
	"github.com/scalehist/scalehist/virtualca/quota"
)

// The reasons for which a node group cannot grow, in upstream's words (core/scaleup/orchestrator/skippedreasons.go).
const (
	reasonNotReady = "not ready for scale-up"
	reasonBackoff  = "in backoff after failed scale-up"
	reasonMaxSize  = "max node group size reached"
	reasonAtomic   = "atomic scale-up exceeds cluster node count limit"
)

// scaleUp asks for nodes for the pods, one group or one set of similar groups at most
// (core/scaleup/orchestrator/orchestrator.go).
func (l *loop) scaleUp(ctx context.Context, pods []*corev1.Pod) error {
	groups := l.equivalence.Groups(pods)
	q := quota.New(l.counted())
	valid := l.validGroups(q)
	schedulable := map[string][]*estimator.Group{}
	for _, g := range valid {
		s, err := l.schedulableGroups(ctx, groups, g)
		if err != nil {
			return err
		}
		schedulable[g] = s
	}
	l.reportRejected(valid, groups, schedulable)
	options, err := l.options(ctx, valid, schedulable)
	if err != nil {
		return err
	}
	if len(options) == 0 {
		l.noOptions(groups)
		return nil
	}
	best := l.choose(options)
	l.report(options, best)
	if best == nil {
		l.note("the expander chain left no option")
		l.noOptions(groups)
		return nil
	}
	count, ok := l.capNodes(best.Nodes)
	if !ok {
		l.d.Outcome = scalehist.ScaleUpError
		return nil
	}
	if allowed, exceeded := q.Allowed(best.Group, count); allowed < count {
		l.note("plan for %s cut from %d to %s: %s", best.Group, count, plural.Of(allowed, "node"), quota.Reason(exceeded))
		count = allowed
	}
	plan := l.split(best.Group, count, schedulable, q)
	if !l.execute(ctx, plan) {
		l.d.Outcome = scalehist.ScaleUpError
		l.countPods(groups, best)
		return nil
	}
	l.d.Outcome = scalehist.ScaleUpSuccessful
	l.a.lastScaleUp = l.now
	l.countPods(groups, best)
	l.scaleUpEvents(best.Pods, l.d.ScaleUps)
	return nil
}

// validGroups lists the groups that may grow by a node now, in the provider's order, and reports why others may not.
func (l *loop) validGroups(q *quota.Quota) []string {
	var out []string
	nodes := l.a.checker.Snapshot().Len()
	for _, g := range l.groups {
		if why := l.skipReason(g, nodes, q); why != "" {
			l.skipped = append(l.skipped, why)
			if why == reasonMaxSize {
				why += g.GuessNote()
			}
			l.d.Skipped = append(l.d.Skipped, scalehist.GroupReason{NodeGroup: g.Name, Reason: why})
			continue
		}
		out = append(out, g.Name)
	}
	return out
}

func (l *loop) skipReason(g scalehist.NodeGroup, nodes int, q *quota.Quota) string {
	switch {
	case !l.a.state.healthy(g.Name):
		return reasonNotReady
	case l.a.state.backoff.Active(g.Name, l.now):
		return reasonBackoff
	case g.TargetSize >= g.MaxSize:
		return reasonMaxSize
	}
	delta := 1
	if l.zeroOrMax(g.Name) {
		delta = g.MaxSize - g.TargetSize
		if total := l.a.settings.MaxNodesTotal; total > 0 && nodes+delta > total {
			return reasonAtomic
		}
	}
	if l.template(g.Name) == nil {
		return reasonNotReady
	}
	if allowed, exceeded := q.Allowed(g.Name, delta); allowed < delta {
		return quota.Reason(exceeded)
	}
	return ""
}

func (l *loop) zeroOrMax(group string) bool {
	o, ok := l.a.provider.GroupOptions(group)
	return ok && o.ZeroOrMaxNodeScaling != nil && *o.ZeroOrMaxNodeScaling
}

// schedulableGroups finds the pod groups whose first pod fits on a new node of the group.
func (l *loop) schedulableGroups(ctx context.Context, groups []*estimator.Group, group string) ([]*estimator.Group, error) {
	c := l.a.checker
	c.Snapshot().Fork()
	defer c.Snapshot().Revert()
	if err := c.Snapshot().AddNode(l.template(group).nodeInfo("fit")); err != nil {
		return nil, fmt.Errorf("try %s: %w", group, err)
	}
	at := c.Snapshot().Len() - 1
	var out []*estimator.Group
	for _, g := range groups {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r := c.Check(ctx, g.Pods[0], at); r != nil {
			g.Rejected[group] = r.Reasons
			continue
		}
		g.Schedulable = true
		out = append(out, g)
	}
	return out, nil
}

// options computes what each valid group could do, in the provider's order.
func (l *loop) options(ctx context.Context, valid []string, schedulable map[string][]*estimator.Group) ([]*expander.Option, error) {
	var out []*expander.Option
	for _, g := range valid {
		if len(schedulable[g]) == 0 {
			continue
		}
		t := l.template(g)
		o := &expander.Option{Group: g, Template: t.node, Scores: map[string]float64{}}
		o.Similar = l.similarGroups(g, schedulable)
		e, err := estimator.Pack(ctx, l.a.checker, schedulable[g], t.node, t.nodeInfo, l.nodeLimit(g, o.Similar))
		if err != nil {
			return nil, err
		}
		o.Nodes, o.Pods = e.Nodes, e.Pods
		if e.Limited {
			l.note("estimate for %s stopped at %s: limit reached%s", g, plural.Of(e.Nodes, "node"), l.guessedLimit(g, o.Similar, e.Nodes))
		}
		if o.Nodes > 0 && l.zeroOrMax(g) {
			o.Nodes = l.group[g].MaxSize
		}
		if o.Nodes == 0 || len(o.Pods) == 0 {
			continue
		}
		out = append(out, o)
	}
	return out, nil
}

// capNodes cuts a plan to what --max-nodes-total leaves, upcoming nodes counted as there.
func (l *loop) capNodes(n int) (int, bool) {
	total, have := l.a.settings.MaxNodesTotal, l.a.checker.Snapshot().Len()
	if total <= 0 || n+have <= total {
		return n, true
	}
	l.event("MaxNodesTotalReached", l.statusObject(), fmt.Sprintf("Max total nodes in cluster reached: %d", total))
	l.note("max-nodes-total %d reached: plan cut from %d to %d", total, n, max(0, total-have))
	return total - have, total-have >= 1
}

// split shares the new nodes with similar groups, then cuts each group by quota in that order; what a group loses is
// not given to another.
func (l *loop) split(group string, count int, schedulable map[string][]*estimator.Group, q *quota.Quota) []scalehist.ScaleUp {
	targets := []scalehist.NodeGroup{l.group[group]}
	for _, s := range l.similarGroups(group, schedulable) {
		if allowed, _ := q.Allowed(s, 1); allowed == 1 {
			targets = append(targets, l.group[s])
		}
	}
	var plan []scalehist.ScaleUp
	for _, s := range balance(targets, count) {
		delta := s.To - s.From
		if allowed, exceeded := q.Allowed(s.NodeGroup, delta); allowed < delta {
			l.note("plan for %s cut from %d to %s: %s", s.NodeGroup, delta, plural.Of(allowed, "node"), quota.Reason(exceeded))
			delta = allowed
		}
		if delta > 0 {
			s.To = s.From + delta
			q.Take(s.NodeGroup, delta)
			plan = append(plan, s)
		}
	}
	return plan
}

// execute asks the provider, group by group. It stops at the first refusal, unless scale-ups are parallel.
func (l *loop) execute(ctx context.Context, plan []scalehist.ScaleUp) bool {
	ok := true
	for i, s := range plan {
		delta := s.To - s.From
		if !ok && !l.a.settings.ParallelScaleUp {
			l.d.Failed = append(l.d.Failed, scalehist.FailedScaleUp{NodeGroup: s.NodeGroup, Delta: delta, Reason: "not tried: " + plan[i-1].NodeGroup + " failed"})
			continue
		}
		l.event("ScaledUpGroup", l.statusObject(), fmt.Sprintf("Scale-up: setting group %s size to %d instead of %d (max: %d)", s.NodeGroup, s.To, s.From, s.Max))
		if err := l.a.provider.IncreaseSize(ctx, l.now, s.NodeGroup, delta); err != nil {
			ok = false
			l.event("FailedToScaleUpGroup", l.statusObject(), fmt.Sprintf("Scale-up failed for group %s: %v", s.NodeGroup, err))
			l.d.Failed = append(l.d.Failed, scalehist.FailedScaleUp{NodeGroup: s.NodeGroup, Delta: delta, Reason: err.Error()})
			l.backOff(s.NodeGroup, "cloudProviderError", err.Error())
			continue
		}
		l.event("ScaledUpGroup", l.statusObject(), fmt.Sprintf("Scale-up: group %s size set to %d instead of %d (max: %d)", s.NodeGroup, s.To, s.From, s.Max))
		l.a.state.register(s.NodeGroup, delta, l.now, l.a.provisionTime(s.NodeGroup))
		l.a.down.cooldown.of(s.NodeGroup).added = l.now
		l.d.ScaleUps = append(l.d.ScaleUps, s)
	}
	l.refresh()
	return ok
}

// countPods splits the pods: those the chosen option takes, those no valid group can take, and the rest.
func (l *loop) countPods(groups []*estimator.Group, best *expander.Option) {
	all := 0
	for _, g := range groups {
		all += len(g.Pods)
		if !g.Schedulable {
			l.d.PodsRemaining += len(g.Pods)
		}
	}
	l.d.PodsTriggered = len(best.Pods)
	l.d.PodsAwaiting = max(0, all-l.d.PodsTriggered-l.d.PodsRemaining)
}

// noOptions ends a scale-up that can help nobody and writes to every pod that fits nowhere why.
func (l *loop) noOptions(groups []*estimator.Group) {
	l.d.Outcome = scalehist.ScaleUpNoOptionsAvailable
	for _, g := range groups {
		if g.Schedulable {
			l.d.PodsAwaiting += len(g.Pods)
			continue
		}
		l.d.PodsRemaining += len(g.Pods)
		reasons := map[string]int{}
		for _, list := range g.Rejected {
			for _, r := range list {
				reasons[r]++
			}
		}
		for _, why := range l.skipped { // upstream's words: what it says to a pod has no remark of ours
			reasons[why]++
		}
		for _, p := range g.Pods {
			l.noScaleUpEvent(p, reasons)
		}
	}
}

// reportRejected says for each valid group that can take no pod why, by the number of pods for each reason.
func (l *loop) reportRejected(valid []string, groups []*estimator.Group, schedulable map[string][]*estimator.Group) {
	for _, v := range valid {
		if len(schedulable[v]) > 0 {
			continue
		}
		counts := map[string]int{}
		for _, g := range groups {
			counts[strings.Join(g.Rejected[v], ", ")] += len(g.Pods)
		}
		parts := make([]string, 0, len(counts))
		for _, r := range byCount(counts) {
			parts = append(parts, fmt.Sprintf("%s: %s", plural.Of(counts[r], "pod"), r))
		}
		l.d.Rejected = append(l.d.Rejected, scalehist.GroupReason{NodeGroup: v, Reason: strings.Join(parts, "; ")})
	}
}
