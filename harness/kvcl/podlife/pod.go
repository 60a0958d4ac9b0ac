package podlife

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunForAnnotation on a pod is how long it runs, from Running to Succeeded ("90s"). Without it a pod runs until it is
// deleted.
const RunForAnnotation = "scalehist.io/run-for"

// WhenDoneAnnotation ("true") on a deleted pod says that the deletion tidied up a pod that had finished: here it
// waits until the pod has run its time, however late that began.
const WhenDoneAnnotation = "scalehist.io/when-done"

// TerminationAnnotation on a pod, or on its deletion, is how long it goes on running after its deletion was asked for ("2.5s"). Without
// it the replay says.
const TerminationAnnotation = "scalehist.io/termination"

// FinishTime is when a pod that runs since now is done; zero for a pod that runs until it is deleted.
func FinishTime(p *corev1.Pod, now time.Time) time.Time {
	d, err := time.ParseDuration(p.Annotations[RunForAnnotation])
	if err != nil || d <= 0 {
		return time.Time{}
	}
	return now.Add(d)
}

// Copied is a pod to change; what is deeper than its own fields it shares with the other, so that must be replaced, not
// changed. A replay makes several of each pod.
func Copied(p *corev1.Pod) *corev1.Pod {
	next := *p
	return &next
}

// AsPending is a pod as it was created: without node, status and the labels of its node. It shares what is deeper with the other.
func AsPending(p *corev1.Pod) *corev1.Pod {
	next := Copied(p)
	next.Spec.NodeName = ""
	next.Status = corev1.PodStatus{Phase: corev1.PodPending}
	next.DeletionTimestamp, next.DeletionGracePeriodSeconds = nil, nil
	if p.Spec.NodeName != "" && p.Labels != nil {
		next.Labels = maps.Clone(p.Labels)
		for _, l := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
			delete(next.Labels, l) // the API server's copies of the node's
		}
	}
	return next
}

// Newborn is another incarnation of a pod, created now.
func Newborn(p *corev1.Pod, now time.Time) *corev1.Pod {
	next := AsPending(p)
	next.UID, next.ResourceVersion = "", ""
	next.CreationTimestamp = metav1.NewTime(now)
	return next
}
