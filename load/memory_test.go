package load

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runs is a pod of web that runs since an instant, with a request and a limit of memory.
func runs(name string, since time.Time, request, limit string) *corev1.Pod {
	started := metav1.NewTime(since)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(request)},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)},
		}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &started, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

// TestLeak: what a container uses counts from its own start, and the first one over its limit is the one that started first, until it starts again.
func TestLeak(t *testing.T) {
	leak := Series{Workload: web, Metric: Memory, Sharing: Aged, Origin: start, Points: []Point{{start, 100}, {at(time.Minute), 200}, {at(2 * time.Minute), 400}}}
	m := NewMeter([]Series{leak})
	first, second := runs("web-0", at(0), "150", "300"), runs("web-1", at(30*time.Second), "150", "150")
	m.Pods(at(0), web, []*corev1.Pod{first})
	m.Pods(at(30*time.Second), web, []*corev1.Pod{first, second})

	over, ok := m.NextOver()
	if !ok || over.Pod != "web-1" || !over.At.Equal(at(90*time.Second)) || over.Used != 200 || over.Limit != 150 {
		t.Errorf("the first over its limit: %+v, %v; want web-1 a minute after its start", over, ok)
	}
	if v, _, ok := m.Usage(at(90*time.Second), web, second, "app", Memory); !ok || v != 200 {
		t.Errorf("web-1 uses %v (%v) a minute after its start, want 200", v, ok)
	}
	waits := second.DeepCopy()
	waits.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
	m.Pods(at(90*time.Second), web, []*corev1.Pod{first, waits})
	if over, ok = m.NextOver(); !ok || over.Pod != "web-0" || !over.At.Equal(at(2*time.Minute)) {
		t.Errorf("while web-1 waits: %+v, %v; want web-0 two minutes after its start", over, ok)
	}
	again := second.DeepCopy()
	again.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(at(100 * time.Second))}}}}
	m.Pods(at(100*time.Second), web, []*corev1.Pod{again})
	if over, ok = m.NextOver(); !ok || !over.At.Equal(at(160*time.Second)) {
		t.Errorf("web-1, started again: %+v, %v; want it over a minute after that", over, ok)
	}
	bigger := again.DeepCopy()
	bigger.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	m.Pods(at(110*time.Second), web, []*corev1.Pod{bigger})
	if over, ok = m.NextOver(); ok {
		t.Errorf("with a limit of a gibibyte: %+v, want never", over)
	}
}

// TestSlack: what is requested and not used, and what is used beyond, of each replica that runs, while the demand is known.
func TestSlack(t *testing.T) {
	steady := Series{Workload: web, Metric: Memory, Sharing: Each, Points: []Point{{start, 100}, {at(10 * time.Second), 250}, {at(20 * time.Second), math.NaN()}}}
	m := NewMeter([]Series{steady})
	m.Pods(at(0), web, []*corev1.Pod{runs("web-0", at(0), "150", "300"), runs("web-1", at(0), "200", "300")})
	b := m.Balances(at(time.Minute))[0].Balance
	if want := (Balance{Requested: 2 * (1500 + 2000), Slack: 500 + 1000, Overrun: 1000 + 500, Unknown: 40}); b != want {
		t.Errorf("memory: %+v, want %+v", b, want)
	}

	cpu := Series{Workload: web, Metric: CPU, Sharing: Divided, Points: []Point{{start, 3}}}
	a := NewAccount(&cpu, Resolution)
	a.Replicas(at(0), []Replica{{Pod: "a", Ready: true, Limit: 1, Request: 0.5, Started: start}, {Pod: "b", Request: 0.5, Started: start}})
	b = a.Balance(at(10 * time.Second))
	if want := (Balance{In: 30, Served: 10, Lost: 20, Throttled: 20, Requested: 10, Slack: 5, Overrun: 5}); b != want {
		t.Errorf("cpu: %+v, want %+v: one is throttled, the other is not ready", b, want)
	}
}
