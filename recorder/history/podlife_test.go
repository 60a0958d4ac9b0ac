package history_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// status sets the status of container c of a pod.
func status(c corev1.ContainerStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c.Name = "c"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{c}
	}
}

// up is a container that runs, with what a kubelet writes beside that.
func up(restarts int32, noise int) corev1.ContainerStatus {
	return corev1.ContainerStatus{Ready: true, RestartCount: restarts, Image: "secret-image", ImageID: "secret-image-id", Started: new(true),
		ContainerID: fmt.Sprint("secret-containerd://", noise), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at(time.Duration(noise) * time.Second))}},
		AllocatedResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.5"), corev1.ResourceMemory: resource.MustParse("1024Mi")},
		Resources:          &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}}}
}

// killed is how a container ended that was out of memory.
func killed(from, to time.Duration) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137, Message: "secret-message", ContainerID: "secret-id",
		StartedAt: metav1.NewTime(at(from)), FinishedAt: metav1.NewTime(at(to))}
}

// TestPodNoiseWritesNothing: of what the kubelet says of containers, what changes while a pod runs and finishes as it should
// makes no version, nor does that it keeps the last termination in another place.
func TestPodNoiseWritesNothing(t *testing.T) {
	finished := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed",
		StartedAt: metav1.NewTime(at(3 * time.Second)), FinishedAt: metav1.NewTime(at(30 * time.Second))}}}
	starting := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating", Message: "secret-message"}}}
	crashed := corev1.ContainerStatus{State: corev1.ContainerState{Terminated: killed(0, time.Minute)}}
	waiting := corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: killed(0, time.Minute)}}
	path := writeFile(t,
		change(0, scalehist.OpAdd, pod("a", uid(1), running)),
		change(1*time.Second, scalehist.OpUpdate, pod("a", uid(1), running, status(starting))),
		change(2*time.Second, scalehist.OpUpdate, pod("a", uid(1), running, status(up(0, 1)))),
		change(3*time.Second, scalehist.OpUpdate, pod("a", uid(1), running, status(up(0, 2)))),
		change(4*time.Second, scalehist.OpUpdate, pod("a", uid(1), running, status(finished))),
		change(5*time.Second, scalehist.OpUpdate, pod("a", uid(1), running, status(crashed))),
		change(6*time.Second, scalehist.OpUpdate, pod("a", uid(1), running, status(waiting))))
	db := reopen(t, path)
	if diff := cmp.Diff([]string{"0s add Pod/a", "5s update Pod/a"}, changes(t, db, time.Time{}, time.Time{})); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	raw := readText(t, path)
	if i := strings.Index(raw, "secret-"); i >= 0 {
		t.Errorf("stored %.40q", raw[i:])
	}
}

// TestContainerLives: restarts, last terminations and resources that differ from the spec are kept, come back, and pass
// through an object log.
func TestContainerLives(t *testing.T) {
	resizing := up(1, 1)
	resizing.AllocatedResources[corev1.ResourceCPU] = resource.MustParse("250m")
	resizing.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("250m")
	resizing.LastTerminationState.Terminated = killed(10*time.Second, time.Minute)
	deferred := func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue,
			Reason: corev1.PodReasonDeferred, LastTransitionTime: metav1.NewTime(at(2 * time.Minute))})
	}
	sidecar := func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", RestartCount: 4, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed"}}}}
	}
	path := writeFile(t, change(0, scalehist.OpAdd, pod("a", uid(1), bound("n"), running)),
		change(2*time.Minute, scalehist.OpUpdate, pod("a", uid(1), bound("n"), running, status(resizing), deferred, sidecar)))
	db := reopen(t, path)
	for _, db := range []*history.DB{db, importLog(t, strings.NewReader(exported(t, db)), "log")} {
		got := snapshotAt(t, db, 3*time.Minute).Objects.Pods[0].Status
		want := []corev1.ContainerStatus{{Name: "c", Ready: true, RestartCount: 1, AllocatedResources: resizing.AllocatedResources,
			Resources: &corev1.ResourceRequirements{Requests: resizing.Resources.Requests},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137,
				StartedAt: metav1.NewTime(at(10 * time.Second)), FinishedAt: metav1.NewTime(at(time.Minute))}}}}
		if diff := cmp.Diff(asJSON(want), asJSON(got.ContainerStatuses)); diff != "" {
			t.Errorf("containers (-want +got):\n%s", diff)
		}
		if c := got.InitContainerStatuses; len(c) != 1 || c[0].RestartCount != 4 || c[0].LastTerminationState.Terminated == nil {
			t.Errorf("init containers %s", asJSON(c))
		}
		last := got.Conditions[len(got.Conditions)-1]
		if last.Type != corev1.PodResizePending || last.Reason != corev1.PodReasonDeferred || !last.LastTransitionTime.Time.Equal(at(2*time.Minute)) {
			t.Errorf("condition %s", asJSON(last))
		}
	}
}
