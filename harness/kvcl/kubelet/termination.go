package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// DefaultTermination is how long a pod takes to stop when nobody knows better: about a second for a process that obeys
// SIGTERM, and one more for the kubelet to notice and to report it (its pod lifecycle relist period is 1s).
const DefaultTermination = 2 * time.Second

// defaultGrace is what a pod without terminationGracePeriodSeconds gets from the API server.
const defaultGrace = 30 * time.Second

// AssumedTermination is DefaultTermination within the pod's grace period.
func AssumedTermination(p *corev1.Pod) time.Duration { return min(DefaultTermination, Grace(p)) }

// Grace is how long a pod may take to stop.
func Grace(p *corev1.Pod) time.Duration {
	if s := p.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return defaultGrace
}
