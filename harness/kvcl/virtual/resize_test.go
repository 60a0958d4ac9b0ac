package virtual_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
)

// cpuOf is what a pod asks for.
func cpuOf(p *corev1.Pod) string { return p.Spec.Containers[0].Resources.Requests.Cpu().String() }

// resize asks for another CPU request of a pod.
func (w *world) resize(name, cpu string) error {
	want := w.pod(name).DeepCopy()
	want.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return w.Resize(w.t.Context(), want)
}

func (w *world) mustResize(name, cpu string) {
	w.t.Helper()
	if err := w.resize(name, cpu); err != nil {
		w.t.Fatal(err)
	}
}

// pending is why a resize waits; empty for one that does not.
func (w *world) pending(name string) string {
	w.t.Helper()
	_, c := podutil.GetPodCondition(&w.pod(name).Status, corev1.PodResizePending)
	if c == nil {
		return ""
	}
	return c.Reason + ": " + c.Message
}

// TestResize: a pod is resized in place, under its UID; the scheduler sees its new size, and those who follow pods learn of it. What a pod cannot be
// resized to is the API server's word.
func TestResize(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "4"), replica("a", "1"), replica("b", "2"))
	w.settle(0)
	uid := w.pod("a").UID
	w.mustResize("a", "2")
	step := w.settle(1 * sec)
	if p := w.pod("a"); cpuOf(p) != "2" || p.UID != uid || p.Spec.NodeName != "n1" || w.pending("a") != "" {
		t.Errorf("a has %s on %q as %s (%s), want 2 in place", cpuOf(p), p.Spec.NodeName, p.UID, w.pending("a"))
	}
	if len(step.Fed) != 1 || cpuOf(step.Fed[0].Object.(*corev1.Pod)) != "2" || step.Fed[0].Op != scalehist.OpUpdate {
		t.Errorf("the step says %v, want the pod with its new size", step.Fed)
	}
	w.add(replica("c", "1"))
	if step := w.settle(2 * sec); len(step.Unschedulable) != 1 {
		t.Errorf("a pod of one core found room beside two of two on a node of four: %v", w.pods())
	}
	w.mustResize("a", "1")
	w.settle(3 * sec)
	if got := w.pods()["c"]; got != "Running@n1" {
		t.Errorf("c is %s, want on the room that a gave up", got)
	}
	want := w.pod("a").DeepCopy()
	want.Spec.Containers[0].Resources.Requests = nil
	if err := w.Resize(t.Context(), want); err == nil || cpuOf(w.pod("a")) != "1" {
		t.Errorf("a pod lost its class of service in place: %v, %s", err, cpuOf(w.pod("a")))
	}
	want.UID = "another"
	if err := w.Resize(t.Context(), want); err == nil || !strings.Contains(err.Error(), "UID") {
		t.Errorf("another pod of the name was resized: %v", err)
	}
}

// TestDeferredResize: what has no room waits with what it had, and is done when there is some: first pods that only shrink, then by priority.
func TestDeferredResize(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "4"), replica("a", "1"), replica("b", "1"), replica("c", "2"))
	w.settle(0)
	w.mustResize("a", "3")
	w.settle(1 * sec)
	if got := w.pending("a"); !strings.HasPrefix(got, "Deferred: Node didn't have enough resource: cpu") {
		t.Errorf("a: %q, want it to wait for room", got)
	}
	if s := w.pod("a").Status.ContainerStatuses; len(s) != 1 || s[0].AllocatedResources.Cpu().String() != "1" {
		t.Errorf("a has %v, want what it had", s)
	}
	w.mustResize("b", "2")
	w.settle(2 * sec)
	w.remove(replica("c", "2"))
	w.settle(3 * sec)
	if w.pending("a") != "" || w.pending("b") == "" {
		t.Errorf("a waited longer, and c left it room: a %q, b %q", w.pending("a"), w.pending("b"))
	}
	w.mustResize("a", "5")
	w.settle(4 * sec)
	if got := w.pending("a"); !strings.Contains(got, "requested: 5000, used: 1000, capacity: 4000") {
		t.Errorf("more than the node has: %q, want it deferred too, as kubelets of 1.36 do", got)
	}
}

// admit gives pods of a name other requests.
type admit map[string]string

func (a admit) Admit(_ time.Time, p *corev1.Pod) *corev1.Pod {
	cpu, ok := a[p.Name]
	if !ok {
		return p
	}
	p = p.DeepCopy()
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return p
}

// TestAdmission: new pods are changed on their way in, those that come back from what their owner made them, not from what they were changed to.
func TestAdmission(t *testing.T) {
	w := newWorld(t)
	by := admit{"a": "2"}
	w.Admit(by)
	w.add(node("n1", "4"), replica("a", "1"), replica("b", "1"))
	step := w.settle(0)
	if got := cpuOf(w.pod("a")) + cpuOf(w.pod("b")); got != "21" {
		t.Errorf("a and b ask for %s, want 2 and 1", got)
	}
	if len(step.Fed) != 1 || step.Fed[0].Object.GetName() != "a" {
		t.Errorf("the step says %v, want that a asks for something else", step.Fed)
	}
	delete(by, "a")
	w.mustEvict("a")
	w.settle(1 * sec)
	if got := cpuOf(w.pod("a")); got != "1" {
		t.Errorf("the next a asks for %s, want 1: nobody changed it this time", got)
	}
}

