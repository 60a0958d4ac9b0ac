package virtualca

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
	"github.com/scalehist/scalehist/virtualca/estimator"
	"github.com/scalehist/scalehist/virtualca/listing"
)

// loop is one run of the autoscaler: what it sees, and the Decision it writes. Scale-up and scale-down both work on
// it; scale-down comes after scale-up, on the snapshot as scale-up left it.
type loop struct {
	a   *Autoscaler
	now time.Time
	d   *scalehist.Decision

	objects *scalehist.Objects
	// groups are the node groups in the provider's order, group the same by name, with target sizes as they are now.
	groups []scalehist.NodeGroup
	group  map[string]scalehist.NodeGroup
	// nodes are all nodes, readyNodes counts the ready and schedulable ones, groupOf names each node's group.
	nodes []*corev1.Node
	// listed are the nodes in the order in which upstream would have listed them, as far as that is played.
	listed     []*corev1.Node
	readyNodes int
	groupOf    map[string]string
	// bound are the pods that take room, by node; pending those that ask for it.
	bound   map[string][]*corev1.Pod
	pending []*corev1.Pod

	// examples are what templates are made from, templates those made in this loop.
	examples  map[string]*example
	templates map[string]*template
	// equivalence says which pods are alike.
	equivalence *estimator.Equivalence
	// hidden are registered nodes that have not started and for which upcoming ones are in the snapshot.
	hidden map[string]bool
	// resourceUnready counts the nodes of each group that only wait for a GPU.
	resourceUnready map[string]int
	// skipped are the reasons for which groups could not grow, in upstream's words.
	skipped []string
	// reasons say why nodes are unremovable, by name.
	reasons map[string]string
	// scaleDownForbidden: scale-up waits for more pods, so nothing may be deleted in this loop either.
	scaleDownForbidden bool
}

// RunOnce is one loop at virtual time now, in upstream's order (core/static_autoscaler.go). The Decision is worth
// reading even beside an error.
func (a *Autoscaler) RunOnce(ctx context.Context, now time.Time) (scalehist.Decision, error) {
	a.loops++
	if a.loops == 1 {
		// Upstream starts as if the last scale-up were an hour ago: no cooldown at the start.
		a.lastScaleUp, a.lastScaleUpFail = now.Add(-time.Hour), now.Add(-time.Hour)
	}
	d := scalehist.Decision{At: now, Loop: a.loops, Outcome: scalehist.ScaleUpNotTried}
	l := a.newLoop(now, &d)
	err := l.work(ctx)
	if err == nil {
		l.objects = a.cluster.Objects()
		err = l.run(ctx)
	}
	if err == nil {
		err = ctx.Err() // what was decided after it ended was cut short
	}
	for _, g := range l.groups {
		if e := a.state.backoff.Of(g.Name); e.Until.After(now) {
			d.Backoff = append(d.Backoff, scalehist.GroupBackoff{NodeGroup: g.Name, Until: e.Until, Reason: e.Reason})
		}
	}
	if d.Outcome == scalehist.ScaleUpSuccessful || d.ScaleDown == scalehist.ScaleDownNodeDeleteStarted {
		a.again = loopsAfterAction
	}
	d.Again = a.again > 0
	a.again = max(0, a.again-1)
	a.forgetEvents(now)
	if err != nil {
		return d, fmt.Errorf("autoscaler loop %d: %w", a.loops, err)
	}
	return d, nil
}

func (a *Autoscaler) newLoop(now time.Time, d *scalehist.Decision) *loop {
	return &loop{a: a, now: now, d: d, equivalence: estimator.NewEquivalence(a.checker.ShapeID), groupOf: make(map[string]string, a.state.nodes), hidden: map[string]bool{},
		reasons: make(map[string]string, a.state.nodes), resourceUnready: map[string]int{}}
}

// refresh reads the node groups again, after the provider changed a size.
func (l *loop) refresh() {
	l.groups = l.a.provider.Groups()
	l.group = make(map[string]scalehist.NodeGroup, len(l.groups))
	for _, g := range l.groups {
		l.group[g.Name] = g
	}
}

func (l *loop) note(format string, args ...any) {
	n := fmt.Sprintf(format, args...)
	if !slices.Contains(l.d.Notes, n) {
		l.d.Notes = append(l.d.Notes, n)
	}
}

func (l *loop) run(ctx context.Context) error {
	l.refresh()
	if l.a.loops == 1 {
		if err := l.cleanUp(ctx); err != nil {
			return err
		}
	}
	l.listNodes()
	if stop := l.notActionable(); stop {
		return nil
	}
	if err := l.a.provider.Refresh(l.now); err != nil {
		l.note("nothing is done, refreshing the cloud provider: %v", err)
		return nil
	}
	for _, n := range l.nodes {
		if g, ok := l.a.provider.GroupForNode(n); ok {
			l.groupOf[n.Name] = g
		}
	}
	l.listPods()
	l.listed = l.nodes
	if l.a.settings.NodesAsStored {
		l.listed = l.a.nodes.List(l.nodes, l.a.settings.Seed, l.d.Loop)
	}
	if err := l.a.checker.Reset(l.objects, l.listed, func(n string) []*corev1.Pod { return l.bound[n] }); err != nil {
		return fmt.Errorf("cluster snapshot: %w", err)
	}
	l.a.checker.Chance(l.a.settings.Seed<<32 + int64(l.d.Loop-1))
	l.findExamples()
	l.updateState(ctx)
	defer l.updateStatus()
	l.removeLongUnregistered(ctx)
	if !l.a.state.clusterHealthy() {
		l.event("ClusterUnhealthy", l.statusObject(), "Cluster is unhealthy")
		l.note("the cluster is unhealthy: too many nodes are not ready")
		l.a.down.clear()
		return nil
	}
	l.removeFailed(ctx)
	if l.fixSizes(ctx) {
		return nil
	}
	if err := l.addUpcoming(); err != nil {
		return err
	}
	if err := l.scaleUpIfNeeded(ctx); err != nil {
		return err
	}
	if l.a.settings.Down.Enabled {
		if err := l.scaleDown(ctx); err != nil {
			return err
		}
	}
	if l.a.settings.EnforceMinSize {
		l.enforceMinSizes(ctx)
	}
	return nil
}

