package virtual

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/kubelet"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// Admit lets a controller change new pods. What the owner of a pod makes again later is the pod as it was before.
func (c *Cluster) Admit(by scalehist.Admitter) { c.admitters = append(c.admitters, by) }

// born registers a pod that somebody has created, as the admitters leave it.
func (c *Cluster) born(key types.NamespacedName, p *corev1.Pod, at time.Time) *corev1.Pod {
	made := p
	if c.recordedRequests != nil {
		made = c.recordedRequests.made(p)
	}
	out := made
	for _, a := range c.admitters {
		out = a.Admit(at, out)
	}
	again := c.enter(key, out, at)
	if out != made {
		c.templates[again.UID] = made
	}
	if out != p && kubelet.Differ(out, p) {
		c.resizes = append(c.resizes, scalehist.Change{At: at, Op: scalehist.OpUpdate, Object: again})
	}
	return again
}

// template is a pod as its owner made it, before anybody changed it on its way in.
func (c *Cluster) template(p *corev1.Pod) *corev1.Pod {
	t := c.templates[p.UID]
	if t == nil {
		return p
	}
	next := podlife.Copied(p)
	next.Annotations = t.Annotations
	next.Spec.Containers, next.Spec.InitContainers = t.Spec.Containers, t.Spec.InitContainers
	return next
}

// TakeRequests implements scalehist.Workloads.
func (c *Cluster) TakeRequests(controller string, ref scalehist.WorkloadRef) error {
	w := c.find(ref)
	switch {
	case w == nil:
		return fmt.Errorf("%s: %w", ref, scalehist.ErrNoWorkload)
	case w.sizedBy != "" && w.sizedBy != controller:
		return fmt.Errorf("the requests of %s belong to %s already: two controllers cannot set them", ref, w.sizedBy)
	}
	w.sizedBy = controller
	c.workloads.touch(w)
	return nil
}

// Resize implements scalehist.Workloads: the resize subresource decides whether it may, the kubelet whether it can be done now. Annotations change
// with it, or alone where the resources are the same.
func (c *Cluster) Resize(ctx context.Context, want *corev1.Pod) error {
	key := scalehist.NameOf(want)
	known := c.pods[key]
	switch {
	case known == nil:
		return apierrors.NewNotFound(corev1.Resource("pods"), want.Name)
	case known.object.UID != want.UID:
		return apierrors.NewConflict(corev1.Resource("pods"), want.Name, fmt.Errorf("the pod has UID %s, not %s", known.object.UID, want.UID))
	case known.done, known.object.Spec.NodeName == "":
		return fmt.Errorf("resize of Pod %s: it does not run", key)
	}
	next := podlife.Copied(known.object)
	next.Annotations = want.Annotations
	next.Spec.Containers = slices.Clone(next.Spec.Containers)
	kubelet.CopyResources(next.Spec.Containers, want.Spec.Containers)
	if !kubelet.Differ(next, known.object) {
		if maps.Equal(next.Annotations, known.object.Annotations) {
			return nil
		}
		if err := c.apply(ctx, []scalehist.Change{{At: c.now, Op: scalehist.OpUpdate, Object: next}}); err != nil {
			return fmt.Errorf("annotations of Pod %s: %w", key, err)
		}
		c.show(known, next)
		return nil
	}
	if known.allocated == nil {
		known.allocated = known.object
	}
	next = c.answer(known, next, c.now)
	if err := c.apply(ctx, []scalehist.Change{{At: c.now, Op: scalehist.OpUpdate, Object: next}}); err != nil {
		if known.allocated == known.object {
			known.allocated = nil
		}
		return fmt.Errorf("resize of Pod %s: %w", key, err)
	}
	return c.apply(ctx, c.resized(key, known, next))
}

// resized shows a pod with other resources, and says what else is to be written.
func (c *Cluster) resized(key types.NamespacedName, known *pod, next *corev1.Pod) (writes []scalehist.Change) {
	c.show(known, next)
	c.resizes = append(c.resizes, scalehist.Change{At: c.now, Op: scalehist.OpUpdate, Object: next})
	if kubelet.Waits(next) {
		c.deferred[key] = known
		return nil
	}
	was := known.allocated
	known.allocated = nil
	delete(c.deferred, key)
	return c.restartResized(key, known, was)
}

// answer is a pod that asks for other resources, with what its kubelet says.
func (c *Cluster) answer(known *pod, asks *corev1.Pod, now time.Time) *corev1.Pod {
	return kubelet.Resize{Has: known.allocated, Asks: asks}.Answer(known.object, c.nodes[known.node], c.beside(known), now)
}

// beside are the pods on a pod's node but itself, with the resources that they have.
func (c *Cluster) beside(known *pod) iter.Seq[*corev1.Pod] {
	return func(yield func(*corev1.Pod) bool) {
		for _, key := range podsWhere(c.onNode[known.node], func(p *corev1.Pod) bool { return p.Spec.NodeName == known.node }) {
			o := c.pods[key]
			if o != known && !o.done && !yield(cmp.Or(o.allocated, o.object)) {
				return
			}
		}
		for _, l := range c.leaving {
			if l.object.Spec.NodeName == known.node && !yield(l.object) {
				return
			}
		}
	}
}

// retryResizes gives pods whose resize was deferred their new resources where there is room by now, in the kubelet's order.
func (c *Cluster) retryResizes(now time.Time) []scalehist.Change {
	if len(c.deferred) == 0 {
		return nil
	}
	var keys []types.NamespacedName
	for key, p := range c.deferred {
		if c.pods[key] != p || p.done {
			delete(c.deferred, key)
			continue
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		x, y := c.deferred[a], c.deferred[b]
		return cmp.Or(kubelet.Resize{Has: x.allocated, Asks: x.object}.Compare(kubelet.Resize{Has: y.allocated, Asks: y.object}), cmp.Compare(x.order, y.order))
	})
	var out []scalehist.Change
	for _, key := range keys {
		known := c.deferred[key]
		next := c.answer(known, known.object, now)
		if kubelet.Waits(next) {
			continue
		}
		out = append(out, scalehist.Change{At: now, Op: scalehist.OpUpdate, Object: next})
		out = append(out, c.resized(key, known, next)...)
	}
	return out
}

// takeResizes are the pods whose requests have become others than those they came with, since the last call.
func (c *Cluster) takeResizes() []scalehist.Change {
	out := c.resizes
	c.resizes = nil
	return out
}
