package crank

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestRoundEndsWithTheQueue: a round that was promised more pods than there are returns; popping would wait for ever.
func TestRoundEndsWithTheQueue(t *testing.T) {
	c, err := New(t.Context(), time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC), Options{
		Ordinal: func(types.UID) int64 { return 1 },
		Flush:   func(context.Context, []Write) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "a"}, Spec: corev1.PodSpec{SchedulerName: "another"}}
	if err := c.Set(pod); err != nil {
		t.Fatal(err)
	}
	c.failed, c.errors = map[types.NamespacedName]*failure{}, map[types.NamespacedName]int{}
	if err := c.round(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if r := c.takeResult(); len(r.Unschedulable) != 1 {
		t.Errorf("got %+v, want one pod without a node", r)
	}
	if pod.Spec.SchedulerName != "another" {
		t.Error("the object itself was changed")
	}
}
