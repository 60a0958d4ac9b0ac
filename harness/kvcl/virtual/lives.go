package virtual

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist"
)

const (
	// relist is how long a kubelet takes to see that a container has ended (its generic pod lifecycle event generator lists once a second).
	relist = time.Second
	// firstBackoff and maxBackoff are the kubelet's (pkg/kubelet: backOffPeriod, MaxCrashLoopBackOff).
	firstBackoff = 10 * time.Second
	maxBackoff   = 5 * time.Minute
	// oomExitCode is that of a process that was killed (128 + SIGKILL).
	oomExitCode = 137
	oomKilled   = "OOMKilled"
)

// lives are the containers of pods between their ends.
type lives struct {
	// starting are pods that are not ready yet, restarting those with a container that waits.
	starting, restarting finishes
	clock                *clocktesting.FakeClock
	backoff              *flowcontrol.Backoff
}

func newLives() lives {
	clock := clocktesting.NewFakeClock(time.Time{})
	return lives{clock: clock, backoff: flowcontrol.NewFakeBackOff(firstBackoff, maxBackoff, clock)}
}

// starts notes when a pod that runs since now becomes ready; it says whether it has to wait for that.
func (c *Cluster) starts(key types.NamespacedName, p *pod, object *corev1.Pod, now time.Time) (waits bool) {
	if c.opts.StartUp == nil {
		return false
	}
	d := c.opts.StartUp(object)
	if d <= 0 {
		return false
	}
	c.readyAt(key, p, now.Add(d))
	return true
}

func (c *Cluster) readyAt(key types.NamespacedName, p *pod, at time.Time) {
	p.readyAt = at
	heap.Push(&c.lives.starting, finish{at: at, key: key, pod: p})
}

// restartAt notes when the containers of a pod start again that have ended: all that wait, together.
func (c *Cluster) restartAt(key types.NamespacedName, p *pod, at time.Time) {
	p.restartAt = at
	heap.Push(&c.lives.restarting, finish{at: at, key: key, pod: p})
}

func (c *Cluster) nextReady() (finish, bool) {
	return c.next(&c.lives.starting, func(f finish) bool { return f.pod.readyAt.Equal(f.at) })
}

func (c *Cluster) nextRestart() (finish, bool) {
	return c.next(&c.lives.restarting, func(f finish) bool { return f.pod.restartAt.Equal(f.at) })
}

// ready turns pods ready that have started by now.
func (c *Cluster) ready(now time.Time) []scalehist.Change {
	var out []scalehist.Change
	for {
		f, ok := c.nextReady()
		if !ok || f.at.After(now) {
			break
		}
		f.pod.readyAt = time.Time{}
		out = append(out, c.setReady(f.pod, corev1.ConditionTrue, now))
	}
	slices.SortFunc(out, byName)
	return out
}

// setReady shows a pod as ready or not.
func (c *Cluster) setReady(p *pod, ready corev1.ConditionStatus, now time.Time) scalehist.Change {
	next := copied(p.object)
	next.Status.Conditions = withReady(next.Status.Conditions, ready, now)
	next.Status.ContainerStatuses = slices.Clone(next.Status.ContainerStatuses)
	for i := range next.Status.ContainerStatuses {
		next.Status.ContainerStatuses[i].Ready = ready == corev1.ConditionTrue && next.Status.ContainerStatuses[i].State.Running != nil
	}
	c.budgetsDirty = true
	c.show(p, next)
	return scalehist.Change{At: now, Op: scalehist.OpUpdate, Object: next}
}

func withReady(conditions []corev1.PodCondition, ready corev1.ConditionStatus, now time.Time) []corev1.PodCondition {
	out := slices.DeleteFunc(slices.Clone(conditions), func(o corev1.PodCondition) bool { return o.Type == corev1.PodReady })
	return append(out, condition(corev1.PodReady, ready, now))
}

// containerStatuses are those of a pod; where there are none, its containers run since the pod does.
func containerStatuses(p *corev1.Pod) []corev1.ContainerStatus {
	if len(p.Status.ContainerStatuses) == len(p.Spec.Containers) {
		return slices.Clone(p.Status.ContainerStatuses)
	}
	out := make([]corev1.ContainerStatus, len(p.Spec.Containers))
	for i := range p.Spec.Containers {
		out[i].Name = p.Spec.Containers[i].Name
		out[i].Image = p.Spec.Containers[i].Image
		if p.Status.StartTime != nil {
			out[i].State.Running = &corev1.ContainerStateRunning{StartedAt: *p.Status.StartTime}
		}
	}
	return out
}

