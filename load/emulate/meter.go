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
