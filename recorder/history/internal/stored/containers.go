package stored

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// container is what is kept of a container's status, beside its times.
type container struct {
	Name string `json:"name"`
	// Init: it is an init container, which a sidecar is too.
	Init     bool  `json:"init,omitempty"`
	Ready    bool  `json:"ready,omitempty"`
	Restarts int32 `json:"restarts,omitempty"`
	// Ended is its last termination; nil if it never ended, or as it should.
	Ended *ended `json:"ended,omitempty"`
	// Allocated and Actual are what the node gives it, where that is not what the spec asks for: a resize is under way,
	// or deferred.
	Allocated corev1.ResourceList          `json:"allocated,omitempty"`
	Actual    *corev1.ResourceRequirements `json:"actual,omitempty"`
}

type ended struct {
	Reason   string `json:"reason,omitempty"`
	ExitCode int32  `json:"exitCode"`
	Signal   int32  `json:"signal,omitempty"`
}

// takeContainers moves the containers out of a projected status. Their times follow those of the conditions.
func takeContainers(s *corev1.PodStatus, t *times) []container {
	var out []container
	for init, list := range [][]corev1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses} {
		for i := range list {
			c := &list[i]
			kept := container{Name: c.Name, Init: init == 1, Ready: c.Ready, Restarts: c.RestartCount, Allocated: c.AllocatedResources, Actual: c.Resources}
			if e := c.LastTerminationState.Terminated; e != nil {
				kept.Ended = &ended{e.Reason, e.ExitCode, e.Signal}
				t.transitions = append(t.transitions, e.StartedAt, e.FinishedAt)
			}
			out = append(out, kept)
		}
	}
	return out
}

// putContainers is the inverse of takeContainers; at gives the times.
func putContainers(s *corev1.PodStatus, containers []container, at func(i int) metav1.Time) {
	n := 0
	for _, c := range containers {
		status := corev1.ContainerStatus{Name: c.Name, Ready: c.Ready, RestartCount: c.Restarts, AllocatedResources: c.Allocated.DeepCopy(),
			Resources: c.Actual.DeepCopy()}
		if c.Ended != nil {
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: c.Ended.Reason, ExitCode: c.Ended.ExitCode,
				Signal: c.Ended.Signal, StartedAt: at(n), FinishedAt: at(n + 1)}
			n += 2
		}
		if c.Init {
			s.InitContainerStatuses = append(s.InitContainerStatuses, status)
		} else {
			s.ContainerStatuses = append(s.ContainerStatuses, status)
		}
	}
}
