package kvcl

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Stats is what a virtual cluster cost so far.
type Stats struct {
	// Boot, Apply and Schedule are wall-clock time.
	Boot, Apply, Schedule time.Duration
	// PIDs of the children, by name: kube-apiserver, etcd.
	PIDs map[string]int
}

// Stats returns the cost so far.
func (e *EnvTest) Stats() Stats {
	spent := e.plane.Stats()
	s := Stats{Boot: e.boot, Apply: spent.Apply, Schedule: spent.Schedule, PIDs: map[string]int{}}
	for name, link := range e.procs.links {
		s.PIDs[name] = e.procs.home.PID(link)
	}
	return s
}

// PeakMemory is the peak resident memory of the children in bytes, by name; empty where /proc does not say.
func (e *EnvTest) PeakMemory() map[string]int64 {
	peak := map[string]int64{}
	for name, pid := range e.Stats().PIDs {
		if n := highWater(pid); n > 0 {
			peak[name] = n
		}
	}
	return peak
}

func highWater(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if f := strings.Fields(rest); len(f) == 2 {
				n, _ := strconv.ParseInt(f[0], 10, 64)
				return n << 10
			}
		}
	}
	return 0
}
