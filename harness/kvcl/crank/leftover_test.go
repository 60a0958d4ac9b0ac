package crank

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// TestLeftovers: when a pod that waits is tried again although nothing was to help it. The scheduler is asked how often it
// popped a pod, since a retry in vain is not reported.
func TestLeftovers(t *testing.T) {
	start := time.Date(2025, 3, 1, 12, 0, 10, 0, time.UTC)
	c, err := New(t.Context(), start, Options{
		Ordinal: func(types.UID) int64 { return 1 },
		Flush:   func(context.Context, []Write) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tries := 0
	pop := c.sched.NextPod
	c.sched.NextPod = func(l klog.Logger) (*framework.QueuedPodInfo, error) { tries++; return pop(l) }
	cpu := func(n int64) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(n, resource.DecimalSI), corev1.ResourcePods: resource.MustParse("110")}
	}
	node := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Capacity: cpu(1), Allocatable: cpu(1)}}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "wide", UID: "wide"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: cpu(4)}}}},
	}
	if err := c.Set(node("n-0")); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(pod); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		at    time.Duration // since start, which is ten seconds after a tick
		node  string        // one that joins before
		tries int
		news  bool
	}{
		{0, "", 1, true},
		{time.Hour, "", 1, false},                     // nothing has changed: no need to look
		{time.Hour + 10*time.Second, "n-1", 1, false}, // which counts as a try all the same
		{time.Hour + 290*time.Second, "", 1, false},   // five minutes after it
		{time.Hour + 319*time.Second, "", 1, false},
		{time.Hour + 320*time.Second, "", 2, true}, // at the next tick, with another message
		{time.Hour + 321*time.Second, "n-2", 2, false},
		{time.Hour + 620*time.Second, "", 2, false},
		{time.Hour + 655*time.Second, "", 3, true}, // at the first settle after a tick
	} {
		if step.node != "" {
			if err := c.Set(node(step.node)); err != nil {
				t.Fatal(err)
			}
		}
		c.SetNow(start.Add(step.at))
		r, err := c.Settle(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if tries != step.tries || (len(r.Unschedulable) == 1) != step.news {
			t.Errorf("+%s: %d tries, told %v; want %d, told %v", step.at, tries, r.Unschedulable, step.tries, step.news)
		}
	}
	if err := c.Remove(pod); err != nil {
		t.Fatal(err)
	}
	if n := len(c.leftovers.tries); n != 0 {
		t.Errorf("%d tries are remembered of pods that are gone", n)
	}
}
