package virtual

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/kubelet"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// Step is what happened in one Settle, in order.
type Step struct {
	Bindings []kvcl.Binding
	// Unschedulable lists the pods tried in this step that have no node at its end, each once.
	Unschedulable []kvcl.Unschedulable
	Victims       []kvcl.Victim
	// Returned pods were evicted, preempted or lost their node and are pending again under their own name.
	Returned []types.NamespacedName
	// Finished pods ran their time.
	Finished []types.NamespacedName
	// Fed are the pods that came and were deleted because somebody sets the replicas of their workload: changes as the recording has them
	// of others, in order.
	Fed []scalehist.Change
	// Events are all of the above but Unschedulable in one list, in the order they happened: a pod may be bound,
	// preempted, back, and bound again within one step.
	Events []Event
}

// EventKind says what happened to a pod.
type EventKind string

// The kinds of events.
const (
	PodFinished EventKind = "finished"
	PodReturned EventKind = "returned"
	PodBound    EventKind = "bound"
	PodVictim   EventKind = "preempted"
	// PodLost: it was evicted or lost its node, and nobody makes it again.
	PodLost EventKind = "lost"
)

// Event is something that happened to a pod within a step. Node is set for PodBound and PodVictim.
type Event struct {
	Kind EventKind
	Pod  types.NamespacedName
	Node string
}

// Settle moves the cluster to virtual time now and returns when nothing is left to happen at that instant: the
// scheduler is quiescent, bound pods run, pods whose time is up have finished, evicted pods are back.
func (c *Cluster) Settle(ctx context.Context, now time.Time) (Step, error) {
	var step Step
	c.now = now
	for {
		if err := ctx.Err(); err != nil {
			return step, err
		}
		stopped := c.stopped(now)
		finished := c.finish(now)
		for _, f := range finished {
			key := types.NamespacedName{Namespace: f.Object.GetNamespace(), Name: f.Object.GetName()}
			step.Finished = append(step.Finished, key)
			step.Events = append(step.Events, Event{Kind: PodFinished, Pod: key})
		}
		tainted := c.evictTainted(now)
		step.Events = append(step.Events, c.takeLost()...)
		back := c.comeBack(now)
		replicas, err := c.reconcileWorkloads(now)
		if err != nil {
			return step, err
		}
		for _, b := range slices.Concat(back, replicas.back) {
			key := types.NamespacedName{Namespace: b.Object.GetNamespace(), Name: b.Object.GetName()}
			step.Returned = append(step.Returned, key)
			step.Events = append(step.Events, Event{Kind: PodReturned, Pod: key})
		}
		step.feed(replicas.fed)
		writes := slices.Concat(stopped, finished, tainted, back, replicas.writes, c.retryResizes(now), c.restarted(now), c.ready(now),
			c.reconcileDaemons(now), c.reconcileClaims(now), c.reconcileBudgets(now))
		step.feed(c.takeResizes())
		if len(writes) > 0 {
			if err := c.plane.Apply(ctx, writes); err != nil {
				return step, err
			}
		}
		s, err := c.plane.Settle(ctx, now)
		if err != nil {
			return step, err
		}
		step.merge(s)
		follows := slices.Concat(c.bound(s.Bindings, now), c.preempted(s.Victims, now))
		if len(follows) > 0 {
			if err := c.plane.Apply(ctx, follows); err != nil {
				return step, err
			}
		}
		if len(follows) == 0 && len(c.evicted) == 0 && len(c.daemonsDirty) == 0 && !c.budgetsDirty && !c.controllers.owed() {
			return step, nil
		}
	}
}

// feed adds pods that came and were deleted; one that was deleted is no longer unschedulable.
func (s *Step) feed(changes []scalehist.Change) {
	s.Fed = append(s.Fed, changes...)
	for _, ch := range changes {
		if ch.Op == scalehist.OpDelete {
			key := types.NamespacedName{Namespace: ch.Object.GetNamespace(), Name: ch.Object.GetName()}
			s.Unschedulable = slices.DeleteFunc(s.Unschedulable, func(u kvcl.Unschedulable) bool { return u.Pod == key })
		}
	}
}

// merge adds one settle's outcome; a pod bound or deleted later in the step is no longer unschedulable.
func (s *Step) merge(o kvcl.Settled) {
	s.Bindings = append(s.Bindings, o.Bindings...)
	s.Victims = append(s.Victims, o.Victims...)
	for _, b := range o.Bindings {
		s.Events = append(s.Events, Event{Kind: PodBound, Pod: b.Pod, Node: b.Node})
	}
	// A victim comes back at the earliest in the next round, so its binding, if it is of this one, came before.
	for _, v := range o.Victims {
		s.Events = append(s.Events, Event{Kind: PodVictim, Pod: v.Pod, Node: v.Node})
	}
	gone := map[types.NamespacedName]bool{}
	for _, b := range o.Bindings {
		gone[b.Pod] = true
	}
	for _, u := range o.Unschedulable {
		gone[u.Pod] = true // listed again below
	}
	s.Unschedulable = slices.DeleteFunc(s.Unschedulable, func(u kvcl.Unschedulable) bool { return gone[u.Pod] })
	s.Unschedulable = append(s.Unschedulable, o.Unschedulable...)
}

