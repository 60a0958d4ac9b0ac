package recorder

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist/recorder/history"
)

// TestUsage: what containers use is recorded at the instant it was measured, once; while the metrics API is not there
// that is a gap and not the end.
func TestUsage(t *testing.T) {
	t.Parallel() // it has a cluster of its own
	cfg, dyn, _ := anotherCluster(t)
	path := filepath.Join(t.TempDir(), "h.db")
	rec := record(t, cfg, Options{Path: path, Usage: time.Second})
	eventually(t, "the missing API is trouble", func() bool { return rec.Stats().Trouble != "" })
	metrics := serve(t, dyn, "metrics.k8s.io", "v1beta1", "PodMetrics", "pods")
	must[*unstructured.Unstructured](t)(dyn.Resource(metrics).Namespace("default").Create(t.Context(), parse(t, `
apiVersion: metrics.k8s.io/v1beta1
kind: PodMetrics
metadata: {name: web}
timestamp: "2026-01-02T03:04:05Z"
window: 15s
containers:
- {name: main, usage: {cpu: 1500m, memory: 64Mi}}
- {name: sidecar, usage: {cpu: 100n, memory: "1000"}}
`), metav1.CreateOptions{}))
	eventually(t, "two scrapes", func() bool { return rec.scraping.usages.Load() >= 4 })
	rec.flush()
	rec.end()
	db := open(t, path)
	var got []string
	for u, err := range db.Usages(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %s %d %d", u.At.Format(time.RFC3339), u.Pod, u.Container, u.CPUMilli, u.MemoryBytes))
	}
	want := []string{"2026-01-02T03:04:05Z default/web main 1500 67108864", "2026-01-02T03:04:05Z default/web sidecar 1 1000"}
	if !slices.Equal(want, got) {
		t.Errorf("usage %q, want %q", got, want)
	}
	gaps, err := db.Gaps(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(gaps, func(g history.Gap) bool { return slices.Equal(g.Kinds, []string{UsageKind}) }) {
		t.Errorf("gaps %+v, want one of %s", gaps, UsageKind)
	}
}
