package memory_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/contract"
	"github.com/scalehist/scalehist/harness/kvcl/memory"
)

func start(t *testing.T) *memory.Plane {
	t.Helper()
	m, err := memory.Start(t.Context(), memory.Options{Now: contract.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestStartNeedsATime(t *testing.T) {
	if _, err := memory.Start(t.Context(), memory.Options{}); err == nil || !strings.Contains(err.Error(), "Options.Now") {
		t.Errorf("error %v, want one that names Options.Now", err)
	}
}

// watchedPlane keeps what Cluster showed, and copies of it.
type watchedPlane struct {
	kvcl.ControlPlane
	shown, copies []scalehist.Object
}

func (w *watchedPlane) Objects() *scalehist.Objects {
	o := w.ControlPlane.Objects()
	for _, obj := range o.All() {
		w.shown = append(w.shown, obj)
		w.copies = append(w.copies, obj.DeepCopyObject().(scalehist.Object))
	}
	return o
}

// TestNothingIsChangedInPlace: objects are shared between the registries, the scheduler and the caller, so an object that was
// shown must stay what it was.
func TestNothingIsChangedInPlace(t *testing.T) {
	w := &watchedPlane{ControlPlane: start(t)}
	contract.Program(t, w, 7)
	if len(w.shown) < 500 {
		t.Fatalf("only %d objects were shown", len(w.shown))
	}
	for i, obj := range w.shown {
		if !equality.Semantic.DeepEqual(obj, w.copies[i]) {
			t.Fatalf("%T %s changed after it was shown (-then +now):\n%s", obj, obj.GetName(), cmp.Diff(w.copies[i], obj))
		}
	}
}

// TestCallersKeepTheirObjects: what was applied may be changed afterwards, and is not changed by the plane.
func TestCallersKeepTheirObjects(t *testing.T) {
	m := start(t)
	rl := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("10")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "1"}}, Status: corev1.NodeStatus{Allocatable: rl, Capacity: rl}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", Labels: map[string]string{"a": "1"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	before := pod.DeepCopy()
	if err := m.Apply(t.Context(), []scalehist.Change{{Op: scalehist.OpAdd, Object: node}, {Op: scalehist.OpAdd, Object: pod}}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, pod); d != "" {
		t.Errorf("Apply changed its argument:\n%s", d)
	}
	node.Labels["a"], pod.Labels["a"], pod.Spec.Containers[0].Image = "2", "2", "other"
	if _, err := m.Settle(t.Context(), contract.Now.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	o := m.Objects()
	if got := o.Nodes[0].Labels["a"] + o.Pods[0].Labels["a"] + o.Pods[0].Spec.Containers[0].Image; got != "11i" {
		t.Errorf("got %q, want what was applied", got)
	}
}

// TestManyAtOnce: a process runs many, which know nothing of each other, and all come to the same.
func TestManyAtOnce(t *testing.T) {
	want := contract.Program(t, start(t), 3)
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(want, contract.Program(t, start(t), 3)); d != "" {
				t.Errorf("(-alone +beside others):\n%s", d)
			}
		})
	}
}

// TestSettleEndsWithItsContext: Ctrl-C in the middle of many pods.
func TestSettleEndsWithItsContext(t *testing.T) {
	m := start(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if err := m.Apply(t.Context(), []scalehist.Change{{Op: scalehist.OpAdd, Object: pod}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Settle(ctx, contract.Now.Add(time.Second)); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("error %v, want the context's", err)
	}
}
