package virtual

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// Absorb takes over what others wrote through the API server since the last call, and says whether there was any: taints of nodes,
// cordons, evictions and deletions of pods. What follows from it happens at the next Settle.
//
// A pod whose end was asked for so goes on for its termination time, within the grace period it was given, under its own name: who
// asked looks for that name to see whether it has stopped. Its owner makes another when it has.
func (c *Cluster) Absorb(now time.Time) (any bool) {
	for _, n := range c.plane.Objects().Nodes {
		known := c.nodes[n.Name]
		if known == nil {
			continue
		}
		if !sameTaints(known.Spec.Taints, n.Spec.Taints) {
			c.tainted(n.Name, n.Spec.Taints)
			any = true
		}
		if known = c.nodes[n.Name]; known.Spec.Unschedulable != n.Spec.Unschedulable {
			known = known.DeepCopy()
			known.Spec.Unschedulable = n.Spec.Unschedulable
			c.closed(known)
			any = true
		}
	}
	going := podsWhere(c.pods, func(p *corev1.Pod) bool {
		served := c.plane.Pod(p.Namespace, p.Name)
		return served == nil || served.DeletionTimestamp != nil && p.DeletionTimestamp == nil
	})
	for _, key := range going {
		c.absorbEnd(key, now)
	}
	return any || len(going) > 0
}

// absorbEnd lets a pod terminate whose end was asked for, or notes that it is gone.
func (c *Cluster) absorbEnd(key types.NamespacedName, now time.Time) {
	p := c.pods[key]
	termination, served := c.termination(p), c.plane.Pod(key.Namespace, key.Name)
	c.drop(key)
	c.budgetsDirty = true
	if !p.done {
		c.lose(key, p)
	}
	returns := !p.done && podlife.ComesBack(p.object)
	if served == nil {
		if returns {
			c.evicted = append(c.evicted, p.object)
		}
		if podlife.IsDaemon(p.object) {
			c.daemonsDirty = append(c.daemonsDirty, podlife.DaemonNode(p.object))
		}
		return
	}
	if s := served.DeletionGracePeriodSeconds; s != nil {
		termination = min(termination, time.Duration(*s)*time.Second)
	}
	l := &leaving{object: p.object, until: now.Add(termination), inPlace: true}
	if returns {
		l.back = p.object
	}
	c.leaving = append(c.leaving, l)
}

// nameTaken says whether a pod that is stopping still has a name.
func (c *Cluster) nameTaken(key types.NamespacedName) bool {
	return slices.ContainsFunc(c.leaving, func(l *leaving) bool { return l.inPlace && named(l.object, key) })
}

// freeName ends a pod that is stopping under a name that another needs now, and does not come back itself.
func (c *Cluster) freeName(key types.NamespacedName, now time.Time) []scalehist.Change {
	if !c.nameTaken(key) {
		return nil
	}
	c.forgetReturn(key)
	return c.stop(func(l *leaving) bool { return l.inPlace && named(l.object, key) }, now)
}

// sameTaints compares without order, and without when a taint was added.
func sameTaints(a, b []corev1.Taint) bool {
	within := func(a, b []corev1.Taint) bool {
		return !slices.ContainsFunc(a, func(t corev1.Taint) bool {
			return !slices.ContainsFunc(b, func(o corev1.Taint) bool { return o.MatchTaint(&t) && o.Value == t.Value })
		})
	}
	return len(a) == len(b) && within(a, b)
}
