package virtual

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// noExecute are the NoExecute taints of a node with the instant each was first seen, in the order they have on the node.
type noExecute struct {
	taint corev1.Taint
	since time.Time
}

// watchTaints notes since when nodes have the NoExecute taints they have now.
func (c *Cluster) watchTaints(now time.Time) {
	for name := range c.taintsDirty {
		var list []noExecute
		if n := c.nodes[name]; n != nil {
			for _, t := range n.Spec.Taints {
				if t.Effect != corev1.TaintEffectNoExecute {
					continue
				}
				since := now
				if i := slices.IndexFunc(c.noExecute[name], func(o noExecute) bool { return o.taint.MatchTaint(&t) }); i >= 0 {
					since = c.noExecute[name][i].since
				}
				list = append(list, noExecute{t, since})
			}
		}
		if len(list) == 0 {
			delete(c.noExecute, name)
		} else {
			c.noExecute[name] = list
		}
	}
	clear(c.taintsDirty)
}

// leaves is when the taint eviction controller takes a pod off its node; false for never.
func (c *Cluster) leaves(p *corev1.Pod) (time.Time, bool) {
	var at time.Time
	if podlife.FollowsNode(p) {
		return at, false // the kubelet and the DaemonSet controller let them tolerate it
	}
	for _, t := range c.noExecute[p.Spec.NodeName] {
		stay, forever := podlife.Tolerates(p, t.taint)
		if forever {
			continue
		}
		if d := t.since.Add(stay); at.IsZero() || d.Before(at) {
			at = d
		}
	}
	return at, !at.IsZero()
}

// nextTaintEviction is the earliest instant at which a pod leaves because of a taint.
func (c *Cluster) nextTaintEviction() (next time.Time, ok bool) {
	if len(c.noExecute) == 0 {
		return next, false
	}
	for _, p := range c.pods {
		if p.done || p.object.Spec.NodeName == "" {
			continue
		}
		if at, leaves := c.leaves(p.object); leaves && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next, !next.IsZero()
}

// evictTainted takes off the pods whose time under a taint is up, in the order of their creation. Budgets are not asked,
// as upstream's controller does not; pods with a controller come back.
func (c *Cluster) evictTainted(now time.Time) []scalehist.Change {
	c.watchTaints(now)
	if at, ok := c.nextTaintEviction(); !ok || at.After(now) {
		return nil
	}
	var out []scalehist.Change
	keys := podsWhere(c.pods, func(p *corev1.Pod) bool {
		if p.Spec.NodeName == "" {
			return false
		}
		at, ok := c.leaves(p)
		return ok && !at.After(now)
	})
	for _, key := range keys {
		p := c.pods[key]
		if p.done {
			continue
		}
		termination := c.termination(p)
		c.drop(key)
		c.budgetsDirty = true
		out = append(out, scalehist.Change{At: now, Op: scalehist.OpDelete, Object: p.object})
		c.lose(key, p)
		out = append(out, c.leave(p.object, now, termination)...)
	}
	return out
}
