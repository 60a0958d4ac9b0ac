package harness_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/memory"
)

// boot starts an empty control plane.
func boot(ctx context.Context, plane string) (kvcl.ControlPlane, error) {
	if plane == harness.Memory {
		return memory.Start(ctx, memory.Options{Now: workload.Epoch, Recall: true}) // as replays do
	}
	return kvcl.Start(ctx, kvcl.Options{Now: workload.Epoch})
}

// BenchmarkBoot is from nothing to the first Settle of an empty cluster.
func BenchmarkBoot(b *testing.B) {
	onPlanes(b, false, func(b *testing.B, plane string) {
		s := sums{}
		for b.Loop() {
			p, err := boot(b.Context(), plane)
			if err != nil {
				b.Fatal(err)
			}
			_, err = p.Settle(b.Context(), workload.Epoch)
			b.StopTimer()
			if err = errors.Join(err, p.Close()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		s.report(b)
	})
}

// BenchmarkBulk creates nodes and pods at once and has all pods bound; the boot does not count.
func BenchmarkBulk(b *testing.B) {
	for _, size := range []struct {
		nodes, pods int
		long        bool
	}{{500, 5_000, false}, {1_000, 20_000, true}} {
		b.Run(fmt.Sprintf("nodes=%d/pods=%d", size.nodes, size.pods), func(b *testing.B) {
			changes := bulk(size.nodes, size.pods)
			onPlanes(b, size.long, func(b *testing.B, plane string) {
				s := sums{}
				for b.Loop() {
					b.StopTimer()
					freshPeak()
					p, err := boot(b.Context(), plane)
					if err != nil {
						b.Fatal(err)
					}
					cpu := cpuSeconds()
					b.StartTimer()
					err = p.Apply(b.Context(), changes)
					var settled kvcl.Settled
					if err == nil {
						settled, err = p.Settle(b.Context(), workload.Epoch)
					}
					b.StopTimer()
					s["cpu-s/op"] += cpuSeconds() - cpu
					s.plane(p)
					if err = errors.Join(err, p.Close()); err != nil {
						b.Fatal(err)
					}
					if len(settled.Bindings) != size.pods {
						b.Fatalf("%d pods are bound, want %d", len(settled.Bindings), size.pods)
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(size.pods)*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
				s.report(b)
			})
		})
	}
}

// plane takes the split of the wall time and the peak memory of all processes from a control plane.
func (s sums) plane(p kvcl.ControlPlane) {
	if p, ok := p.(interface{ Stats() kvcl.Stats }); ok {
		s["apply-s/op"] += p.Stats().Apply.Seconds()
		s["schedule-s/op"] += p.Stats().Schedule.Seconds()
	}
	peaks := map[string]int64{"self": ownPeak()}
	if p, ok := p.(interface{ PeakMemory() map[string]int64 }); ok {
		for name, bytes := range p.PeakMemory() {
			peaks[name] = bytes
		}
	}
	s["peak-MB/op"] += megabytes(peaks)
	debug.FreeOSMemory()
}

// bulk is nodes of 16 cpu in three zones, and pods of one shape that ask for a tenth of a cpu.
func bulk(nodes, pods int) []scalehist.Change {
	out := make([]scalehist.Change, 0, nodes+pods+1)
	add := func(o scalehist.Object) {
		out = append(out, scalehist.Change{At: workload.Epoch, Op: scalehist.OpAdd, Object: o})
	}
	add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}})
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		add(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("z%d", i%3),
			}},
			Status: corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(workload.Epoch),
			}}},
		})
	}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
	}}}}
	for i := range pods {
		name := fmt.Sprintf("pod-%d", i)
		add(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(workload.Epoch.Add(time.Duration(i) * time.Microsecond)),
			},
			Spec: spec,
		})
	}
	return out
}
