package harness_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
)

// longVariable asks for the measurements on envtest that take minutes.
const longVariable = "SCALEHIST_BENCH_LONG"

// onPlanes measures on every control plane; what is long on envtest only when asked.
func onPlanes(b *testing.B, long bool, f func(b *testing.B, plane string)) {
	for _, plane := range harness.ControlPlanes {
		b.Run("plane="+plane, func(b *testing.B) {
			if plane == harness.EnvTest && long && os.Getenv(longVariable) == "" {
				b.Skipf("takes minutes: set %s=1 (make bench LONG=1)", longVariable)
			}
			f(b, plane)
		})
	}
}

// sums adds up the metrics of all operations; report divides.
type sums map[string]float64

func (s sums) report(b *testing.B) {
	for name, sum := range s {
		b.ReportMetric(sum/float64(b.N), name)
	}
	// How busy the machine was: times of a loaded machine are not those of a quiet one.
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if load, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64); err == nil {
			b.ReportMetric(load, "load1")
		}
	}
}

// cpuSeconds is what this process has used so far: it says more than the wall when the machine has other things to do. 0
// where /proc does not say.
func cpuSeconds() float64 {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100 // USER_HZ, which is 100 wherever Go runs
}

// freshPeak lets the peak of this process's memory begin again (Linux; elsewhere it is 0 anyway).
func freshPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// ownPeak is this process's peak resident set in bytes since freshPeak; 0 where /proc does not say.
func ownPeak() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// add takes the split of the wall time and the peak memory of all processes out of a report.
func (s sums) add(r *scalehist.ReplayReport) {
	for phase, seconds := range r.Run.WallTime {
		s[phase+"-s/op"] += seconds
	}
	s["peak-MB/op"] += megabytes(r.Run.PeakMemory)
}

func megabytes(peaks map[string]int64) float64 {
	var sum int64
	for _, bytes := range peaks {
		sum += bytes
	}
	return float64(sum) / (1 << 20)
}

// BenchmarkOpenB100 replays the performance yardstick, boot included: 1,067 pods of a published trace on 8 node groups
// from zero, and two minutes more, in which the nodes join and take the pods. Its metrics split the wall time of one
// replay, and add up the peak memory of all processes.
func BenchmarkOpenB100(b *testing.B) {
	path := filepath.Join("..", "fixtures", "openb-100", "recording.db")
	onPlanes(b, false, func(b *testing.B, plane string) {
		s := sums{}
		for b.Loop() {
			freshPeak()
			cpu := cpuSeconds()
			r, err := harness.NewReplayer(b.Context(), path, harness.WithAutoscaler(engines.ClusterAutoscaler()), harness.OnControlPlane(plane))
			if err != nil {
				b.Fatal(err)
			}
			report, err := r.Replay(b.Context(), r.RecordDuration()+2*time.Minute)
			if err = errors.Join(err, r.Close()); err != nil {
				b.Fatal(err)
			}
			if n := len(report.End.ScheduledPods); n < 1000 {
				b.Fatalf("only %d pods have a node at the end", n)
			}
			s["cpu-s/op"] += cpuSeconds() - cpu
			s.add(report)
		}
		s.report(b)
	})
}

// BenchmarkDay replays a generated day of 200 nodes and 20,000 pods with the virtual autoscaler.
func BenchmarkDay(b *testing.B) { benchmarkLoad(b, workload.Day()) }

// BenchmarkWeek replays a generated week of 50 nodes and 30,000 pods. Its heap after each day must not grow but by the report.
func BenchmarkWeek(b *testing.B) { benchmarkLoad(b, workload.Week()) }

func benchmarkLoad(b *testing.B, l workload.Load) {
	onPlanes(b, true, func(b *testing.B, plane string) {
		s := sums{}
		in, err := l.Input()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			freshPeak()
			before := liveHeap()
			b.StartTimer()
			cpu := cpuSeconds()
			report := replayLoad(b, in, plane, s)
			s["cpu-s/op"] += cpuSeconds() - cpu
			b.StopTimer()
			// What is left is the report.
			s["report-MB/op"] += liveHeap() - before
			checkLoad(b, l, report)
			s.add(report)
			b.StartTimer()
		}
		s.report(b)
	})
}

