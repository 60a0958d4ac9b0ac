package virtual

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/kubelet"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// leaving is a pod that was deleted, evicted or preempted and has not stopped: it holds its room until then.
//
// It keeps its UID, but steps aside to another name: what its owner makes instead takes the name over, because a replay
// knows a demand by the name of its first pod.
type leaving struct {
	object *corev1.Pod
	// name is what it was called.
	name  string
	until time.Time
	// back is the pod to make again once this one has stopped; nil where nobody waits for that.
	back *corev1.Pod
	// inPlace: somebody asked the API server for its end, and it keeps its name until then (Absorb).
	inPlace bool
}

// termination is how long a pod would take to stop: nothing when it does not run, or is on its way out already.
func (c *Cluster) termination(p *pod) time.Duration {
	if p == nil || p.done || p.object.DeletionTimestamp != nil || c.nodes[p.object.Spec.NodeName] == nil {
		return 0
	}
	if d, err := time.ParseDuration(p.object.Annotations[podlife.TerminationAnnotation]); err == nil {
		return max(0, d)
	}
	return max(0, c.opts.Termination(p.object))
}

// deletion is how long a pod takes to stop whose deletion was recorded: as long as the deletion says, else as it would.
func (c *Cluster) deletion(deleted *corev1.Pod, p *pod) time.Duration {
	if d, err := time.ParseDuration(deleted.Annotations[podlife.TerminationAnnotation]); err == nil && p.object.DeletionTimestamp == nil && !p.done && p.object.Spec.NodeName != "" {
		return max(0, d)
	}
	return c.termination(p)
}

// depart makes what is left on its node of a pod that takes a while to stop. back comes again after that, if it is not nil.
func (c *Cluster) depart(p *corev1.Pod, at time.Time, termination time.Duration, back *corev1.Pod) scalehist.Change {
	o := p.DeepCopy()
	o.Name = terminatingName(p.Name, c.births[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}])
	o.DeletionTimestamp = ptr.To(metav1.NewTime(at.Add(kubelet.Grace(p))))
	o.DeletionGracePeriodSeconds = ptr.To(int64(kubelet.Grace(p) / time.Second))
	c.leaving = append(c.leaving, &leaving{object: o, name: p.Name, until: at.Add(termination), back: back})
	c.departs(p.Name, o)
	return scalehist.Change{At: at, Op: scalehist.OpAdd, Object: o}
}

// terminatingName is the name a pod steps aside to: that of its n-th incarnation. Names of pods have 253 characters at most.
func terminatingName(name string, n int) string {
	suffix := fmt.Sprintf(".terminating-%d", n)
	if len(name)+len(suffix) > 253 {
		name = strings.TrimRight(name[:253-len(suffix)], "-.")
	}
	return name + suffix
}

// stopped are the deletions of the pods that have stopped by now, in the order in which they began to.
func (c *Cluster) stopped(now time.Time) []scalehist.Change {
	return c.stop(func(l *leaving) bool { return !l.until.After(now) }, now)
}

// stop ends what is left of some pods. Those whose owner waited for that come back at the next settle.
func (c *Cluster) stop(which func(*leaving) bool, now time.Time) []scalehist.Change {
	var out []scalehist.Change
	c.leaving = slices.DeleteFunc(c.leaving, func(l *leaving) bool {
		if !which(l) {
			return false
		}
		out = append(out, scalehist.Change{At: now, Op: scalehist.OpDelete, Object: l.object})
		c.gone(l.object)
		if l.back != nil && c.pods[types.NamespacedName{Namespace: l.back.Namespace, Name: l.back.Name}] == nil {
			c.evicted = append(c.evicted, l.back)
		}
		if l.inPlace && podlife.IsDaemon(l.object) {
			c.daemonsDirty = append(c.daemonsDirty, podlife.DaemonNode(l.object))
		}
		return true
	})
	return out
}

// stoppedOn are the deletions of the pods that were stopping on a node that is gone.
func (c *Cluster) stoppedOn(node string, now time.Time) []scalehist.Change {
	return c.stop(func(l *leaving) bool { return l.object.Spec.NodeName == node }, now)
}

// nextStop is the earliest instant at which a pod stops.
func (c *Cluster) nextStop() (next time.Time, ok bool) {
	for _, l := range c.leaving {
		if next.IsZero() || l.until.Before(next) {
			next = l.until
		}
	}
	return next, !next.IsZero()
}

// leave takes a pod off its node that somebody evicted or preempted, after the pod itself was deleted: it stops at once, or
// goes on for a while. Its owner makes another at once; a StatefulSet, whose pods have names of their own, when the old one has stopped.
func (c *Cluster) leave(p *corev1.Pod, at time.Time, termination time.Duration) []scalehist.Change {
	var later *corev1.Pod
	if podlife.ComesBack(p) {
		if termination > 0 && c.taken(p) == nil && metav1.GetControllerOfNoCopy(p).Kind == "StatefulSet" {
			later = p
		} else {
			c.again(p)
		}
	}
	if termination <= 0 {
		return nil
	}
	return []scalehist.Change{c.depart(p, at, termination, later)}
}

// apply writes what follows from an eviction.
func (c *Cluster) apply(ctx context.Context, changes []scalehist.Change) error {
	if len(changes) == 0 {
		return nil
	}
	return c.plane.Apply(ctx, changes)
}