// bound turns newly bound pods Running, as a kubelet would.
func (c *Cluster) bound(bindings []kvcl.Binding, now time.Time) []scalehist.Change {
	if len(bindings) == 0 {
		return nil
	}
	// The API server copies the node's zone and region onto a pod when it is bound (Kubernetes 1.36), so the labels to
	// keep are the server's.
	c.budgetsDirty = true
	var out []scalehist.Change
	for _, b := range bindings {
		known := c.pods[b.Pod]
		if known == nil {
			continue // preempted again within the same settle
		}
		next := podlife.Copied(known.object)
		if served := c.plane.Pod(b.Pod.Namespace, b.Pod.Name); served != nil {
			next.Labels = served.Labels
		}
		next.Spec.NodeName = b.Node
		next.Status = kubelet.Running(now)
		if c.starts(b.Pod, known, next, now) {
			next.Status.Conditions = kubelet.WithReady(next.Status.Conditions, corev1.ConditionFalse, now)
		}
		out = append(out, c.update(known, next, now))
		c.lives.finishing.set(b.Pod, known, podlife.FinishTime(next, now))
	}
	return out
}

// preempted lets victims terminate as evicted pods do: the preemptor waits, nominated for their node, until they have stopped, and
// preempts nobody else meanwhile, which the scheduler knows by the condition of a victim (upstream: PodEligibleToPreemptOthers).
func (c *Cluster) preempted(victims []kvcl.Victim, now time.Time) []scalehist.Change {
	var out []scalehist.Change
	for _, v := range victims {
		known := c.pods[v.Pod]
		if known == nil {
			continue
		}
		termination := c.termination(known)
		c.drop(v.Pod)
		c.budgetsDirty = true
		out = append(out, scalehist.Change{At: now, Op: scalehist.OpDelete, Object: known.object})
		out = append(out, c.leave(c.disrupted(known.object), now, termination)...)
	}
	return out
}

// disrupted is a victim with the condition that the scheduler gave it.
func (c *Cluster) disrupted(p *corev1.Pod) *corev1.Pod {
	served := c.plane.Pod(p.Namespace, p.Name)
	if served == nil {
		return p
	}
	_, given := podutil.GetPodCondition(&served.Status, corev1.DisruptionTarget)
	if given == nil {
		return p
	}
	next := podlife.Copied(p)
	next.Status.Conditions = append(slices.DeleteFunc(slices.Clone(p.Status.Conditions), func(c corev1.PodCondition) bool { return c.Type == given.Type }), *given)
	return next
}

// comeBack recreates evicted pods, pending, under the same name: an evicted pod and its replacement are one demand.
func (c *Cluster) comeBack(now time.Time) []scalehist.Change {
	var out []scalehist.Change
	for _, e := range c.evicted {
		p := podlife.Newborn(c.template(e), now)
		key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		out = append(out, scalehist.Change{At: now, Op: scalehist.OpAdd, Object: c.born(key, p, now)})
	}
	c.evicted = nil
	return out
}

// lose notes a pod that is gone for good, other than by running its time, a recorded deletion, or preemption. Pods that
// belong to a node go with it, and are no loss.
func (c *Cluster) lose(key types.NamespacedName, p *pod) {
	if !p.done && !podlife.ComesBack(p.object) && !podlife.FollowsNode(p.object) {
		c.lost = append(c.lost, key)
	}
}

// takeLost are the events of the pods lost since the last call; one of whose name another is there by now is no loss of it.
func (c *Cluster) takeLost() []Event {
	var out []Event
	for _, key := range c.lost {
		if c.pods[key] == nil {
			out = append(out, Event{Kind: PodLost, Pod: key})
		}
	}
	c.lost = nil
	return out
}

// finish lets the pods whose time is up succeed, in name order.
func (c *Cluster) finish(now time.Time) []scalehist.Change {
	out := c.due(&c.lives.finishing, now, func(key types.NamespacedName, p *pod) scalehist.Change {
		c.tally.uncount(p)
		p.done = true
		if c.whenDone[key] {
			delete(c.whenDone, key)
			c.drop(key)
			return scalehist.Change{At: now, Op: scalehist.OpDelete, Object: p.object}
		}
		return c.update(p, kubelet.Succeeded(p.object, now), now)
	})
	c.budgetsDirty = c.budgetsDirty || len(out) > 0
	return out
}

func byName(a, b scalehist.Change) int {
	if n := strings.Compare(a.Object.GetNamespace(), b.Object.GetNamespace()); n != 0 {
		return n
	}
	return strings.Compare(a.Object.GetName(), b.Object.GetName())
}
