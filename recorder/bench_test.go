package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkRecord measures the way of a change from the watch into the file: 5,000 changes a second and 200 bytes per
// pod lifetime are the budgets. One operation is one pod that comes, is bound, runs and goes: four changes.
func BenchmarkRecord(b *testing.B) {
	path := filepath.Join(b.TempDir(), "h.db")
	rec := record(b, cluster, Options{Path: path})
	var pods *watched
	for _, w := range rec.watches {
		if w.kind == "Pod" {
			pods = w
		}
	}
	before := rec.Stats().Written
	b.ReportAllocs()
	b.ResetTimer()
	version := 1 << 40
	for i := range b.N {
		uid := types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", i, i))
		state := func(change func(*corev1.Pod)) *corev1.Pod {
			p := pod("load", fmt.Sprintf("web-%d", i))
			p.UID, p.CreationTimestamp = uid, metav1.NewTime(rec.now())
			p.Labels = map[string]string{"app": "web", "pod-template-hash": "5d69b7c8f4"}
			version++
			p.ResourceVersion = strconv.Itoa(version)
			change(p)
			return p
		}
		bind := func(p *corev1.Pod) {
			p.Spec.NodeName = fmt.Sprintf("node-%d", i%200)
			p.Status.Phase = corev1.PodPending
		}
		run := func(p *corev1.Pod) {
			bind(p)
			p.Status.Phase = corev1.PodRunning
		}
		for _, err := range []error{
			pods.Add(state(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })),
			pods.Update(state(bind)),
			pods.Update(state(run)),
			pods.Delete(state(run)),
		} {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := rec.commit(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	b.ReportMetric(float64(rec.Stats().Written-before)/b.Elapsed().Seconds(), "changes/s")
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "heap-MB")
	rec.end()
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/float64(b.N), "file-B/pod")
}
