package virtual_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/scalehist/scalehist/internal/realprogram/realtest"
)

// program is somebody else's client of the API server.
func (w *world) program() kubernetes.Interface {
	w.t.Helper()
	c, ok := shared.Client()
	if !ok {
		w.t.Fatal("the control plane has no API server")
	}
	return c
}

// absorb waits until there is something to take over: what others write comes by watches.
func (w *world) absorb(at time.Duration) {
	w.t.Helper()
	realtest.Eventually(w.t, "nothing was absorbed", func() bool { return w.Absorb(w.start.Add(at)) })
}

func (w *world) evictAs(grace int64, names ...string) {
	w.t.Helper()
	for _, name := range names {
		err := w.program().CoreV1().Pods("default").EvictV1(w.t.Context(), &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &grace},
		})
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestAbsorbsEvictionsOfOthers(t *testing.T) {
	w := slowWorld(t)
	w.add(node("n1", "4"), node("n2", "4"))
	w.add(on(replica("a", "1"), "n1"), on(pod("bare", "1"), "n1"))
	w.settle(0)
	if w.Absorb(w.start) {
		t.Error("there was nothing to absorb")
	}
	if _, err := w.program().CoreV1().Nodes().Patch(t.Context(), "n1", types.StrategicMergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.absorb(0)
	w.evictAs(30, "a")
	w.absorb(0)
	w.evictAs(30, "bare")
	w.absorb(0)
	step := w.settle(1 * sec)
	// Who asked looks for the name to see whether the pod has stopped.
	w.want(map[string]string{"a": "Running@n1", "bare": "Running@n1"})
	if len(step.Returned) != 0 {
		t.Errorf("%v came back while they were stopping", step.Returned)
	}
	if at, ok := w.Next(); !ok || !at.Equal(w.start.Add(2*sec)) {
		t.Errorf("the next thing happens at %s, %t: want after two seconds", at.Sub(w.start), ok)
	}
	step = w.settle(2 * sec)
	if diff := cmp.Diff([]types.NamespacedName{key("a")}, step.Returned); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	w.want(map[string]string{"a": "Running@n2"})
}

func TestAbsorbsEndsWithinTheGraceGiven(t *testing.T) {
	w := slowWorld(t)
	w.add(node("n1", "4"))
	w.add(on(replica("a", "1"), "n1"), on(replica("b", "1"), "n1"), on(replica("c", "1"), "n1"))
	w.settle(0)
	w.evictAs(0, "a") // gone at once
	w.absorb(0)
	w.evictAs(1, "b")
	w.absorb(0)
	w.evictAs(30, "c")
	w.absorb(0)
	w.remove(pod("c", "1")) // the workload gives it up meanwhile
	step := w.settle(1 * sec)
	if diff := cmp.Diff([]types.NamespacedName{key("a"), key("b")}, step.Returned); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	w.add(on(replica("c", "1"), "n1")) // and makes another before the old one has stopped
	if step = w.settle(5 * sec); len(step.Returned) != 0 {
		t.Errorf("%v came back", step.Returned)
	}
	w.want(map[string]string{"a": "Running@n1", "b": "Running@n1", "c": "Running@n1"})
}

func TestAbsorbedTaintsOutlastRecordedChanges(t *testing.T) {
	w := newWorld(t)
	w.add(node("n1", "4"), daemonSet("agent", "100m", nil))
	w.settle(0)
	mark := corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Value: "1", Effect: corev1.TaintEffectNoSchedule}
	n, err := w.program().CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.Spec.Taints, n.Spec.Unschedulable = []corev1.Taint{mark}, true
	if _, err := w.program().CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.absorb(0)
	recorded := node("n1", "4")
	recorded.Labels["rack"] = "7"
	w.update(recorded)
	w.add(replica("a", "1"))
	w.evictAs(0, "agent-n1")
	w.absorb(0)
	w.settle(1 * sec)
	w.want(map[string]string{"a": "Pending@"}) // the tainted node takes neither it nor its agent
	got := objects(w.Cluster.Objects().Nodes)[0].(*corev1.Node)
	want := corev1.NodeSpec{Taints: []corev1.Taint{mark}, Unschedulable: true}
	if diff := cmp.Diff(want, got.Spec); diff != "" || got.Labels["rack"] != "7" {
		t.Errorf("labels %v, spec (-want +got):\n%s", got.Labels, diff)
	}
	if _, err := w.program().CoreV1().Nodes().Patch(t.Context(), "n1", types.StrategicMergePatchType, []byte(`{"spec":{"taints":null,"unschedulable":false}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.absorb(1 * sec)
	w.settle(2 * sec)
	w.want(map[string]string{"a": "Running@n1", "agent-n1": "Running@n1"})
}
