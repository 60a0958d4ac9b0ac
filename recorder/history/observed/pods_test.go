package observed_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/observed"
)

// pod is a replica of web with one container.
func pod(name string, id types.UID, mutate ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: id, CreationTimestamp: metav1.NewTime(start),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs", Controller: new(true)}}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web:1"}}}}
	for _, m := range mutate {
		m(p)
	}
	return p
}

// since gives a pod a condition that is true since start plus d.
func since(p *corev1.Pod, condition corev1.PodConditionType, d time.Duration) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at(d))})
}

func bound(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = node
		since(p, corev1.PodScheduled, time.Second)
	}
}

func running(p *corev1.Pod) { since(p, corev1.PodReady, 3*time.Second) }

// status sets the status of container c of a pod.
func status(c corev1.ContainerStatus) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c.Name = "c"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{c}
	}
}

// up is a container that runs with what its node gave it.
func up(restarts int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{Ready: true, RestartCount: restarts, Resources: &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}}}
}

// killed is how a container ended that was out of memory.
func killed(from, to time.Duration) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137, StartedAt: metav1.NewTime(at(from)), FinishedAt: metav1.NewTime(at(to))}
}

// TestPodLives: how long pods took to be Ready, and how their containers ended, each once.
func TestPodLives(t *testing.T) {
	crashed := func(n int32, from, to time.Duration) func(*corev1.Pod) {
		c := up(n)
		c.LastTerminationState.Terminated = killed(from, to)
		return status(c)
	}
	db := open(t, write(t, change(0, scalehist.OpAdd, pod("a", uid(1))),
		change(time.Second, scalehist.OpUpdate, pod("a", uid(1), bound("n"))),
		change(3*time.Second, scalehist.OpUpdate, pod("a", uid(1), bound("n"), running)),
		change(time.Minute, scalehist.OpUpdate, pod("a", uid(1), bound("n"), running, crashed(1, 3*time.Second, time.Minute))),
		change(2*time.Minute, scalehist.OpUpdate, pod("a", uid(1), bound("n"), running, crashed(2, 61*time.Second, 2*time.Minute))),
		change(3*time.Minute, scalehist.OpUpdate, pod("a", uid(1), bound("n"), running, crashed(3, 61*time.Second, 2*time.Minute))),
		change(4*time.Minute, scalehist.OpAdd, pod("b", uid(2))),
		change(5*time.Minute, scalehist.OpDelete, pod("a", uid(1), bound("n"), running, crashed(3, 61*time.Second, 2*time.Minute)))))
	end := func(n int32, from, to time.Duration) observed.ContainerEnd {
		return observed.ContainerEnd{Container: "c", Reason: "OOMKilled", ExitCode: 137, Started: at(from), Finished: at(to), Restarts: n}
	}
	want := []observed.PodLife{
		{Pod: types.NamespacedName{Namespace: "default", Name: "a"}, UID: uid(1), Controller: "ReplicaSet/web", Created: start,
			Scheduled: at(time.Second), Ready: at(3 * time.Second), Gone: at(5 * time.Minute),
			Ends: []observed.ContainerEnd{end(1, 3*time.Second, time.Minute), end(2, 61*time.Second, 2*time.Minute)}},
		{Pod: types.NamespacedName{Namespace: "default", Name: "b"}, UID: uid(2), Controller: "ReplicaSet/web", Created: start},
	}
	got, err := observed.PodLives(t.Context(), db, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lives (-want +got):\n%s", diff)
	}
	if d, ok := got[0].StartUp(); !ok || d != 2*time.Second {
		t.Errorf("start-up %s, %v", d, ok)
	}
	if _, ok := got[1].StartUp(); ok {
		t.Error("a pod that was never Ready has a start-up time")
	}
	later, err := observed.PodLives(t.Context(), db, at(150*time.Second), at(200*time.Second))
	if err != nil || len(later) != 1 || len(later[0].Ends) != 1 || !later[0].Ready.Equal(at(3*time.Second)) {
		t.Errorf("lives of a part %+v, %v", later, err)
	}
}

// TestLimitedUsages: a usage is censored where the container had a limit and reached it, at the limit that held then, and
// the memory that was measured last before the container was killed for it.
func TestLimitedUsages(t *testing.T) {
	limit := func(cpu, memory string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
		}
	}
	resized := up(0)
	resized.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("2000M")}
	oom := up(1)
	oom.AllocatedResources, oom.Resources = nil, nil
	oom.LastTerminationState.Terminated = killed(200*time.Second, 235*time.Second)
	path := write(t, change(0, scalehist.OpAdd, pod("a", uid(1), limit("1", "1000M"))), change(0, scalehist.OpAdd, pod("free", uid(2))),
		change(90*time.Second, scalehist.OpUpdate, pod("a", uid(1), limit("1", "1000M"), status(resized))),
		change(150*time.Second, scalehist.OpUpdate, pod("a", uid(1), limit("4", "4000M"))),
		change(240*time.Second, scalehist.OpUpdate, pod("a", uid(1), limit("4", "4000M"), status(oom))),
		change(400*time.Second, scalehist.OpDelete, pod("a", uid(1), limit("4", "4000M"), status(oom))))
	w, err := history.Create(t.Context(), path, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := func(pod string) types.NamespacedName { return types.NamespacedName{Namespace: "default", Name: pod} }
	var usages []history.Usage
	for _, u := range []struct {
		at          time.Duration
		pod         string
		cpu, memory int64
	}{{30 * time.Second, "a", 980, 979e6}, {30 * time.Second, "free", 9000, 9e9}, {60 * time.Second, "a", 979, 980e6}, {120 * time.Second, "a", 1500, 1500e6},
		{180 * time.Second, "a", 3900, 1e6}, {210 * time.Second, "a", 1, 2e9}, {230 * time.Second, "a", 1, 3e9}, {300 * time.Second, "a", 1, 1e9}, {450 * time.Second, "a", 4000, 4e9}} {
		usages = append(usages, history.Usage{At: at(u.at), Pod: name(u.pod), Container: "c", CPUMilli: u.cpu, MemoryBytes: u.memory})
	}
	if err := w.Usage(t.Context(), usages); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db := open(t, path)
	read := func(from time.Time) (out []string) {
		for u, err := range observed.LimitedUsages(t.Context(), db, from, time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s %s of %dm %dM cpu=%v memory=%v", u.At.Sub(start), u.Pod.Name, u.CPULimitMilli, u.MemoryLimitBytes/1e6, u.CPUCensored, u.MemoryCensored))
		}
		return out
	}
	want := []string{
		"30s a of 1000m 1000M cpu=true memory=false",
		"30s free of 0m 0M cpu=false memory=false",
		"1m0s a of 1000m 1000M cpu=false memory=true",
		"2m0s a of 2000m 2000M cpu=false memory=false", // what the container has, while the spec asks for less
		"3m0s a of 4000m 4000M cpu=false memory=false",
		"3m30s a of 4000m 4000M cpu=false memory=false",
		"3m50s a of 4000m 4000M cpu=false memory=true", // the last before it was killed
		"5m0s a of 4000m 4000M cpu=false memory=false",
		"7m30s a of 0m 0M cpu=false memory=false", // it is gone
	}
	if diff := cmp.Diff(want, read(time.Time{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[3:], read(at(100*time.Second))); diff != "" {
		t.Errorf("from within (-want +got):\n%s", diff)
	}
}
