package runinfo

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/scalehist/scalehist"
)

// Stopwatch measures where wall-clock time goes, by phase.
type Stopwatch struct {
	started time.Time
	spent   map[string]time.Duration
}

// Start starts a stopwatch.
func Start() *Stopwatch {
	return &Stopwatch{started: time.Now(), spent: map[string]time.Duration{}} //nolint:forbidigo // see doc.go
}

// Time starts a phase and returns what ends it.
func (s *Stopwatch) Time(phase string) func() {
	from := time.Now()                                   //nolint:forbidigo // see doc.go
	return func() { s.spent[phase] += time.Since(from) } //nolint:forbidigo // see doc.go
}

// Info is the run section of a report, of a replay on a control plane.
func (s *Stopwatch) Info(plane string) *scalehist.RunInfo {
	info := &scalehist.RunInfo{
		ControlPlane: plane,
		Versions:     map[string]string{"go": runtime.Version()},
		WallTime:     map[string]float64{},
		PeakMemory:   map[string]int64{"scalehist": peakMemory("self")},
		Machine:      runtime.GOOS + "/" + runtime.GOARCH + ", " + strconv.Itoa(runtime.NumCPU()) + " CPUs",
		StartedAt:    s.started.UTC(),
	}
	for phase, d := range s.spent {
		info.WallTime[phase] = d.Round(time.Millisecond).Seconds()
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, d := range b.Deps {
			if d.Path == "k8s.io/kubernetes" {
				info.Versions["kubernetes"] = d.Version
			}
		}
	}
	return info
}

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peakMemory reads a process's peak resident set, in bytes; 0 where /proc does not say.
func peakMemory(pid string) int64 {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	m := highWater.FindSubmatch(b)
	if m == nil {
		return 0
	}
	kb, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}
