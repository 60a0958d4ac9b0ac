package virtual_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

const sec = time.Second

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

func (w *world) want(want map[string]string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.pods()); diff != "" {
		w.t.Errorf("pods (-want +got):\n%s", diff)
	}
}

// TestFinitePodsFinish: a bound pod is Running at once, and finishes at the exact instant, which makes room there and then.
func TestFinitePodsFinish(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "2"), runFor(replica("job", "2"), 90*sec), replica("next", "1"))
	step := w.settle(5 * sec)
	if len(step.Bindings) != 1 || len(step.Unschedulable) != 1 {
		t.Fatalf("step %+v, want job bound and next unschedulable", step)
	}
	w.want(map[string]string{"job": "Running@n1", "next": "Pending@"})
	if at, ok := w.Next(); !ok || at != w.start.Add(95*sec) {
		t.Errorf("next %s %t, want +95s", at.Sub(w.start), ok)
	}
	if step := w.settle(95*sec - 1); len(step.Finished) != 0 {
		t.Errorf("finished %v a nanosecond early", step.Finished)
	}
	step = w.settle(95 * sec)
	if diff := cmp.Diff([]types.NamespacedName{key("job")}, step.Finished); diff != "" {
		t.Errorf("finished (-want +got):\n%s", diff)
	}
	w.want(map[string]string{"job": "Succeeded@n1", "next": "Running@n1"})
	if _, ok := w.Next(); ok {
		t.Error("there is a next finish, want none")
	}
	w.mustEvict("job")
	if step := w.settle(96 * sec); len(step.Returned) != 0 {
		t.Errorf("returned %v: a finished pod is not recreated", step.Returned)
	}
	w.want(map[string]string{"next": "Running@n1"})
}

// TestStandingPodsRunFromTheStart: the run time of a pod that has a node counts from when it is put there.
func TestStandingPodsRunFromTheStart(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "2"), runFor(on(pod("job", "1"), "n1"), 30*sec))
	w.settle(0)
	w.want(map[string]string{"job": "Running@n1"})
	w.settle(30 * sec)
	w.want(map[string]string{"job": "Succeeded@n1"})
}

func TestEvictionAndBudget(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "4"), budget("web", 2), replica("a", "1"), replica("b", "1"))
	w.settle(0)
	if got := w.allowed("web"); got != 0 {
		t.Errorf("disruptions allowed %d, want 0", got)
	}
	w.refused("a")
	w.want(map[string]string{"a": "Running@n1", "b": "Running@n1"})

	w.update(budget("web", 1))
	w.settle(1 * sec)
	if got := w.allowed("web"); got != 1 {
		t.Errorf("disruptions allowed %d, want 1", got)
	}
	before := w.pod("a").UID
	w.mustEvict("a")
	w.refused("b") // the server has counted the first eviction itself
	step := w.settle(2 * sec)
	if diff := cmp.Diff([]types.NamespacedName{key("a")}, step.Returned); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	w.want(map[string]string{"a": "Running@n1", "b": "Running@n1"})
	if now := w.pod("a"); now.UID == before || !now.CreationTimestamp.Time.Equal(w.start.Add(2*sec)) {
		t.Errorf("pod a has UID %s and was created at %s, want another pod of now", now.UID, now.CreationTimestamp)
	}
	if got := w.allowed("web"); got != 1 {
		t.Errorf("disruptions allowed %d, want 1 again", got)
	}
}

func TestOnlyControllersRecreate(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "4"), pod("bare", "1"), owned(pod("static", "1"), "Node"), runFor(owned(pod("job", "1"), "Job"), 10*sec))
	w.settle(0)
	for _, name := range []string{"bare", "static", "job"} {
		w.mustEvict(name)
	}
	w.settle(5 * sec)
	w.want(map[string]string{"job": "Running@n1"})
	if at, _ := w.Next(); at != w.start.Add(15*sec) {
		t.Errorf("the job that came back ends at +%s, want its whole time again", at.Sub(w.start))
	}
}

// TestEvictedThenDeleted: the owner was scaled down before the evicted pod was back.
func TestEvictedThenDeleted(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "4"), replica("a", "1"))
	w.settle(0)
	w.mustEvict("a")
	w.remove(replica("a", "1"))
	w.settle(1 * sec)
	w.want(map[string]string{})
}

func TestPreemptedPodComesBack(t *testing.T) {
	w := newWorld(t)
	urgent := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000}
	low := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Value: 1}
	w.add(urgent, low, node("n1", "2"), priority(replica("meek", "1"), low), priority(pod("bare", "1"), low))
	w.settle(0)
	w.add(priority(pod("bold", "2"), urgent))
	step := w.settle(1 * sec)
	if len(step.Victims) != 2 {
		t.Errorf("victims %v, want meek and bare", step.Victims)
	}
	if diff := cmp.Diff([]types.NamespacedName{key("meek")}, step.Returned); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	w.want(map[string]string{"bold": "Running@n1", "meek": "Pending@"})
	if len(step.Unschedulable) != 1 || step.Unschedulable[0].Pod != key("meek") {
		t.Errorf("unschedulable %v, want meek alone", step.Unschedulable)
	}
}

