package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// BenchmarkPodLifetimes writes pods that come, are bound, run and go, in transactions of 100 changes as a recorder would.
// It reports changes a second and bytes a pod; see DESIGN.md, budgets.
func BenchmarkPodLifetimes(b *testing.B) {
	path := filepath.Join(b.TempDir(), "h.db")
	w := create(b, path)
	if _, err := w.Begin(b.Context(), start, nil); err != nil {
		b.Fatal(err)
	}
	var batch []history.Entry
	changes := 0
	flush := func() {
		if err := w.Write(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		changes += len(batch)
		batch = batch[:0]
	}
	i := 0
	for b.Loop() {
		name, id := fmt.Sprintf("web-%06d-%05x", i/100, i), uid(i)
		onto := bound(fmt.Sprintf("ip-10-0-0-%d.eu-west-1.compute.internal", i%200))
		d := time.Duration(i) * time.Second
		batch = append(batch,
			change(d, scalehist.OpAdd, pod(name, id)),
			change(d+time.Millisecond, scalehist.OpUpdate, pod(name, id, onto)),
			change(d+2*time.Millisecond, scalehist.OpUpdate, pod(name, id, onto, running)),
			change(d+3*time.Millisecond, scalehist.OpDelete, pod(name, id, onto, running, terminating)))
		if i++; len(batch) >= 100 {
			flush()
		}
	}
	flush()
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/float64(i), "bytes/pod")
	b.ReportMetric(float64(changes)/b.Elapsed().Seconds(), "changes/s")
}
