package virtualca

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/simulator/drain"
	"github.com/scalehist/scalehist/virtualca/listing"
)

const (
	// scaleUpDelayAnnotation on a pod lengthens --new-pod-scale-up-delay for it.
	scaleUpDelayAnnotation = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"
	// newPodBuffer and newGPUPodBuffer: while all pods are younger, scale-up waits for more of them.
	newPodBuffer    = 2 * time.Second
	newGPUPodBuffer = 30 * time.Second
)

// listPods sorts the pods into those that take room on a node, by node name, and those that ask for room. Pods are in
// creation order; pods of a priority below the cutoff are in neither.
func (l *loop) listPods() {
	l.a.listing.Update(l.objects.Pods, l.classify)
	l.bound, l.pending = l.a.listing.Bound, l.a.listing.Pending
}

// classify says where a pod belongs: node is empty for one that asks for room.
func (l *loop) classify(p *corev1.Pod) (class listing.Class, node string) {
	s := &l.a.settings
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return listing.Nowhere, ""
	}
	if len(s.AllowedSchedulers) > 0 && !slices.Contains(s.AllowedSchedulers, p.Spec.SchedulerName) {
		return listing.Nowhere, ""
	}
	if l.expendable(p) {
		return listing.Nowhere, ""
	}
	node = p.Spec.NodeName
	if node == "" {
		node = p.Status.NominatedNodeName
	}
	switch {
	case p.Spec.NodeName == "" && p.DeletionTimestamp != nil:
		return listing.Nowhere, ""
	case node != "":
		return listing.Bound, node
	case l.unschedulable(p):
		return listing.Pending, ""
	}
	return listing.Nowhere, ""
}

// expendable pods have a priority below the cutoff.
func (l *loop) expendable(p *corev1.Pod) bool {
	return p.Spec.Priority != nil && int(*p.Spec.Priority) < l.a.settings.ExpendablePriorityCutoff
}

// drainedPods are the pods of nodes being drained, as they will look for a place: they ask for room before they are
// evicted.
func (l *loop) drainedPods() []*corev1.Pod {
	var out []*corev1.Pod
	for _, node := range l.a.down.deletions.draining() {
		for _, p := range l.bound[node] {
			if p.DeletionTimestamp == nil && p.Spec.NodeName == node && !isMirrorPod(p) && !isDaemonSetPod(p) {
				out = append(out, l.a.down.unbound(p))
			}
		}
	}
	return out
}

// unschedulable: the scheduler said so; or the scheduler is one whose verdict is not waited for and none is there.
func (l *loop) unschedulable(p *corev1.Pod) bool {
	var scheduled *corev1.PodCondition
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodScheduled {
			scheduled = &p.Status.Conditions[i]
			break
		}
	}
	if slices.Contains(l.a.settings.BypassedSchedulers, p.Spec.SchedulerName) {
		if scheduled == nil || (scheduled.Status == corev1.ConditionFalse && scheduled.Reason == "") {
			return true
		}
	}
	return scheduled != nil && scheduled.Status == corev1.ConditionFalse && scheduled.Reason == corev1.PodReasonUnschedulable
}

// isDaemonSetPod and isMirrorPod are pods that come with their node.
func isDaemonSetPod(p *corev1.Pod) bool { return drain.IsDaemonSet(p) }
func isMirrorPod(p *corev1.Pod) bool    { return drain.IsMirror(p) }

// tpuPrefix starts the names of TPU resources, which no node ever lists.
const tpuPrefix = "cloud-tpus.google.com/"

// clearTPU replaces pods that ask for TPUs by copies that do not: those are attached by network, not by node.
func clearTPU(pods []*corev1.Pod) []*corev1.Pod {
	isTPU := func(r corev1.ResourceName, _ resource.Quantity) bool { return strings.HasPrefix(string(r), tpuPrefix) }
	for i, p := range pods {
		asks := false
		for _, c := range p.Spec.Containers {
			for r := range c.Resources.Requests {
				asks = asks || isTPU(r, resource.Quantity{})
			}
		}
		if !asks {
			continue
		}
		c := p.DeepCopy()
		for j := range c.Spec.Containers {
			maps.DeleteFunc(c.Spec.Containers[j].Resources.Requests, isTPU)
			maps.DeleteFunc(c.Spec.Containers[j].Resources.Limits, isTPU)
		}
		pods[i] = c
	}
	return pods
}

// dropYoung leaves out the pods whose scale-up delay is not over.
func (l *loop) dropYoung(pods []*corev1.Pod) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range pods {
		delay := l.a.settings.NewPodScaleUpDelay
		if v, ok := p.Annotations[scaleUpDelayAnnotation]; ok {
			if d, err := time.ParseDuration(v); err == nil {
				delay = max(delay, d)
			} else {
				l.note("pod %s/%s: annotation %s: %v", p.Namespace, p.Name, scaleUpDelayAnnotation, err)
			}
		}
		if l.now.Sub(p.CreationTimestamp.Time) > delay {
			out = append(out, p)
		}
	}
	if n := len(pods) - len(out); n > 0 {
		l.note("%s younger than the scale-up delay", plural.Of(n, "pod"))
	}
	return out
}

// allNew: the oldest pod, or the oldest pod that asks for a GPU, is so young that more are likely to follow.
func (l *loop) allNew(pods []*corev1.Pod) bool {
	if len(pods) == 0 {
		return false
	}
	oldest, oldestGPU := l.now, time.Time{}
	for _, p := range pods {
		if p.CreationTimestamp.Time.Before(oldest) {
			oldest = p.CreationTimestamp.Time
		}
		if asksGPU(p) && (oldestGPU.IsZero() || p.CreationTimestamp.Time.Before(oldestGPU)) {
			oldestGPU = p.CreationTimestamp.Time
		}
	}
	return oldest.Add(newPodBuffer).After(l.now) || (!oldestGPU.IsZero() && oldestGPU.Add(newGPUPodBuffer).After(l.now))
}

func asksGPU(p *corev1.Pod) bool {
	for i := range p.Spec.Containers {
		if _, ok := p.Spec.Containers[i].Resources.Requests[gpuResource]; ok {
			return true
		}
	}
	return false
}
