package emulate

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Process measures this process by /proc/self (proc_pid_stat(5), proc_pid_statm(5)): CPU in ticks of 10 ms, and resident memory.
type Process struct{}

// tick is the unit of times in /proc: USER_HZ is 100 on every architecture of Linux that Go runs on.
const tick = 10 * time.Millisecond

// Read implements Meter.
func (Process) Read() (time.Duration, int64, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, 0, err
	}
	return parseProcess(string(stat), string(statm), int64(os.Getpagesize()))
}

func parseProcess(stat, statm string, page int64) (time.Duration, int64, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // the name before it may have spaces
	pages := strings.Fields(statm)
	if len(fields) < 13 || len(pages) < 2 {
		return 0, 0, fmt.Errorf("/proc/self: %q, %q: fields are missing", stat, statm)
	}
	var numbers [3]int64
	for i, text := range []string{fields[11], fields[12], pages[1]} { // utime, stime, resident
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/self: %w", err)
		}
		numbers[i] = n
	}
	return time.Duration(numbers[0]+numbers[1]) * tick, numbers[2] * page, nil
}

// Tree measures this process and all that it started, by /proc: CPU of those that have ended too, and the resident memory of this process with the
// share that the others have of theirs (Pss: pages that several of them have count once).
type Tree struct{}

// Read implements Meter.
func (Tree) Read() (time.Duration, int64, error) {
	_, memory, err := Process{}.Read()
	if err != nil {
		return 0, 0, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, 0, err
	}
	type process struct {
		parent int
		cpu    time.Duration
	}
	all := map[int]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		parent, cpu, err := parseFamily(string(stat))
		if err != nil {
			return 0, 0, err
		}
		all[pid] = process{parent, cpu}
	}
	var total time.Duration
	self := os.Getpid()
	for pid, p := range all {
		above := pid
		for above != self && all[above].parent > 0 {
			above = all[above].parent
		}
		if above != self {
			continue
		}
		total += p.cpu
		if pid != self {
			memory += pss(pid)
		}
	}
	return total, memory, nil
}

// parseFamily is the parent of a process, and its CPU time with that of its children that have ended.
func parseFamily(stat string) (parent int, cpu time.Duration, err error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return 0, 0, fmt.Errorf("/proc: %q: fields are missing", stat)
	}
	for i, text := range append([]string{fields[1]}, fields[11:15]...) { // utime, stime, cutime, cstime
		n, err := strconv.Atoi(text)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc: %w", err)
		}
		if i == 0 {
			parent = n
		} else {
			cpu += time.Duration(n) * tick
		}
	}
	return parent, cpu, nil
}

// pss is the memory of a process in bytes, with its share of what others have too; 0 of one that has ended.
func pss(pid int) int64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Pss:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// Cgroup measures the container that this process is in by files of cgroup v2: all of its CPU, and the working set as kubelets report it, which
// is memory without what the kernel would give up first.
type Cgroup struct{ Dir string }

// Read implements Meter.
func (c Cgroup) Read() (time.Duration, int64, error) {
	usec, err := c.key("cpu.stat", "usage_usec")
	if err != nil {
		return 0, 0, err
	}
	inactive, err := c.key("memory.stat", "inactive_file")
	if err != nil {
		return 0, 0, err
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, "memory.current"))
	if err != nil {
		return 0, 0, err
	}
	current, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return time.Duration(usec) * time.Microsecond, max(0, current-inactive), err
}

// key reads "KEY NUMBER" of a file.
func (c Cgroup) key(file, key string) (int64, error) {
	text, err := os.ReadFile(filepath.Join(c.Dir, file))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", filepath.Join(c.Dir, file), key)
}
