package recommender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/simulator/drain"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
)

// removalPoll is the time between two looks at a node that is being drained.
const removalPoll = 5 * time.Second

// removal is a node on its way out: tainted, its pods evicted, deleted once they are gone.
type removal struct {
	node, group string
	began, next time.Time
	drain       bool
	// evict are the pods still to evict, by name; leaving those that were.
	evict, leaving []string
}

// scaleDown keeps the clocks of the nodes that could go, and starts the removal of those whose time has come.
func (l *loop) scaleDown(ctx context.Context, r *Recommendation) {
	l.d.ScaleDown = scalehist.ScaleDownNoUnneeded
	next := make(map[string]time.Time, len(r.ScaleDowns))
	for _, s := range r.ScaleDowns {
		next[s.Node] = l.now
		if since, ok := l.unneeded[s.Node]; ok {
			next[s.Node] = since
		}
	}
	l.unneeded = next
	if until := l.lastScaleUp.Add(l.o.DelayAfterAdd); !l.lastScaleUp.IsZero() && l.now.Before(until) {
		l.d.ScaleDown = scalehist.ScaleDownInCooldown
		if len(next) > 0 {
			l.note("scale-down waits until %s: a scale-up was at %s", until.UTC().Format(time.RFC3339), l.lastScaleUp.UTC().Format(time.RFC3339))
		}
		return
	}
	for _, s := range r.ScaleDowns {
		since := l.unneeded[s.Node]
		switch {
		case l.now.Sub(since) < l.o.UnneededTime:
			l.d.ScaleDown = scalehist.ScaleDownNoNodeDeleted
			continue
		case len(l.removals) >= l.o.MaxParallelism || len(s.Pods) > 0 && l.draining() >= l.o.MaxDrain:
			l.d.ScaleDown = scalehist.ScaleDownInProgress
			continue
		}
		if err := l.start(ctx, s); err != nil {
			l.note("node %s is not removed: %v", s.Node, err)
			l.d.ScaleDown = scalehist.ScaleDownError
			continue
		}
		del := scalehist.NodeDeletion{NodeGroup: s.NodeGroup, Node: s.Node, UnneededSince: since, Utilization: s.Utilization}
		for _, p := range s.Pods {
			del.Pods = append(del.Pods, p.Pod)
		}
		l.d.Deleting = append(l.d.Deleting, del)
		delete(l.unneeded, s.Node)
	}
	if len(l.d.Deleting) > 0 {
		l.d.ScaleDown = scalehist.ScaleDownNodeDeleteStarted
		l.advanceRemovals(ctx)
	}
}

func (l *loop) draining() int {
	n := 0
	for _, x := range l.removals {
		if x.drain {
			n++
		}
	}
	return n
}

// start taints a node, so that nothing comes to it any more.
func (l *loop) start(ctx context.Context, s ScaleDown) error {
	n := l.node(s.Node)
	if n == nil {
		return errors.New("there is no such node")
	}
	if scalehist.HasTaint(n, scalehist.ToBeDeletedTaint) {
		return errors.New("it is being deleted already")
	}
	if err := l.cluster.SetTaints(ctx, n.Name, append(slices.Clone(n.Spec.Taints), nodetemplate.DeletionTaint(l.now))); err != nil {
		return fmt.Errorf("taint it: %w", err)
	}
	x := &removal{node: s.Node, group: s.NodeGroup, began: l.now, next: l.now, drain: len(s.Pods) > 0}
	for _, p := range s.Pods {
		x.evict = append(x.evict, p.Pod)
	}
	l.removals = append(l.removals, x)
	return nil
}

func (l *loop) node(name string) *corev1.Node {
	for _, n := range l.cluster.Objects().Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// NextWork implements scalehist.Background.
func (a *Autoscaler) NextWork() (time.Time, bool) {
	var at time.Time
	for _, x := range a.removals {
		if at.IsZero() || x.next.Before(at) {
			at = x.next
		}
	}
	return at, len(a.removals) > 0
}

// Work implements scalehist.Background: it carries removals forward.
func (a *Autoscaler) Work(ctx context.Context, now time.Time) (scalehist.Decision, error) {
	d := scalehist.Decision{At: now, Loop: a.loops, Outcome: scalehist.ScaleUpNotTried}
	l := &loop{Autoscaler: a, now: now, d: &d}
	l.advanceRemovals(ctx)
	return d, ctx.Err()
}

// advanceRemovals does what is due, in the order in which the removals started.
func (l *loop) advanceRemovals(ctx context.Context) {
	all := l.removals
	l.removals = nil
	for _, x := range all {
		if x.next.After(l.now) || !l.advance(ctx, x) {
			l.removals = append(l.removals, x)
		}
	}
}

// advance takes one removal further; true when it is over.
func (l *loop) advance(ctx context.Context, x *removal) bool {
	if l.node(x.node) == nil {
		l.note("node %s went while it was being removed", x.node)
		return true
	}
	leaving, refused, last := drain.Evict(x.evict, func(pod string) error {
		namespace, name, _ := strings.Cut(pod, "/")
		l.d.Events = append(l.d.Events, scalehist.Event{Reason: "ScaleDown", Object: "Pod/" + pod, Message: "deleting pod for node scale down"})
		return l.cluster.Evict(ctx, namespace, name)
	})
	x.leaving, x.evict = append(x.leaving, leaving...), refused
	x.next = l.now.Add(removalPoll)
	late := l.now.Sub(x.began) > l.o.MaxEvictionTime
	switch {
	case len(refused) > 0 && late:
		l.release(ctx, x, fmt.Sprintf("%s could not be evicted within %s: %v", plural.Of(len(refused), "pod"), l.o.MaxEvictionTime, last))
		return true
	case len(refused) > 0 || l.stillThere(x):
		return false
	}
	from := 0
	for _, g := range l.provider.Groups() {
		if g.Name == x.group {
			from = g.TargetSize
		}
	}
	if err := l.provider.DeleteNodes(ctx, l.now, x.group, []string{x.node}); err != nil {
		l.release(ctx, x, err.Error())
		return true
	}
	reason := "empty and unneeded"
	if x.drain {
		reason = "consolidated: its pods have places elsewhere"
	}
	l.d.ScaleDowns = append(l.d.ScaleDowns, scalehist.ScaleDown{NodeGroup: x.group, Node: x.node, From: from, To: from - 1, Reason: reason})
	return true
}

// stillThere says whether an evicted pod is still on the node.
func (l *loop) stillThere(x *removal) bool {
	return slices.ContainsFunc(l.cluster.Objects().Pods, func(p *corev1.Pod) bool {
		return p.Spec.NodeName == x.node && slices.Contains(x.leaving, podName(p))
	})
}

// release lets a node stay after all.
func (l *loop) release(ctx context.Context, x *removal, why string) {
	l.note("node %s is not removed: %s", x.node, why)
	n := l.node(x.node)
	if n == nil {
		return
	}
	if err := l.cluster.SetTaints(ctx, x.node, nodetemplate.WithoutTaint(n.Spec.Taints, scalehist.ToBeDeletedTaint)); err != nil {
		l.note("node %s keeps its deletion taint: %v", x.node, err)
	}
}