// cleanUp takes the deletion taints of an earlier autoscaler off the nodes of known groups and opens them: the one that put
// them there does not go on with it. Candidate taints go as well when none are put.
func (l *loop) cleanUp(ctx context.Context) error {
	changed := false
	for _, n := range l.objects.Nodes {
		if _, ok := l.a.provider.GroupForNode(n); !ok {
			continue
		}
		taints := n.Spec.Taints
		deleting := scalehist.HasTaint(n, toBeDeletedTaint)
		if deleting {
			taints = nodetemplate.WithoutTaint(taints, toBeDeletedTaint)
		}
		if l.a.settings.Down.SoftTaints == 0 {
			taints = nodetemplate.WithoutTaint(taints, deletionCandidateTaint)
		}
		if len(taints) == len(n.Spec.Taints) {
			continue
		}
		if err := l.a.cluster.SetTaints(ctx, n.Name, taints); err != nil {
			return fmt.Errorf("clean up the taints of node %s: %w", n.Name, err)
		}
		changed = true
		if !deleting {
			continue
		}
		if l.a.settings.Down.Cordon && n.Spec.Unschedulable {
			if err := l.a.cluster.Cordon(ctx, n.Name, false); err != nil {
				return fmt.Errorf("open node %s: %w", n.Name, err)
			}
		}
		l.event("ClusterAutoscalerCleanup", "Node/"+n.Name, "marking the node as schedulable")
	}
	if changed {
		l.objects = l.a.cluster.Objects()
	}
	return nil
}

// notActionable: with --scale-up-from-zero=false an empty cluster, or one with no ready node, is left alone.
func (l *loop) notActionable() bool {
	if l.a.settings.ScaleUpFromZero || l.readyNodes > 0 {
		return false
	}
	l.note("no ready nodes and --scale-up-from-zero=false: nothing is done")
	return true
}

// addUpcoming puts nodes that were asked for and have not come into the snapshot, as copies of their group's template,
// in place of registered nodes that have not started.
func (l *loop) addUpcoming() error {
	s := l.a.checker.Snapshot()
	for _, g := range l.groups {
		n := l.a.state.upcoming(g.Name, l.now)
		if n == 0 {
			continue
		}
		t := l.template(g.Name)
		if t == nil {
			l.note("%s: %d upcoming nodes are not counted: there is no template", g.Name, n)
			continue
		}
		if l.d.Upcoming == nil {
			l.d.Upcoming = map[string]int{}
		}
		l.d.Upcoming[g.Name] = n
		for _, name := range l.a.state.of(g.Name).notStartedNames {
			if err := s.RemoveNode(name); err != nil {
				return fmt.Errorf("upcoming nodes of %s: %w", g.Name, err)
			}
			l.hidden[name] = true
		}
		for i := range n {
			info := t.nodeInfo(fmt.Sprintf("upcoming-%d", i))
			info.Node().Annotations = withKey(info.Node().Annotations, upcomingAnnotation, "true")
			if err := s.AddNode(info); err != nil {
				return fmt.Errorf("upcoming nodes of %s: %w", g.Name, err)
			}
		}
	}
	return nil
}

func withKey(m map[string]string, k, v string) map[string]string {
	out := make(map[string]string, len(m)+1)
	for a, b := range m {
		out[a] = b
	}
	out[k] = v
	return out
}

// scaleUpIfNeeded finds the pods that need new nodes and decides whether to act on them now.
func (l *loop) scaleUpIfNeeded(ctx context.Context) error {
	pods := clearTPU(listing.Circle(l.pending, l.a.settings.Seed, l.d.Loop, listing.Name(l.a.settings.NamelessTies, podName)))
	pods = l.filterSchedulable(ctx, append(pods, l.drainedPods()...))
	pods = l.dropYoung(dropDaemonSetPods(pods))
	for _, p := range pods {
		l.d.UnschedulablePods = append(l.d.UnschedulablePods, podName(p))
	}
	slices.Sort(l.d.UnschedulablePods)
	switch total := l.a.settings.MaxNodesTotal; {
	case len(pods) == 0:
		l.d.Outcome = scalehist.ScaleUpNotNeeded
	case total > 0 && l.readyNodes >= total:
		l.d.Outcome = scalehist.ScaleUpLimitedByMaxNodesTotal
		l.d.PodsRemaining = len(pods)
		l.event("MaxNodesTotalReached", l.statusObject(), fmt.Sprintf("Max total nodes in cluster reached: %d", total))
		for _, p := range pods {
			l.event("NotTriggerScaleUp", podObject(p), "pod didn't trigger scale-up: max total nodes in cluster reached")
		}
	case len(l.a.settings.BypassedSchedulers) == 0 && l.allNew(pods):
		l.d.Outcome = scalehist.ScaleUpInCooldown
		l.scaleDownForbidden = true
		l.note("%s, all of them new: waiting for more", plural.Of(len(pods), "pod"))
	default:
		return l.scaleUp(ctx, pods)
	}
	return nil
}
