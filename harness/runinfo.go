package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/load"
)

// stopwatch measures where wall-clock time goes. It is the one place of the package that reads the wall clock, and
// what it says only ever reaches the report's run section.
type stopwatch struct {
	started time.Time
	spent   map[string]time.Duration
}

func newStopwatch() *stopwatch {
	return &stopwatch{started: time.Now(), spent: map[string]time.Duration{}} //nolint:forbidigo // see above
}

// time starts a phase and returns what ends it.
func (s *stopwatch) time(phase string) func() {
	from := time.Now()                                   //nolint:forbidigo // see stopwatch
	return func() { s.spent[phase] += time.Since(from) } //nolint:forbidigo // see stopwatch
}

func (r *run) runInfo() *scalehist.RunInfo {
	info := r.watch.runInfo(r.opts.ControlPlane)
	if p, ok := r.plane.(interface{ PeakMemory() map[string]int64 }); ok {
		for name, bytes := range p.PeakMemory() {
			info.PeakMemory[name] = bytes
		}
	}
	return info
}

// runInfo is of a playback whose clusters are in memory, whatever else is chosen.
func (p *snapshotPlayback) runInfo() *scalehist.RunInfo { return p.watch.runInfo(Memory) }

func (s *stopwatch) runInfo(plane string) *scalehist.RunInfo {
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

// nodeFaultList is nil for none, so that it is left out of the hash.
func nodeFaultList(f []trace.NodeFault) any {
	if len(f) == 0 {
		return nil
	}
	return f
}

// inputs are the hashes of what went in: the recording's, and of the settings and options that shape a replay.
func (r *run) inputs() []scalehist.InputHash {
	scenario := struct {
		Engine     string
		Start, End time.Time
		Batch      scalehist.Duration
		Flags      []string
		Settings   scalehist.CASettings
		Faults     any
		NodeFaults any   `json:",omitempty"`
		Seed       int64 `json:",omitempty"`
		Delays     map[string]time.Duration
		Default    *time.Duration
		Deletion   *time.Duration
		Bounds     map[string][2]int
		Prices     any
		Scoring    string
		// What controllers are, are configured with, and have to do.
		Controllers []string           `json:",omitempty"`
		Objects     []scalehist.Object `json:",omitempty"`
		Load        []load.Series      `json:",omitempty"`
		Speed       float64            `json:",omitempty"`
		// What is wrong with the metrics that they read.
		MetricFaults []load.Fault `json:",omitempty"`
	}{
		r.engine.Name(), r.in.Start, r.end, scalehist.Duration(r.batch), r.opts.Flags, r.ledger.FirstSettings(), r.in.Faults, nodeFaultList(r.in.NodeFaults), r.opts.Seed,
		r.in.ProvisionDelays, r.opts.ProvisionDelay, r.in.DeletionDelay, r.opts.bounds(), r.opts.prices, string(r.opts.Scheduler),
		r.controllerNames(), r.opts.objects, r.load, r.opts.Speed, r.in.MetricFaults,
	}
	if r.opts.recordedLoad {
		scenario.Load = nil // it is in the history
	}
	b, err := json.Marshal(scenario)
	if err != nil {
		b = []byte(err.Error()) // plain data; cannot happen, and must not hide the rest of a report
	}
	sum := sha256.Sum256(b)
	return append(append([]scalehist.InputHash{}, r.in.Hashes...),
		scalehist.InputHash{Name: "scenario", SHA256: hex.EncodeToString(sum[:])})
}
