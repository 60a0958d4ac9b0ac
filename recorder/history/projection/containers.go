package projection

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// projectContainerStatuses keeps the containers that say more than the pod's conditions do: those that were restarted,
// that ended otherwise than they should, and those whose resources are not what the spec asks for. A pod that only
// starts, runs and stops has none of them, so its versions are those that its conditions make. The last termination is
// in lastState, whether or not the container has been started again since: the kubelet moves it there, which changes
// nothing. Messages, images and identifiers stay out.
func projectContainerStatuses(statuses []corev1.ContainerStatus, spec []corev1.Container) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for i := range statuses {
		c := &statuses[i]
		kept := corev1.ContainerStatus{Name: c.Name, RestartCount: c.RestartCount, LastTerminationState: lastTermination(c)}
		if at := slices.IndexFunc(spec, func(s corev1.Container) bool { return s.Name == c.Name }); at >= 0 {
			asked := spec[at].Resources
			if len(c.AllocatedResources) > 0 && !equality.Semantic.DeepEqual(c.AllocatedResources, asked.Requests) {
				kept.AllocatedResources = c.AllocatedResources.DeepCopy()
			}
			if r := c.Resources; r != nil && (!equality.Semantic.DeepEqual(r.Requests, asked.Requests) || !equality.Semantic.DeepEqual(r.Limits, asked.Limits)) {
				kept.Resources = &corev1.ResourceRequirements{Limits: r.Limits.DeepCopy(), Requests: r.Requests.DeepCopy()}
			}
		}
		if kept.RestartCount == 0 && kept.LastTerminationState.Terminated == nil && kept.AllocatedResources == nil && kept.Resources == nil {
			continue
		}
		kept.Ready = c.Ready
		out = append(out, kept)
	}
	return out
}

// lastTermination is the latest that the status shows; none if the container ended once and as it should, as those of
// every finished Job do.
func lastTermination(c *corev1.ContainerStatus) corev1.ContainerState {
	last := c.State.Terminated
	if last == nil {
		last = c.LastTerminationState.Terminated
	}
	if last == nil || c.RestartCount == 0 && last.ExitCode == 0 && last.Signal == 0 && (last.Reason == "" || last.Reason == "Completed") {
		return corev1.ContainerState{}
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: last.Reason, ExitCode: last.ExitCode, Signal: last.Signal,
		StartedAt: last.StartedAt, FinishedAt: last.FinishedAt}}
}
