package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"
)

const (
	// relist is how long a kubelet takes to see that a container has ended (its generic pod lifecycle event generator lists once a second).
	relist = time.Second
	// firstBackoff and maxBackoff are the kubelet's (pkg/kubelet: backOffPeriod, MaxCrashLoopBackOff).
	firstBackoff = 10 * time.Second
	maxBackoff   = 5 * time.Minute
	// oomExitCode is that of a process that was killed (128 + SIGKILL).
	oomExitCode = 137
)

// Restarts knows how often containers have ended.
type Restarts struct {
	clock   *clocktesting.FakeClock
	backoff *flowcontrol.Backoff
}

// NewRestarts is of containers none of which has ended.
func NewRestarts() *Restarts {
	clock := clocktesting.NewFakeClock(time.Time{})
	return &Restarts{clock: clock, backoff: flowcontrol.NewFakeBackOff(firstBackoff, maxBackoff, clock)}
}

// OutOfMemory is the end of a container that has used more memory than its limit.
func OutOfMemory(s *corev1.ContainerStatus, now time.Time) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: oomExitCode, Reason: "OOMKilled", StartedAt: s.State.Running.StartedAt, FinishedAt: metav1.NewTime(now)}
}

// Restart is a pod whose i-th container has ended now and waits, and how long that takes until it is started again.
func (r *Restarts) Restart(p *corev1.Pod, i int, ended *corev1.ContainerStateTerminated, now time.Time) (*corev1.Pod, time.Duration) {
	next := *p
	next.Status.ContainerStatuses = Statuses(p)
	s := &next.Status.ContainerStatuses[i]
	s.RestartCount++
	s.LastTerminationState = corev1.ContainerState{Terminated: ended}
	wait := relist
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	if ended.ExitCode != 0 {
		if d := r.backsOff(fmt.Sprintf("%s/%s", p.UID, s.Name), now); d > relist {
			wait = d
			s.State.Waiting.Reason, s.State.Waiting.Message = "CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container", d)
		}
	}
	next.Status.Conditions = WithReady(next.Status.Conditions, corev1.ConditionFalse, now)
	return &next, wait
}

// backsOff is how long a container waits that has just ended, as the kubelet's doBackOff has it.
func (r *Restarts) backsOff(id string, now time.Time) time.Duration {
	r.clock.SetTime(now)
	var wait time.Duration
	if r.backoff.IsInBackOffSince(id, now) {
		wait = r.backoff.Get(id)
		r.clock.SetTime(now.Add(wait))
	}
	r.backoff.Next(id, now)
	return wait
}
