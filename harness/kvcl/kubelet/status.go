package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Running is the status of a pod whose containers run since now.
func Running(now time.Time) corev1.PodStatus {
	start := metav1.NewTime(now)
	return corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: &start,
		Conditions: []corev1.PodCondition{
			Condition(corev1.PodScheduled, corev1.ConditionTrue, now),
			Condition(corev1.PodReady, corev1.ConditionTrue, now),
		},
	}
}

// Condition is a condition of a pod since now.
func Condition(t corev1.PodConditionType, s corev1.ConditionStatus, now time.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: t, Status: s, LastTransitionTime: metav1.NewTime(now)}
}

// WithReady are conditions with another of readiness.
func WithReady(conditions []corev1.PodCondition, ready corev1.ConditionStatus, now time.Time) []corev1.PodCondition {
	out := slices.DeleteFunc(slices.Clone(conditions), func(o corev1.PodCondition) bool { return o.Type == corev1.PodReady })
	return append(out, Condition(corev1.PodReady, ready, now))
}

// Ready is a pod that is ready since now, or is not.
func Ready(p *corev1.Pod, ready corev1.ConditionStatus, now time.Time) *corev1.Pod {
	next := *p
	next.Status.Conditions = WithReady(next.Status.Conditions, ready, now)
	next.Status.ContainerStatuses = slices.Clone(next.Status.ContainerStatuses)
	for i := range next.Status.ContainerStatuses {
		next.Status.ContainerStatuses[i].Ready = ready == corev1.ConditionTrue && next.Status.ContainerStatuses[i].State.Running != nil
	}
	return &next
}

// Succeeded is a pod that has run its time.
func Succeeded(p *corev1.Pod, now time.Time) *corev1.Pod {
	next := *p
	next.Status.Phase = corev1.PodSucceeded
	next.Status.Conditions = []corev1.PodCondition{
		Condition(corev1.PodScheduled, corev1.ConditionTrue, now),
		Condition(corev1.PodReady, corev1.ConditionFalse, now),
	}
	return &next
}

// Failed is a pod one of whose containers has failed, with the statuses that these have.
func Failed(p *corev1.Pod, statuses []corev1.ContainerStatus, now time.Time) *corev1.Pod {
	next := *p
	next.Status.Phase = corev1.PodFailed
	next.Status.Conditions = WithReady(next.Status.Conditions, corev1.ConditionFalse, now)
	next.Status.ContainerStatuses = statuses
	return &next
}

// Started is a pod whose waiting containers run since now.
func Started(p *corev1.Pod, now time.Time) *corev1.Pod {
	next := *p
	next.Status.ContainerStatuses = slices.Clone(next.Status.ContainerStatuses)
	for i := range next.Status.ContainerStatuses {
		if s := &next.Status.ContainerStatuses[i]; s.State.Running == nil {
			s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
		}
	}
	return &next
}

// Statuses are those of a pod; where there are none, its containers run since the pod does.
func Statuses(p *corev1.Pod) []corev1.ContainerStatus {
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
