package vertical

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

var shop = Workload{Namespace: "shop", Name: "web", Containers: []string{"app", "side"}}

// made is the recommender of a spec for a workload.
func made(t interface {
	Helper()
	Fatal(args ...any)
}, spec string, w Workload) Recommender {
	t.Helper()
	s, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Maker(w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ask is what a recommender recommends.
func ask(t interface {
	Helper()
	Fatal(args ...any)
	Context() context.Context
}, r Recommender, now time.Time) []Recommendation {
	t.Helper()
	list, err := r.Recommend(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// feed observes one container of one pod, a sample a minute.
func feed(t *testing.T, r Recommender, minutes int, usage func(minute int) Amount) time.Time {
	t.Helper()
	for m := range minutes {
		if err := r.Observe(Sample{At: start.Add(time.Duration(m) * time.Minute), Pod: "web-0", Container: "app", Usage: usage(m)}); err != nil {
			t.Fatal(err)
		}
	}
	return start.Add(time.Duration(minutes) * time.Minute)
}

func steady(cpu, memory int64) func(int) Amount {
	return func(int) Amount { return Amount{cpu, memory} }
}

// drawSamples draws the life of some pods with both containers: a sample every few minutes, in order.
func drawSamples(t *rapid.T) []Sample {
	var out []Sample
	at := start
	for range rapid.IntRange(1, 120).Draw(t, "samples") {
		at = at.Add(time.Duration(rapid.IntRange(1, 240).Draw(t, "minutes")) * time.Minute)
		s := Sample{At: at, Pod: fmt.Sprintf("web-%d", rapid.IntRange(0, 2).Draw(t, "pod")), Container: rapid.SampledFrom(shop.Containers).Draw(t, "container"),
			Usage: Amount{rapid.Int64Range(1, 4000).Draw(t, "cpu"), rapid.Int64Range(1, 4<<30).Draw(t, "memory")}}
		out = append(out, s)
	}
	return out
}

// pod is a pod that runs since an age, with one container "app".
func pod(name string, now time.Time, age time.Duration, requests, limits Amount) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: "app",
			Resources: corev1.ResourceRequirements{Requests: requests.List(), Limits: limits.List()}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(metav1.NewTime(now.Add(-age)))},
	}
}

func quantity(text string) resource.Quantity { return resource.MustParse(text) }
