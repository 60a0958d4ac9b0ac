package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// DaemonSetPodAnnotation ("true") makes a pod count as a DaemonSet's.
	DaemonSetPodAnnotation = "cluster-autoscaler.kubernetes.io/daemonset-pod"
	// extraTermination is how much longer than its grace period a pod may terminate before it is taken for gone.
	extraTermination = 30 * time.Second
	// defaultGrace is the grace period of a pod that names none.
	defaultGrace = corev1.DefaultTerminationGracePeriodSeconds * time.Second
)

// IsDaemonSet and IsMirror are pods that come with their node.
func IsDaemonSet(p *corev1.Pod) bool {
	if p.Annotations[DaemonSetPodAnnotation] == "true" {
		return true
	}
	c := metav1.GetControllerOfNoCopy(p)
	return c != nil && c.Kind == "DaemonSet"
}

// IsMirror says whether the pod mirrors a static one.
func IsMirror(p *corev1.Pod) bool {
	_, ok := p.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// LongTerminating says whether a pod should have been gone long ago, by its grace period and 30 seconds.
func LongTerminating(p *corev1.Pod, now time.Time) bool {
	return p.DeletionTimestamp != nil && p.DeletionTimestamp.Add(Grace(p)+extraTermination).Before(now)
}

// Grace is how long a pod may take to terminate.
func Grace(p *corev1.Pod) time.Duration {
	if g := p.Spec.TerminationGracePeriodSeconds; g != nil {
		return time.Duration(*g) * time.Second
	}
	return defaultGrace
}
