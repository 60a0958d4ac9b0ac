//go:build unix

package recall_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

// BenchmarkBulk schedules many pods of one shape at once; owners are ReplicaSets that spread theirs.
func BenchmarkBulk(b *testing.B) {
	for _, size := range []struct{ nodes, pods int }{{100, 1_000}, {500, 5_000}, {1_000, 20_000}} {
		for _, owners := range []int{0, 1, 50} {
			for _, memory := range []string{"off", "on"} {
				b.Run(fmt.Sprintf("nodes=%d/pods=%d/owners=%d/recall=%s", size.nodes, size.pods, owners, memory), func(b *testing.B) {
					var cpu time.Duration
					for b.Loop() {
						b.StopTimer()
						w := benchWorld(b, size.nodes, memory == "on")
						for i := range size.pods {
							if err := w.put(benchPod(w, i, owners, nil)); err != nil {
								b.Fatal(err)
							}
						}
						began := cpuTime(b)
						b.StartTimer()
						w.bindAll(b, size.pods)
						b.StopTimer()
						cpu += cpuTime(b) - began
						w.Close()
						b.StartTimer()
					}
					b.ReportMetric(float64(size.pods)*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
					b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/op")
				})
			}
		}
	}
}

// BenchmarkPending schedules pods that no node takes.
func BenchmarkPending(b *testing.B) {
	const nodes, pods = 500, 1_000
	for _, memory := range []string{"off", "on"} {
		b.Run(fmt.Sprintf("nodes=%d/pods=%d/recall=%s", nodes, pods, memory), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				w := benchWorld(b, nodes, memory == "on")
				for i := range pods {
					if err := w.put(benchPod(w, i, 0, ptr.To(resource.MustParse("15")))); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.settle(b.Context()); err != nil {
					b.Fatal(err)
				}
				for i := range pods {
					if err := w.put(benchPod(w, pods+i, 0, ptr.To(resource.MustParse("15")))); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				r, err := w.settle(b.Context())
				if err != nil || len(r.Unschedulable) != pods {
					b.Fatalf("%d pods are unschedulable, want %d (%v)", len(r.Unschedulable), pods, err)
				}
				b.StopTimer()
				w.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(pods)*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
		})
	}
}

// BenchmarkDay has few pods come and go at a time.
func BenchmarkDay(b *testing.B) {
	const nodes, batches, each = 200, 500, 3
	for _, owners := range []int{0, 1} {
		for _, memory := range []string{"off", "on"} {
			b.Run(fmt.Sprintf("nodes=%d/batches=%d/owners=%d/recall=%s", nodes, batches, owners, memory), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					w := benchWorld(b, nodes, memory == "on")
					for i := range 2_000 {
						if err := w.put(benchPod(w, i, owners, nil)); err != nil {
							b.Fatal(err)
						}
					}
					w.bindAll(b, 2_000)
					b.StartTimer()
					for batch := range batches {
						for i := range each {
							name := benchPodName(batch*each + i)
							if err := w.drop(w.objects[podID(types.NamespacedName{Namespace: "default", Name: name})]); err != nil {
								b.Fatal(err)
							}
							if err := w.put(benchPod(w, 2_000+batch*each+i, owners, nil)); err != nil {
								b.Fatal(err)
							}
						}
						w.bindAll(b, each)
					}
					b.StopTimer()
					w.Close()
					b.StartTimer()
				}
				b.ReportMetric(float64(batches)*float64(b.N)/b.Elapsed().Seconds(), "batches/s")
			})
		}
	}
}

// cpuTime is what the process has used, garbage collection included: it says more than time on a busy machine.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchWorld(b *testing.B, nodes int, recall bool) *world {
	w, err := newWorld(b.Context(), crank.Options{Recall: recall})
	if err != nil {
		b.Fatal(err)
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		if err := w.put(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelTopologyZone: zones[i%3],
			}},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110"),
			}},
		}); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "default"}}); err != nil {
		b.Fatal(err)
	}
	return w
}

func benchPodName(i int) string { return fmt.Sprintf("pod-%d", i) }

func benchPod(w *world, i, owners int, cpu *resource.Quantity) *corev1.Pod {
	if cpu == nil {
		cpu = ptr.To(resource.MustParse("100m"))
	}
	name := benchPodName(i)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(now), Labels: map[string]string{"app": "none"}},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Priority: ptr.To[int32](0), Containers: []corev1.Container{{
			Name: "c", Image: "registry.example.com/web:v1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: *cpu}},
		}}},
	}
	if owners > 0 {
		app := fmt.Sprintf("app-%d", i%owners)
		pod.Labels["app"] = app
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: ptr.To(true)}}
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app, UID: types.UID(app)},
			Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
		if w.objects[id(rs)] == nil {
			if err := w.put(rs); err != nil {
				panic(err)
			}
		}
	}
	return pod
}

// bindAll settles, and wants all pods bound.
func (w *world) bindAll(b *testing.B, pods int) {
	r, err := w.settle(context.Background())
	if err != nil || len(r.Bindings) != pods {
		b.Fatalf("%d pods are bound, want %d (%v)", len(r.Bindings), pods, err)
	}
}