// replayLoad plays an input to its end, and measures the live heap after each day.
func replayLoad(b *testing.B, in *trace.Input, plane string, s sums) *scalehist.ReplayReport {
	input := *in
	day, most := 1, 0
	observe := func(_ context.Context, now time.Time) error {
		for ; !now.Before(in.Start.Add(time.Duration(day) * 24 * time.Hour)); day++ {
			b.StopTimer()
			s[fmt.Sprintf("heap-MB-day%d", day)] += liveHeap()
			writeHeap(b, day)
			b.StartTimer()
		}
		return nil
	}
	r, err := harness.NewInputReplayer(b.Context(), &input, harness.WithAutoscaler(engines.ClusterAutoscaler()), harness.OnControlPlane(plane),
		harness.WithObserver(harness.Observer{Stepped: observe}), harness.WithProgress(func(p harness.Progress) { most = max(most, p.Nodes) }))
	if err != nil {
		b.Fatal(err)
	}
	report, err := r.Replay(b.Context(), r.RecordDuration())
	if err = errors.Join(err, r.Close()); err != nil {
		b.Fatal(err)
	}
	s["nodes-peak"] += float64(most)
	return report
}

// checkLoad sees to it that the load did what it is for.
func checkLoad(b *testing.B, l workload.Load, r *scalehist.ReplayReport) {
	up, down := 0, 0
	for _, n := range r.ScaledUpNodeGroups {
		up += n
	}
	for _, n := range r.ScaledDownNodeGroups {
		down += n
	}
	if up < l.Nodes/2 || down < l.Nodes/2 {
		b.Fatalf("%d nodes came and %d went: that is no load for an autoscaler", up, down)
	}
	if n := len(r.UnschedulableAtEnd); n > l.Pods/100 {
		b.Fatalf("%d pods have no node at the end", n)
	}
}

// liveHeap is what the heap holds, in MB, once garbage is collected.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // finalizers of the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// heapVariable names a directory for a profile of the live heap after each day: what a replay holds, not what it made.
const heapVariable = "SCALEHIST_BENCH_HEAPS"

func writeHeap(b *testing.B, day int) {
	dir := os.Getenv(heapVariable)
	if dir == "" {
		return
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("heap-day%d.prof", day)))
	if err == nil {
		err = errors.Join(pprof.Lookup("heap").WriteTo(f, 0), f.Close())
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHundredReplays replays the small fixtures in turn, a hundred times, each on a cluster of its own, as many at a
// time as there are processors.
func BenchmarkHundredReplays(b *testing.B) {
	paths, err := filepath.Glob(filepath.Join("..", "fixtures", "*", "recording.db"))
	if err != nil {
		b.Fatal(err)
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { // what is long, and what other projects recorded
		name := filepath.Base(filepath.Dir(p))
		return name == "full-day" || name == "openb-100" || name == "aws-burst" || strings.HasPrefix(name, "ca-")
	})
	for _, procs := range slices.Compact([]int{2, runtime.NumCPU()}) {
		b.Run(fmt.Sprintf("procs=%d", procs), func(b *testing.B) {
			onPlanes(b, true, func(b *testing.B, plane string) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				s := sums{}
				for b.Loop() {
					freshPeak()
					cpu := cpuSeconds()
					var pods atomic.Int64
					var peak atomic.Pointer[map[string]int64]
					g, ctx := errgroup.WithContext(b.Context())
					g.SetLimit(procs)
					for i := range 100 {
						g.Go(func() error {
							report, err := replayOnce(ctx, paths[i%len(paths)], plane)
							if err != nil {
								return err
							}
							pods.Add(int64(len(report.End.ScheduledPods)))
							of := maps.Clone(report.Run.PeakMemory)
							peak.Store(&of)
							return nil
						})
					}
					if err := g.Wait(); err != nil {
						b.Fatal(err)
					}
					s["cpu-s/op"] += cpuSeconds() - cpu
					if pods.Load() == 0 {
						b.Fatal("no pod has a node")
					}
					// The last one knows the peak of this process; each of the others may have had as much in processes of its own.
					last := *peak.Load()
					own := last["scalehist"]
					delete(last, "scalehist")
					s["peak-MB/op"] += float64(own)/(1<<20) + float64(procs)*megabytes(last)
				}
				s.report(b)
			})
		})
	}
}

func replayOnce(ctx context.Context, path, plane string) (*scalehist.ReplayReport, error) {
	r, err := harness.NewReplayer(ctx, path, harness.WithAutoscaler(engines.ClusterAutoscaler()), harness.OnControlPlane(plane))
	if err != nil {
		return nil, err
	}
	report, err := r.Replay(ctx, r.RecordDuration())
	return report, errors.Join(err, r.Close())
}
