package crank

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// twinFailed ends a cycle as that of the pod's twin ended.
func (c *Crank) twinFailed(ctx context.Context, info *framework.QueuedPodInfo, o *outcome) {
	d := o.diagnosis
	d.UnschedulablePlugins = sets.New(d.UnschedulablePlugins.UnsortedList()...) // the queue keeps it with the pod
	nominating := o.nominating
	if o.message == "" || c.opts.EmitEvents || c.changedSince(info.Pod) {
		status := fwk.NewStatus(o.code).WithError(&framework.FitError{Pod: info.Pod, NumAllNodes: o.nodes, Diagnosis: d})
		o.message = status.Message()
		c.sched.FailureHandler(ctx, c.sched.Profiles[corev1.DefaultSchedulerName], info, status, &nominating, c.clock.Now())
		return
	}
	c.noteFailure(info.Pod, failure{message: o.message})
	c.giveBack(ctx, info, &d, o.message, &nominating)
	c.interest.failed(info)
	c.end()
}

// noteFailure remembers why a pod found no node.
func (c *Crank) noteFailure(pod *corev1.Pod, f failure) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if !c.known(name) {
		c.order = append(c.order, name)
	}
	c.failed[name] = &f
	c.leftovers.failed(pod, f)
}

// changedSince says whether the scheduler was shown another version of a pod than the one that was just tried.
func (c *Crank) changedSince(pod *corev1.Pod) bool {
	now := c.pod(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	return now == nil || now.UID != pod.UID || now.ResourceVersion != pod.ResourceVersion || now.Spec.NodeName != "" || now.DeletionTimestamp != nil
}

// giveBack gives the queue a pod that found no node, and writes why to its status, as upstream's failure handler does
// (scheduler.handleSchedulingFailure) of a pod that nobody has changed meanwhile: no copy of it is needed then. Of all that wait, each is
// given back at every event that may help one.
func (c *Crank) giveBack(ctx context.Context, info *framework.QueuedPodInfo, d *framework.Diagnosis, message string, nominating *fwk.NominatingInfo) {
	logger := klog.FromContext(ctx)
	info.ClearRejectorPlugins()
	info.UnschedulablePlugins, info.PendingPlugins = d.UnschedulablePlugins, d.PendingPlugins
	if err := c.sched.SchedulingQueue.AddUnschedulableIfNotPresent(logger, info, c.sched.SchedulingQueue.SchedulingCycle()); err != nil {
		c.fault = fmt.Errorf("give pod %s/%s back to the queue: %w", info.Pod.Namespace, info.Pod.Name, err)
	}
	c.sched.SchedulingQueue.AddNominatedPod(logger, info.PodInfo, nominating)
	was := &info.Pod.Status
	if _, said := podutil.GetPodCondition(was, corev1.PodScheduled); said != nil && said.Status == corev1.ConditionFalse &&
		said.Reason == corev1.PodReasonUnschedulable && said.Message == message && said.LastProbeTime.IsZero() {
		return
	}
	status := *was
	status.Conditions = slices.Clone(was.Conditions)
	podutil.UpdatePodCondition(&status, &corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
		ObservedGeneration: podutil.CalculatePodConditionObservedGeneration(was, info.Pod.Generation, corev1.PodScheduled),
	})
	if err := schedutil.PatchPodStatus(ctx, &client{c: c}, info.Pod.Name, info.Pod.Namespace, was, &status); err != nil {
		c.fault = fmt.Errorf("write the status of pod %s/%s: %w", info.Pod.Namespace, info.Pod.Name, err)
	}
}
