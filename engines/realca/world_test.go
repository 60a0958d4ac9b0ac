package realca

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
)

// testWorld is a world over a fake API server, which deletes at once.
func testWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(ctx, fake.NewClientset(), func(err error) { t.Errorf("the run failed: %v", err) })
	if err := w.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		w.tasks.Wait()
	})
	return w
}

func (w *world) find(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	p, err := w.client.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (w *world) evict(t *testing.T, name string) {
	t.Helper()
	if err := w.client.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, w *world, op scalehist.Op, objects ...scalehist.Object) {
	t.Helper()
	for _, o := range objects {
		if err := w.apply(op, o); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEvictedPodsComeBackUntilTheWorkloadDeletesThem(t *testing.T) {
	w := testWorld(t)
	b := newBuilder("x", "")
	web := b.replicaSet("web", podShape{cpu: "1", memory: "1Gi"})
	b.placed(web, "std-1")
	apply(t, w, scalehist.OpAdd, b.s.Initial...)
	realtest.Eventually(t, "the pod does not run", func() bool { return w.find(t, "web-0").Status.Phase == corev1.PodRunning })

	w.evict(t, "web-0")
	realtest.Eventually(t, "no other pod comes", func() bool { return w.find(t, "web-r1") != nil })
	next := w.find(t, "web-r1")
	if next.Spec.NodeName != "" || next.Labels["app"] != "web" || metav1.GetControllerOf(next).Name != "web" {
		t.Errorf("the other pod is %+v", next)
	}
	// The workload deletes the demand by the name of its first pod.
	apply(t, w, scalehist.OpDelete, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web-0"}})
	realtest.Eventually(t, "the pod is still there", func() bool { return w.find(t, "web-r1") == nil })
	time.Sleep(50 * time.Millisecond) // what must not come has had its time
	if p := w.find(t, "web-r2"); p != nil {
		t.Errorf("another pod came for a demand that the workload deleted: %s", p.Name)
	}
}

func TestJobsSucceedAfterTheirTime(t *testing.T) {
	w := testWorld(t)
	b := newBuilder("x", "")
	job := b.job("crunch", podShape{cpu: "1", memory: "1Gi", runFor: 20 * time.Millisecond})
	b.placed(job, "std-1")
	b.placed(job, "std-1")
	apply(t, w, scalehist.OpAdd, b.s.Initial...)
	tidied := b.s.Initial[2].(*corev1.Pod).DeepCopy()
	tidied.Annotations[podlife.WhenDoneAnnotation] = "true"
	apply(t, w, scalehist.OpDelete, tidied)
	realtest.Eventually(t, "the first pod did not succeed", func() bool { return w.find(t, "crunch-0").Status.Phase == corev1.PodSucceeded })
	realtest.Eventually(t, "the second pod was not tidied up", func() bool { return w.find(t, "crunch-1") == nil })
	if p := w.find(t, "crunch-0"); len(p.Annotations) != 0 {
		t.Errorf("the recording would show our own annotations: %v", p.Annotations)
	}
}

func TestNodesJoinWithTheirDaemonPods(t *testing.T) {
	w := testWorld(t)
	b := newBuilder("x", "")
	b.group("std", "std-4", "z1", 0, 3, 0, time.Second)
	b.daemonSet("agent", "100m", "128Mi")
	apply(t, w, scalehist.OpAdd, b.s.Initial...)
	w.join(b.s.Groups[0], "std-1")
	node := func() *corev1.Node {
		n, err := w.client.CoreV1().Nodes().Get(t.Context(), "std-1", metav1.GetOptions{})
		if err != nil {
			return &corev1.Node{}
		}
		return n
	}
	realtest.Eventually(t, "the node was not registered NotReady", func() bool {
		n := node()
		return len(n.Spec.Taints) == 1 && n.Spec.Taints[0].Key == corev1.TaintNodeNotReady && n.Status.Conditions[0].Status == corev1.ConditionFalse
	})
	realtest.Eventually(t, "the node has no DaemonSet pod", func() bool {
		p, err := w.client.CoreV1().Pods(metav1.NamespaceSystem).Get(t.Context(), "agent-std-1", metav1.GetOptions{})
		return err == nil && p.Spec.NodeName == "std-1"
	})
	realtest.Eventually(t, "the node did not become Ready", func() bool {
		n := node()
		return len(n.Spec.Taints) == 0 && n.Status.Conditions[0].Status == corev1.ConditionTrue
	})
}