// TestNodeLeaves: its pods go with it, those of controllers come back; a pod of the same batch too.
func TestNodeLeaves(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "4"), node("n2", "1"), replica("fits", "1"))
	w.settle(0)
	w.remove(replica("fits", "1"))
	w.add(daemonSet("agent", "100m", nil), on(replica("b", "500m"), "n1"), on(pod("bare", "500m"), "n1"), on(replica("a", "500m"), "n1"))
	w.settle(1 * sec)
	err := w.Apply(t.Context(), []scalehist.Change{
		{Op: scalehist.OpAdd, Object: on(replica("late", "500m"), "n1")},
		{Op: scalehist.OpDelete, Object: node("n1", "4")},
	})
	if err != nil {
		t.Fatal(err)
	}
	step := w.settle(2 * sec)
	if diff := cmp.Diff([]types.NamespacedName{key("b"), key("a"), key("late")}, step.Returned); diff != "" {
		t.Errorf("returned, in the order they were created (-want +got):\n%s", diff)
	}
	w.want(map[string]string{"agent-n2": "Running@n2", "b": "Running@n2", "a": "Pending@", "late": "Pending@"})
	w.remove(node("n1", "4")) // twice is harmless
	w.settle(3 * sec)
}

func TestDaemonSets(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "2"))
	w.settle(0)
	w.add(daemonSet("agent", "100m", nil), daemonSet("disks", "100m", map[string]string{"disk": "n2"}), daemonSet("bystander", "1m", map[string]string{"disk": "n1"}))
	w.settle(1 * sec)
	w.want(map[string]string{"agent-n1": "Running@n1", "bystander-n1": "Running@n1"})

	w.add(node("n2", "2"))
	w.settle(2 * sec)
	want := map[string]string{"agent-n1": "Running@n1", "agent-n2": "Running@n2", "disks-n2": "Running@n2", "bystander-n1": "Running@n1"}
	w.want(want)

	// A new template rolls its pods; the others stay as they are.
	before := w.pod("bystander-n1").UID
	w.update(daemonSet("agent", "300m", nil), daemonSet("disks", "100m", map[string]string{"disk": "n1"}))
	w.settle(3 * sec)
	delete(want, "disks-n2")
	want["disks-n1"] = "Running@n1"
	w.want(want)
	if got := w.pod("agent-n2").Spec.Containers[0].Resources.Requests.Cpu().String(); got != "300m" {
		t.Errorf("agent asks for %s, want the new template's 300m", got)
	}
	if got := w.pod("bystander-n1").UID; got != before {
		t.Errorf("bystander was replaced: %s, then %s", before, got)
	}

	onDelete := daemonSet("agent", "400m", nil)
	onDelete.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	w.update(onDelete)
	w.settle(4 * sec)
	if got := w.pod("agent-n2").Spec.Containers[0].Resources.Requests.Cpu().String(); got != "300m" {
		t.Errorf("agent asks for %s, want 300m: OnDelete rolls nothing", got)
	}

	// A node that no longer matches loses its pod.
	relabelled := node("n1", "2")
	relabelled.Labels["disk"] = "n3"
	w.update(relabelled)
	w.settle(5 * sec)
	w.want(map[string]string{"agent-n1": "Running@n1", "agent-n2": "Running@n2"})

	w.remove(daemonSet("agent", "100m", nil))
	w.settle(6 * sec)
	w.want(map[string]string{})
}

// TestRecordedDaemonPodsAreLeftAlone: a node comes with the pods that were recorded with it, whatever their names.
func TestRecordedDaemonPodsAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	p := on(owned(pod("agent-x7k2p", "100m"), "DaemonSet"), "n1")
	p.OwnerReferences[0].Name = "agent"
	w.add(daemonSet("agent", "100m", nil), node("n1", "2"), p)
	w.settle(0)
	w.want(map[string]string{"agent-x7k2p": "Running@n1"})
}

