package virtual

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/kubelet"
)

// lives are what is to come of pods and their containers.
type lives struct {
	// finishing are the finite pods that run, starting those that are not ready yet, restarting those with a container that waits: all that wait
	// start together.
	finishing, starting, restarting alarms
	restarts                        *kubelet.Restarts
}

func newLives() lives {
	return lives{
		finishing:  alarms{of: func(p *pod) *time.Time { return &p.finishAt }},
		starting:   alarms{of: func(p *pod) *time.Time { return &p.readyAt }},
		restarting: alarms{of: func(p *pod) *time.Time { return &p.restartAt }},
		restarts:   kubelet.NewRestarts(),
	}
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
	c.lives.starting.set(key, p, now.Add(d))
	return true
}

// ready turns pods ready that have started by now.
func (c *Cluster) ready(now time.Time) []scalehist.Change {
	return c.due(&c.lives.starting, now, func(_ types.NamespacedName, p *pod) scalehist.Change {
		return c.setReady(p, corev1.ConditionTrue, now)
	})
}

// setReady shows a pod as ready or not.
func (c *Cluster) setReady(p *pod, ready corev1.ConditionStatus, now time.Time) scalehist.Change {
	c.budgetsDirty = true
	return c.update(p, kubelet.Ready(p.object, ready, now), now)
}

// update shows a pod with another status.
func (c *Cluster) update(p *pod, next *corev1.Pod, now time.Time) scalehist.Change {
	c.show(p, next)
	return scalehist.Change{At: now, Op: scalehist.OpUpdate, Object: next}
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
	statuses := kubelet.Statuses(p.object)
	if i < 0 || statuses[i].State.Running == nil {
		return corev1.ContainerStatus{}, fmt.Errorf("container %s of Pod %s was killed, but it does not run", container, key)
	}
	s := &statuses[i]
	ended := kubelet.OutOfMemory(s, c.now)
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
	c.budgetsDirty = true
	return c.update(p, kubelet.Failed(p.object, statuses, c.now), c.now)
}

// restart lets a container of a pod wait until the kubelet starts it again. ended is how it ended.
func (c *Cluster) restart(key types.NamespacedName, p *pod, i int, ended *corev1.ContainerStateTerminated) scalehist.Change {
	next, wait := c.lives.restarts.Restart(p.object, i, ended, c.now)
	p.readyAt = time.Time{}
	c.lives.restarting.set(key, p, c.now.Add(wait))
	c.budgetsDirty = true
	return c.update(p, next, c.now)
}

// restarted starts the containers whose time has come.
func (c *Cluster) restarted(now time.Time) []scalehist.Change {
	return c.due(&c.lives.restarting, now, func(key types.NamespacedName, p *pod) scalehist.Change {
		started := c.update(p, kubelet.Started(p.object, now), now)
		if c.starts(key, p, p.object, now) {
			return started
		}
		return c.setReady(p, corev1.ConditionTrue, now)
	})
}

// restartResized restarts the containers of a pod that had the resources of was, where their resize policy asks for it.
func (c *Cluster) restartResized(key types.NamespacedName, p *pod, was *corev1.Pod) (writes []scalehist.Change) {
	for i := range p.object.Spec.Containers {
		statuses := kubelet.Statuses(p.object)
		if statuses[i].State.Running == nil || !kubelet.RestartsFor(&p.object.Spec.Containers[i], &was.Spec.Containers[i]) {
			continue
		}
		ended := &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: statuses[i].State.Running.StartedAt, FinishedAt: metav1.NewTime(c.now)}
		writes = append(writes, c.restart(key, p, i, ended))
	}
	return writes
}