// KillContainer ends a container of a pod, or its first where none is named, because it has used more memory than its limit. By the pod's restart
// policy it is started again as a kubelet does that: at once, then after 10 s, 20 s and so on up to 5 min, from the beginning where it has run for
// ten; or the pod has failed. It returns the container's status.
func (c *Cluster) KillContainer(ctx context.Context, key types.NamespacedName, container string) (corev1.ContainerStatus, error) {
	p := c.pods[key]
	if p == nil || p.done || p.object.Spec.NodeName == "" {
		return corev1.ContainerStatus{}, fmt.Errorf("container %s of Pod %s was killed, but the pod does not run", container, key)
	}
	i := 0
	if container != "" {
		i = slices.IndexFunc(p.object.Spec.Containers, func(o corev1.Container) bool { return o.Name == container })
	}
	statuses := containerStatuses(p.object)
	if i < 0 || statuses[i].State.Running == nil {
		return corev1.ContainerStatus{}, fmt.Errorf("container %s of Pod %s was killed, but it does not run", container, key)
	}
	s := &statuses[i]
	ended := &corev1.ContainerStateTerminated{ExitCode: oomExitCode, Reason: oomKilled, StartedAt: s.State.Running.StartedAt, FinishedAt: metav1.NewTime(c.now)}
	var ch scalehist.Change
	if p.object.Spec.RestartPolicy == corev1.RestartPolicyNever {
		s.State = corev1.ContainerState{Terminated: ended}
		ch = c.fail(key, p, statuses)
	} else {
		ch = c.restart(key, p, i, ended)
	}
	return p.object.Status.ContainerStatuses[i], c.apply(ctx, []scalehist.Change{ch})
}

// fail ends a pod one of whose containers has failed.
func (c *Cluster) fail(key types.NamespacedName, p *pod, statuses []corev1.ContainerStatus) scalehist.Change {
	c.tally.uncount(p)
	c.lose(key, p)
	p.done, p.readyAt = true, time.Time{}
	next := copied(p.object)
	next.Status.Phase = corev1.PodFailed
	next.Status.Conditions = withReady(next.Status.Conditions, corev1.ConditionFalse, c.now)
	next.Status.ContainerStatuses = statuses
	c.budgetsDirty = true
	c.show(p, next)
	return scalehist.Change{At: c.now, Op: scalehist.OpUpdate, Object: next}
}

// restart lets a container of a pod wait until the kubelet starts it again. ended is how it ended.
func (c *Cluster) restart(key types.NamespacedName, p *pod, i int, ended *corev1.ContainerStateTerminated) scalehist.Change {
	next := copied(p.object)
	next.Status.ContainerStatuses = containerStatuses(next)
	s := &next.Status.ContainerStatuses[i]
	s.RestartCount++
	s.LastTerminationState = corev1.ContainerState{Terminated: ended}
	wait := relist
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	if ended.ExitCode != 0 {
		if d := c.backsOff(fmt.Sprintf("%s/%s", next.UID, s.Name)); d > relist {
			wait = d
			s.State.Waiting.Reason, s.State.Waiting.Message = "CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container", d)
		}
	}
	next.Status.Conditions = withReady(next.Status.Conditions, corev1.ConditionFalse, c.now)
	p.readyAt = time.Time{}
	c.restartAt(key, p, c.now.Add(wait))
	c.budgetsDirty = true
	c.show(p, next)
	return scalehist.Change{At: c.now, Op: scalehist.OpUpdate, Object: next}
}

// backsOff is how long a container waits that has just ended, as the kubelet's doBackOff has it.
func (c *Cluster) backsOff(id string) time.Duration {
	c.lives.clock.SetTime(c.now)
	var wait time.Duration
	if c.lives.backoff.IsInBackOffSince(id, c.now) {
		wait = c.lives.backoff.Get(id)
		c.lives.clock.SetTime(c.now.Add(wait))
	}
	c.lives.backoff.Next(id, c.now)
	return wait
}

// restarted starts the containers whose time has come.
func (c *Cluster) restarted(now time.Time) []scalehist.Change {
	var out []scalehist.Change
	for {
		f, ok := c.nextRestart()
		if !ok || f.at.After(now) {
			break
		}
		p := f.pod
		p.restartAt = time.Time{}
		next := copied(p.object)
		next.Status.ContainerStatuses = slices.Clone(next.Status.ContainerStatuses)
		for i := range next.Status.ContainerStatuses {
			if s := &next.Status.ContainerStatuses[i]; s.State.Running == nil {
				s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
			}
		}
		c.show(p, next)
		if c.starts(f.key, p, next, now) {
			out = append(out, scalehist.Change{At: now, Op: scalehist.OpUpdate, Object: next})
			continue
		}
		out = append(out, c.setReady(p, corev1.ConditionTrue, now))
	}
	slices.SortFunc(out, byName)
	return out
}

// restartResized restarts the containers of a pod that had the resources of was, where their resize policy asks for it.
func (c *Cluster) restartResized(key types.NamespacedName, p *pod, was *corev1.Pod) (writes []scalehist.Change) {
	for i := range p.object.Spec.Containers {
		statuses := containerStatuses(p.object)
		if statuses[i].State.Running == nil || !restartsFor(&p.object.Spec.Containers[i], &was.Spec.Containers[i]) {
			continue
		}
		ended := &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: statuses[i].State.Running.StartedAt, FinishedAt: metav1.NewTime(c.now)}
		writes = append(writes, c.restart(key, p, i, ended))
	}
	return writes
}

// restartsFor says whether a container with other resources has to be restarted.
func restartsFor(to, from *corev1.Container) bool {
	return slices.ContainsFunc(to.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		differ := func(a, b corev1.ResourceList) bool {
			x, y := a[policy.ResourceName], b[policy.ResourceName]
			return x.Cmp(y) != 0
		}
		return policy.RestartPolicy == corev1.RestartContainer &&
			(differ(to.Resources.Requests, from.Resources.Requests) || differ(to.Resources.Limits, from.Resources.Limits))
	})
}