func TestResizeInPlace(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "2"), node("n2", "1"), runFor(on(replica("a", "1"), "n1"), 60*sec), replica("waits", "2"))
	w.settle(0)
	resized := runFor(replica("a", "500m"), 60*sec)
	w.update(resized)
	w.settle(10 * sec)
	if p := w.pod("a"); p.Spec.NodeName != "n1" || p.Status.Phase != corev1.PodRunning || p.Spec.Containers[0].Resources.Requests.Cpu().Cmp(resource.MustParse("500m")) != 0 {
		t.Errorf("pod a is %s on %s with %s", p.Status.Phase, p.Spec.NodeName, p.Spec.Containers[0].Resources.Requests.Cpu())
	}
	if at, _ := w.Next(); at != w.start.Add(60*sec) {
		t.Errorf("a ends at +%s, want +60s as before", at.Sub(w.start))
	}
	w.settle(60 * sec)
	w.update(replica("a", "250m"))
	if step := w.settle(61 * sec); len(step.Finished) != 0 {
		t.Errorf("finished %v again", step.Finished)
	}
	w.want(map[string]string{"a": "Succeeded@n1", "waits": "Running@n1"})
}

func TestGateRemoved(t *testing.T) {
	w := newWorld(t)
	gated := runFor(replica("a", "1"), 60*sec)
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}}
	w.add(node("n1", "2"), gated)
	w.settle(0)
	w.want(map[string]string{"a": "Pending@"})
	w.update(runFor(replica("a", "1"), 60*sec))
	w.settle(10 * sec)
	w.want(map[string]string{"a": "Running@n1"})
	if at, _ := w.Next(); at != w.start.Add(70*sec) {
		t.Errorf("a ends at +%s, want +70s", at.Sub(w.start))
	}
}

func TestUnknownObjectsAreHarmless(t *testing.T) {
	w := newWorld(t)
	w.remove(pod("nobody", "1"), node("nowhere", "1"))
	w.update(pod("nobody", "1"), node("nowhere", "1"))
	w.settle(0)
	w.want(map[string]string{})
	for what, o := range map[string]scalehist.Object{"pod default/p stands on node \"nowhere\"": on(pod("p", "1"), "nowhere")} {
		if err := w.Apply(t.Context(), []scalehist.Change{{Op: scalehist.OpAdd, Object: o}}); err == nil || !contains(err.Error(), what) {
			t.Errorf("error %v, want %q", err, what)
		}
	}
	w.add(pod("twice", "1"))
	if err := w.Apply(t.Context(), []scalehist.Change{{Op: scalehist.OpAdd, Object: pod("twice", "1")}}); err == nil || !contains(err.Error(), "pod default/twice is there already") {
		t.Errorf("error %v, want one about the pod that is there", err)
	}
}

// TestCordon: a closed node takes no pods, whatever is fed in about it, until it is opened again.
func TestCordon(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "2"))
	w.settle(0)
	if err := w.Cordon(t.Context(), "n1", true); err != nil {
		t.Fatal(err)
	}
	changed := node("n1", "2")
	changed.Labels["a"] = "b"
	w.update(changed)
	w.add(pod("p", "1"))
	w.settle(1 * sec)
	if n := w.Cluster.Objects().Nodes[0]; !n.Spec.Unschedulable || n.Labels["a"] != "b" {
		t.Errorf("node: unschedulable %v, labels %v", n.Spec.Unschedulable, n.Labels)
	}
	if got := w.Cluster.Objects().Pods[0].Spec.NodeName; got != "" {
		t.Errorf("the pod is on %s", got)
	}
	if err := w.Cordon(t.Context(), "n1", false); err != nil {
		t.Fatal(err)
	}
	w.settle(2 * sec)
	if got := w.Cluster.Objects().Pods[0].Spec.NodeName; got != "n1" {
		t.Errorf("the pod is on %q, want n1", got)
	}
	if err := w.Cordon(t.Context(), "absent", true); err == nil || !contains(err.Error(), "absent") {
		t.Errorf("error %v, want one that names the node", err)
	}
}

// TestTaintsOutliveRecordedChanges: a change of labels fed in does not take off the taint the autoscaler put on.
func TestTaintsOutliveRecordedChanges(t *testing.T) {
	w := newWorld(t)
	n := node("n1", "2")
	fed := corev1.Taint{Key: "fed", Effect: corev1.TaintEffectNoSchedule}
	set := corev1.Taint{Key: "set", Effect: corev1.TaintEffectNoSchedule}
	n.Spec.Taints = []corev1.Taint{fed}
	w.add(n)
	w.settle(0)
	if err := w.SetTaints(t.Context(), "n1", []corev1.Taint{fed, set}); err != nil {
		t.Fatal(err)
	}
	taints := func() (out []string) {
		for _, taint := range w.Cluster.Objects().Nodes[0].Spec.Taints {
			out = append(out, taint.Key)
		}
		return out
	}
	changed := node("n1", "2")
	changed.Labels["a"] = "b"
	w.update(changed) // the recording took its own taint off
	w.settle(1 * sec)
	if diff := cmp.Diff([]string{"set"}, taints()); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if err := w.SetTaints(t.Context(), "n1", nil); err != nil {
		t.Fatal(err)
	}
	w.update(n)
	w.settle(2 * sec)
	if diff := cmp.Diff([]string{"fed"}, taints()); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}
