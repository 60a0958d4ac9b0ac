package virtual

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist"
)

// defaultToleration is how long admission lets every pod stay on a node that is not ready or unreachable, when the pod
// says nothing of its own (admission plugin DefaultTolerationSeconds, which is off here: recorded pods have it already).
const defaultToleration = 300 * time.Second

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
	if FollowsNode(p) {
		return at, false // the kubelet and the DaemonSet controller let them tolerate it
	}
	for _, t := range c.noExecute[p.Spec.NodeName] {
		stay, forever := tolerates(p, t.taint)
		if forever {
			continue
		}
		if d := t.since.Add(stay); at.IsZero() || d.Before(at) {
			at = d
		}
	}
	return at, !at.IsZero()
}

// tolerates says how long a pod stays under a NoExecute taint: the shortest of its tolerations that match.
func tolerates(p *corev1.Pod, taint corev1.Taint) (stay time.Duration, forever bool) {
	matched := false
	forever = true
	for i := range p.Spec.Tolerations {
		t := &p.Spec.Tolerations[i]
		if !t.ToleratesTaint(klog.Background(), &taint, false) {
			continue
		}
		matched = true
		if t.TolerationSeconds == nil {
			continue
		}
		if d := max(0, time.Duration(*t.TolerationSeconds)*time.Second); forever || d < stay {
			stay, forever = d, false
		}
	}
	switch {
	case matched:
		return stay, forever
	case taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable:
		return defaultToleration, false
	}
	return 0, false
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

// FollowsNode: the pods of DaemonSets and kubelets come and go with their node.
func FollowsNode(p *corev1.Pod) bool {
	o := metav1.GetControllerOfNoCopy(p)
	return o != nil && (o.Kind == "DaemonSet" || o.Kind == "Node")
}
