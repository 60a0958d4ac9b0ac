package virtualca

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/simulator/drain"
)

const (
	// delayDeletionPrefix begins annotations that ask to wait with the deletion of a drained node.
	delayDeletionPrefix = "delay-deletion.cluster-autoscaler.kubernetes.io/"
	// daemonSetEvictionAnnotation on a DaemonSet pod ("true", "false") overrides the flags.
	daemonSetEvictionAnnotation = "cluster-autoscaler.kubernetes.io/enable-ds-eviction"
)

var _ scalehist.Background = (*Autoscaler)(nil)

// NextWork implements scalehist.Background.
func (a *Autoscaler) NextWork() (time.Time, bool) {
	var at time.Time
	x, found := a.down.deletions.next()
	if found {
		at = x.next
	}
	if _, q, ok := a.down.deletions.nextQueue(); ok && (!found || q.Before(at)) {
		at, found = q, true
	}
	return at, found
}

// Work implements scalehist.Background: it carries the removals under way forward.
func (a *Autoscaler) Work(ctx context.Context, now time.Time) (scalehist.Decision, error) {
	d := scalehist.Decision{At: now, Loop: a.loops, Outcome: scalehist.ScaleUpNotTried}
	l := a.newLoop(now, &d)
	l.refresh()
	if err := l.work(ctx); err != nil {
		return d, fmt.Errorf("autoscaler, removal of nodes: %w", err)
	}
	return d, nil
}

// work does all that is due. Every step moves a removal on, or to a later instant, so that it ends.
func (l *loop) work(ctx context.Context) error {
	d := l.a.down.deletions
	for ctx.Err() == nil {
		x, ok := d.next()
		group, at, queued := d.nextQueue()
		switch {
		case queued && !at.After(l.now) && (!ok || !x.next.Before(at)):
			q := d.queues[group]
			delete(d.queues, group)
			l.deleteNodes(ctx, group, q.nodes)
		case ok && !x.next.After(l.now):
			l.advance(ctx, x)
		default:
			return nil
		}
	}
	return ctx.Err()
}

// advance takes one removal a step further.
func (l *loop) advance(ctx context.Context, x *deletion) {
	objects := l.a.cluster.Objects()
	node := nodeNamed(objects, x.node)
	if node == nil {
		l.a.down.deletions.end(x)
		l.note("node %s went while it was being removed", x.node)
		return
	}
	switch x.stage {
	case stageTainted:
		l.startDrain(ctx, x, objects)
	case stageEvicting:
		l.evict(ctx, x)
	case stageTerminating:
		l.awaitGone(ctx, x, objects)
	default:
		l.awaitDelays(ctx, x, node)
	}
}

// startDrain looks at the node's pods once more: what has come since the decision may keep it.
func (l *loop) startDrain(ctx context.Context, x *deletion, o *scalehist.Objects) {
	budgets, err := drain.NewBudgets(o.PodDisruptionBudgets)
	if err != nil {
		l.fail(ctx, x, err.Error())
		return
	}
	judge := drain.Judge{Now: l.now, Options: l.a.settings.Down.Rules, Owners: drain.NewOwners(o), Budgets: budgets}
	pods := judge.Sort(l.podsOn(o, x.node))
	switch {
	case pods.Blocking != nil:
		l.fail(ctx, x, fmt.Sprintf("pod %s blocks: %s", podName(pods.Blocking), pods.Reason))
		return
	case !x.drain && len(pods.Move) > 0:
		l.fail(ctx, x, fmt.Sprintf("the node is not empty any more: %s", podName(pods.Move[0])))
		return
	}
	daemonSet := l.evictable(x, pods.DaemonSet)
	x.steps = drainSteps(&l.a.settings.Down, pods.Move, daemonSet)
	l.nextStep(ctx, x)
}

// podsOn lists the pods on a node as they are now, without those that are done or expendable.
func (l *loop) podsOn(o *scalehist.Objects, node string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range o.Pods {
		if p.Spec.NodeName == node && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed && !l.expendable(p) {
			out = append(out, p)
		}
	}
	return out
}

// evictable leaves the DaemonSet pods that are evicted, by flag or annotation.
func (l *loop) evictable(x *deletion, pods []*corev1.Pod) []*corev1.Pod {
	evict := l.a.settings.Down.EvictDaemonSetsEmpty
	if x.drain {
		evict = l.a.settings.Down.EvictDaemonSetsOccupied
	}
	var out []*corev1.Pod
	for _, p := range pods {
		if v, ok := p.Annotations[daemonSetEvictionAnnotation]; v == "true" || (!ok && evict) {
			out = append(out, p)
		}
	}
	return out
}

