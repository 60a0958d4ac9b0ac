package harness_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/recorder/history"
)

// BenchmarkOpenB100 replays the performance yardstick, boot included: 1,067 pods of a published trace on 8 node groups
// from zero, and two minutes more, in which the nodes join and take the pods. Its metrics split the wall time of one
// replay, and add up the peak memory of all processes.
func BenchmarkOpenB100(b *testing.B) {
	log := filepath.Join("..", "..", "shared", "recordings", "openb-100.jsonl.gz")
	f, err := os.Open(log)
	if os.IsNotExist(err) {
		b.Skipf("%s is not there: the recording is not part of the project", log)
	}
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "openb-100.db")
	_, err = history.Import(b.Context(), f, path, history.ImportOptions{Name: "openb-100"})
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		b.Fatal(err)
	}
	sums := map[string]float64{}
	for b.Loop() {
		r, err := harness.NewReplayer(b.Context(), path, harness.WithAutoscaler(engines.ClusterAutoscaler()))
		if err != nil {
			b.Fatal(err)
		}
		report, err := r.Replay(b.Context(), r.RecordDuration()+2*time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
		if n := len(report.End.ScheduledPods); n < 1000 {
			b.Fatalf("only %d pods have a node at the end", n)
		}
		for phase, s := range report.Run.WallTime {
			sums[phase+"-s/op"] += s
		}
		var memory int64
		for _, bytes := range report.Run.PeakMemory {
			memory += bytes
		}
		sums["peak-MB/op"] += float64(memory >> 20)
	}
	for name, sum := range sums {
		b.ReportMetric(sum/float64(b.N), name)
	}
}
