package virtual

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist"
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
	if out != p && requestsDiffer(out, p) {
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
	next := copied(p)
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
	next := copied(known.object)
	next.Annotations = want.Annotations
	next.Spec.Containers = slices.Clone(next.Spec.Containers)
	copyResources(next.Spec.Containers, want.Spec.Containers)
	if !requestsDiffer(next, known.object) {
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
	c.answer(known, next, c.now)
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
	if _, waits := podutil.GetPodCondition(&next.Status, corev1.PodResizePending); waits != nil {
		c.deferred[key] = known
		return nil
	}
	was := known.allocated
	known.allocated = nil
	delete(c.deferred, key)
	return c.restartResized(key, known, was)
}

// answer puts into the pod's status what the kubelet says to its new resources, by the rules of Kubernetes 1.36 (pkg/kubelet/allocation): what does
// not fit now is Deferred, even where the node is too small for it; pods of files are Infeasible.
func (c *Cluster) answer(known *pod, next *corev1.Pod, now time.Time) {
	next.Status.Conditions = slices.DeleteFunc(slices.Clone(next.Status.Conditions), func(o corev1.PodCondition) bool { return o.Type == corev1.PodResizePending })
	reason, message := corev1.PodReasonDeferred, ""
	if kubetypes.IsStaticPod(next) {
		reason, message = corev1.PodReasonInfeasible, "In-place resize of static-pods is not supported"
	} else if message = c.noRoom(known, next); message == "" {
		next.Status.ContainerStatuses = withResources(next, next)
		return
	}
	pending := condition(corev1.PodResizePending, corev1.ConditionTrue, now)
	if _, was := podutil.GetPodCondition(&known.object.Status, corev1.PodResizePending); was != nil {
		pending.LastTransitionTime = was.LastTransitionTime
	}
	pending.Reason, pending.Message = reason, message
	next.Status.Conditions = append(next.Status.Conditions, pending)
	next.Status.ContainerStatuses = withResources(next, known.allocated)
}

// withResources are the statuses of a pod's containers with the resources that they have.
func withResources(p, has *corev1.Pod) []corev1.ContainerStatus {
	out := containerStatuses(p)
	for i := range out {
		r := has.Spec.Containers[i].Resources
		out[i].AllocatedResources, out[i].Resources = r.Requests, r.DeepCopy()
	}
	return out
}

// noRoom is why a pod with other resources does not fit on its node beside the pods that are there, by the check that kubelets admit pods with;
// empty where it fits.
func (c *Cluster) noRoom(known *pod, next *corev1.Pod) string {
	var others []fwk.PodInfo
	add := func(p *corev1.Pod) {
		if info, err := framework.NewPodInfo(p); err == nil { // the scheduler took it
			others = append(others, info)
		}
	}
	for _, key := range podsWhere(c.onNode[known.node], func(p *corev1.Pod) bool { return p.Spec.NodeName == known.node }) {
		switch o := c.pods[key]; {
		case o == known || o.done:
		case o.allocated != nil:
			add(o.allocated)
		default:
			add(o.object)
		}
	}
	for _, l := range c.leaving {
		if l.object.Spec.NodeName == known.node {
			add(l.object)
		}
	}
	node := framework.NewNodeInfo()
	node.SetNode(c.nodes[known.node])
	for _, o := range others {
		node.AddPodInfo(o)
	}
	bare := copied(next)
	bare.Status = corev1.PodStatus{} // what it asks for counts, not what it has
	var why []string
	for _, r := range scheduler.AdmissionCheck(bare, node, true) {
		if r.InsufficientResource != nil {
			// The words of the kubelet (pkg/kubelet/lifecycle/predicate.go, InsufficientResourceError).
			i := r.InsufficientResource
			why = append(why, fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", i.ResourceName, i.Requested, i.Used, i.Capacity))
			continue
		}
		why = append(why, r.Reason)
	}
	return strings.Join(why, "; ")
}

// retryResizes gives pods whose resize was deferred their new resources where there is room by now, in the kubelet's order: those that grow nothing,
// then by priority, by class, and by how long they wait (pkg/kubelet/allocation, sortPendingResizes).
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
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return compareResizes(c.deferred[a], c.deferred[b]) })
	var out []scalehist.Change
	for _, key := range keys {
		known := c.deferred[key]
		next := copied(known.object)
		c.answer(known, next, now)
		if _, waits := podutil.GetPodCondition(&next.Status, corev1.PodResizePending); waits != nil {
			continue
		}
		out = append(out, scalehist.Change{At: now, Op: scalehist.OpUpdate, Object: next})
		out = append(out, c.resized(key, known, next)...)
	}
	return out
}

func compareResizes(a, b *pod) int {
	rank := func(p *pod) [4]int64 {
		var out [4]int64
		if grows(p) {
			out[0] = 1
		}
		if prio := p.object.Spec.Priority; prio != nil {
			out[1] = -int64(*prio)
		}
		if qos.GetPodQOS(p.object) != corev1.PodQOSGuaranteed {
			out[2] = 1
		}
		if _, c := podutil.GetPodCondition(&p.object.Status, corev1.PodResizePending); c != nil {
			out[3] = c.LastTransitionTime.UnixNano()
		}
		return out
	}
	x, y := rank(a), rank(b)
	if n := slices.Compare(x[:], y[:]); n != 0 {
		return n
	}
	return int(a.order - b.order)
}

// grows says whether a pod is to have more of something than it has.
func grows(p *pod) bool {
	has := resourcehelper.PodRequests(p.allocated, resourcehelper.PodResourcesOptions{})
	for name, q := range resourcehelper.PodRequests(p.object, resourcehelper.PodResourcesOptions{}) {
		if was := has[name]; q.Cmp(was) > 0 {
			return true
		}
	}
	return false
}

// takeResizes are the pods whose requests have become others than those they came with, since the last call.
func (c *Cluster) takeResizes() []scalehist.Change {
	out := c.resizes
	c.resizes = nil
	return out
}