// nextStep begins the next step of a drain; after the last one the node waits for its deletion.
func (l *loop) nextStep(ctx context.Context, x *deletion) {
	if len(x.steps) == 0 {
		x.stage, x.began, x.next = stageDelayed, l.now, l.now
		return
	}
	x.stage, x.began, x.next = stageEvicting, l.now, l.now
	x.refused, x.leaving, x.tried = x.steps[0].pods, nil, time.Time{}
	for _, p := range x.steps[0].daemonSet {
		l.event("ScaleDown", podObject(p), "deleting pod for node scale down")
		// Best effort: the node is removed anyway.
		if err := l.a.cluster.Evict(ctx, p.Namespace, p.Name); err != nil && !apierrors.IsNotFound(err) {
			l.note("node %s: DaemonSet pod %s is not evicted: %v", x.node, podName(p), err)
		}
	}
}

// evict asks for evictions, again for those that were refused. One that is refused after others passed is not tried yet in a real cluster, where they
// follow each other: it is asked for once more when what takes no time has come of the others.
func (l *loop) evict(ctx context.Context, x *deletion) {
	if !l.now.Before(x.tried.Add(evictionRetry)) {
		x.tried = l.now
	}
	leaving, refused, last := drain.Evict(x.refused, func(p *corev1.Pod) error {
		l.event("ScaleDown", podObject(p), "deleting pod for node scale down")
		return l.a.cluster.Evict(ctx, p.Namespace, p.Name)
	})
	x.leaving, x.refused = append(x.leaving, leaving...), refused
	switch {
	case len(refused) == 0:
		x.stage, x.began, x.next = stageTerminating, l.now, l.now
	case len(leaving) > 0 && l.now.Add(evictionTakes).Before(x.began.Add(l.a.settings.Down.MaxEvictionTime)):
		x.next = l.now.Add(evictionTakes)
	case x.tried.Add(evictionRetry).Before(x.began.Add(l.a.settings.Down.MaxEvictionTime)):
		x.next = x.tried.Add(evictionRetry)
	default:
		for _, p := range refused {
			l.event("ScaleDownFailed", podObject(p), "failed to delete pod for ScaleDown")
		}
		l.fail(ctx, x, fmt.Sprintf("%s could not be evicted within %s: %v", plural.Of(len(refused), "pod"), l.a.settings.Down.MaxEvictionTime, last))
	}
}

// awaitGone waits until the step's pods have left the node.
func (l *loop) awaitGone(ctx context.Context, x *deletion, o *scalehist.Objects) {
	still := ""
	for _, p := range o.Pods {
		if p.Spec.NodeName == x.node && slices.ContainsFunc(x.leaving, func(q *corev1.Pod) bool {
			return p.UID == q.UID // a virtual cluster may have renamed it
		}) {
			still = podName(p)
			break
		}
	}
	switch {
	case still == "":
		x.steps = x.steps[1:]
		l.nextStep(ctx, x)
	case l.now.Add(gonePoll).Before(x.began.Add(x.steps[0].termination + terminationHeadroom)):
		x.next = l.now.Add(gonePoll)
	default:
		l.fail(ctx, x, fmt.Sprintf("pod %s is still there after its eviction and %s", still, x.steps[0].termination+terminationHeadroom))
	}
}

// awaitDelays waits for annotations that ask for it, up to --node-deletion-delay-timeout, then deletes the node, alone
// or with others of its group.
func (l *loop) awaitDelays(ctx context.Context, x *deletion, node *corev1.Node) {
	for k := range node.Annotations {
		if strings.HasPrefix(k, delayDeletionPrefix) && l.now.Before(x.began.Add(l.a.settings.Down.DeletionDelay)) {
			x.next = l.now.Add(gonePoll)
			return
		}
	}
	d, interval := l.a.down.deletions, l.a.settings.Down.BatchInterval
	if x.together == 0 && interval <= 0 {
		l.deleteNodes(ctx, x.group, []*deletion{x})
		return
	}
	q := d.queues[x.group]
	if q == nil {
		q = &queue{}
		d.queues[x.group] = q
		if x.together == 0 {
			q.at = l.now.Add(interval)
		}
	}
	x.stage = stageQueued
	q.nodes = append(q.nodes, x)
	if x.together > 0 && len(q.nodes) >= x.together {
		delete(d.queues, x.group)
		l.deleteNodes(ctx, x.group, q.nodes)
	}
}

func nodeNamed(o *scalehist.Objects, name string) *corev1.Node {
	for _, n := range o.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}
