package observed

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// PodLife is what a recording says of one pod's life, by the cluster's clock. A time that was not seen is zero.
type PodLife struct {
	Pod types.NamespacedName
	UID types.UID
	// Controller is "ReplicaSet/web-6d4b75cb6d", "" for none.
	Controller string
	Created    time.Time
	// Scheduled is when it was bound, Ready when it became Ready first (of a pod that was Ready when it was seen first: since
	// when it is).
	Scheduled, Ready time.Time
	// Gone is when it was seen to be gone, by the recorder's clock.
	Gone time.Time
	// Ends are the terminations of its containers that were not as they should be, in the order in which they were seen.
	Ends []ContainerEnd
}

// ContainerEnd is one termination of a container.
type ContainerEnd struct {
	Container         string
	Reason            string // "OOMKilled", "Error"
	ExitCode          int32
	Started, Finished time.Time
	// Restarts is how often the container had been restarted when this was seen first.
	Restarts int32
}

// StartUp is how long the pod took from its node to Ready; false if one of them was not seen.
func (l *PodLife) StartUp() (time.Duration, bool) {
	if l.Scheduled.IsZero() || l.Ready.IsZero() || l.Ready.Before(l.Scheduled) {
		return 0, false
	}
	return l.Ready.Sub(l.Scheduled), true
}

// PodLives are the lives of the pods that lived at from or came until to, in the order in which they came.
func PodLives(ctx context.Context, db *history.DB, from, to time.Time) ([]PodLife, error) {
	c := podLives{index: map[types.UID]int{}}
	for ch, err := range sightings(ctx, db, from, to, "Pod") {
		if err != nil {
			return nil, err
		}
		if l := c.see(ch.Object); l != nil && ch.Op == scalehist.OpDelete {
			l.Gone = ch.At
		}
	}
	return c.lives, nil
}

// podLives collects lives.
type podLives struct {
	lives []PodLife
	index map[types.UID]int
}

func (c *podLives) see(o scalehist.Object) *PodLife {
	p, ok := o.(*corev1.Pod)
	if !ok {
		return nil
	}
	i, ok := c.index[p.UID]
	if !ok {
		i = len(c.lives)
		c.index[p.UID] = i
		l := PodLife{Pod: scalehist.NameOf(p), UID: p.UID}
		if !p.CreationTimestamp.IsZero() {
			l.Created = p.CreationTimestamp.UTC()
		}
		if owner := metav1.GetControllerOf(p); owner != nil {
			l.Controller = owner.Kind + "/" + owner.Name
		}
		c.lives = append(c.lives, l)
	}
	l := &c.lives[i]
	for _, cond := range p.Status.Conditions {
		since := cond.LastTransitionTime
		if cond.Status != corev1.ConditionTrue || since.IsZero() {
			continue
		}
		switch {
		case cond.Type == corev1.PodScheduled && l.Scheduled.IsZero():
			l.Scheduled = since.UTC()
		case cond.Type == corev1.PodReady && l.Ready.IsZero():
			l.Ready = since.UTC()
		}
	}
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for i := range list {
			l.end(&list[i])
		}
	}
	return l
}

// end notes a container's last termination once.
func (l *PodLife) end(c *corev1.ContainerStatus) {
	e := c.LastTerminationState.Terminated
	if e == nil {
		return
	}
	now := ContainerEnd{Container: c.Name, Reason: e.Reason, ExitCode: e.ExitCode, Restarts: c.RestartCount}
	if !e.StartedAt.IsZero() {
		now.Started = e.StartedAt.UTC()
	}
	if !e.FinishedAt.IsZero() {
		now.Finished = e.FinishedAt.UTC()
	}
	for i := len(l.Ends) - 1; i >= 0; i-- {
		if was := l.Ends[i]; was.Container == now.Container {
			if was.Finished.Equal(now.Finished) && was.Started.Equal(now.Started) {
				return
			}
			break
		}
	}
	l.Ends = append(l.Ends, now)
}