// TestTakenRequests: recorded changes of requests are no causes where a controller sets them; others of the same pod are.
func TestTakenRequests(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "4"), replica("a", "1"))
	w.settle(0)
	ref := w.theOnly().WorkloadRef
	if err := w.TakeRequests("vpa", ref); err != nil {
		t.Fatal(err)
	}
	if err := w.TakeRequests("other", ref); err == nil || !strings.Contains(err.Error(), "belong to vpa already") {
		t.Errorf("a second controller takes them: %v", err)
	}
	recorded := replica("a", "3")
	recorded.Labels = maps.Clone(recorded.Labels)
	recorded.Labels["version"] = "2"
	w.update(recorded)
	w.settle(1 * sec)
	if p := w.pod("a"); cpuOf(p) != "1" || p.Labels["version"] != "2" {
		t.Errorf("a asks for %s with labels %v, want what the controller left it at", cpuOf(p), p.Labels)
	}
}

// TestLives: a pod is ready when it has started; a container that is killed starts again at once, then ever later, and at once again when it has run
// for ten minutes.
func TestLives(t *testing.T) {
	const startUp = 20 * time.Second
	w := worldWith(t, virtual.Options{Termination: func(*corev1.Pod) time.Duration { return 0 }, StartUp: func(*corev1.Pod) time.Duration { return startUp }})
	w.add(node("n1", "4"), replica("a", "1"))
	w.settle(0)
	a := scalehist.NameOf(replica("a", "1"))
	ready := func() bool { return podutil.IsPodReady(w.pod("a")) }
	if ready() {
		t.Error("a is ready before it has started")
	}
	next, _ := w.Next()
	if w.settle(next.Sub(w.start)); !ready() || next.Sub(w.start) != startUp {
		t.Errorf("a is to be ready after %s, want %s: %v", next.Sub(w.start), startUp, ready())
	}
	at := time.Minute
	var waits []time.Duration
	kill := func() {
		w.settle(at)
		status, err := w.KillContainer(t.Context(), a, "c")
		if err != nil {
			t.Fatal(err)
		}
		if ready() || status.State.Waiting == nil || status.LastTerminationState.Terminated.Reason != "OOMKilled" || int(status.RestartCount) != len(waits)+1 {
			t.Errorf("after the kill: ready %v, %+v", ready(), status)
		}
		restart, _ := w.Next()
		waits = append(waits, restart.Sub(w.start)-at)
		w.settle(restart.Sub(w.start))
		if ready() {
			t.Error("it is ready before it has started again")
		}
		at = restart.Sub(w.start) + startUp
		if w.settle(at); !ready() {
			t.Error("it has started again, and is not ready")
		}
	}
	for range 7 {
		kill()
	}
	at += 11 * time.Minute
	kill()
	if diff := cmp.Diff("[1s 10s 20s 40s 1m20s 2m40s 5m0s 1s]", fmt.Sprint(waits)); diff != "" {
		t.Errorf("waits until the container starts again (-want +got):\n%s", diff)
	}
}

// TestKilledForGood: a pod that nobody restarts has failed, and holds no room.
func TestKilledForGood(t *testing.T) {
	w := newWorld(t)
	once := pod("a", "3")
	once.Spec.RestartPolicy = corev1.RestartPolicyNever
	w.add(node("n1", "4"), once)
	w.settle(0)
	if _, err := w.KillContainer(t.Context(), scalehist.NameOf(once), ""); err != nil {
		t.Fatal(err)
	}
	w.add(pod("b", "3"))
	w.settle(1 * sec)
	if diff := cmp.Diff(map[string]string{"a": "Failed@n1", "b": "Running@n1"}, w.pods()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if _, err := w.KillContainer(t.Context(), scalehist.NameOf(once), ""); err == nil {
		t.Error("a container was killed twice")
	}
}

// TestResizeAnnotations: what a controller notes on a pod changes with its resources, and also where they are what they were.
func TestResizeAnnotations(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "8"), replica("a", "1"))
	w.settle(0)
	running := func() *corev1.Pod {
		for _, p := range w.theOnly().Pods {
			return p.DeepCopy()
		}
		t.Fatal("there is no pod")
		return nil
	}
	resize := func(cpu, note string) {
		t.Helper()
		p := running()
		p.Annotations = map[string]string{"note": note}
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
		if err := w.Resize(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if got := running(); got.Annotations["note"] != note || got.Spec.Containers[0].Resources.Requests.Cpu().String() != cpu {
			t.Errorf("note %q and %s of CPU, want %q and %s", got.Annotations["note"], got.Spec.Containers[0].Resources.Requests.Cpu(), note, cpu)
		}
	}
	resize("2", "more")
	resize("2", "the same")
	if n := len(w.settle(1 * sec).Fed); n != 1 {
		t.Errorf("the step has %d resizes, want the one of resources", n)
	}
}
