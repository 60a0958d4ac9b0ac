package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are all runs of all benchmarks, in the order of the first run of each.
type results struct {
	// notes are the lines "# key: value" and go test's own "cpu: ...", "goos: ...".
	notes []note
	names []name
	runs  map[name][]map[string]float64 // by unit
	// in names the package of each.
	in map[name]string
}

type note struct{ key, value string }

// name is a benchmark without the number of processors, and the plane it ran on, "" if it is of none.
type name struct{ base, plane string }

var (
	noteLine = regexp.MustCompile(`^(?:# )?([a-z][a-z ]*): +(.+)$`)
	planeIn  = regexp.MustCompile(`/plane=([^/]+)`)
	procs    = regexp.MustCompile(`-\d+$`)
)

// read takes in the output of one or more `go test -bench`.
func (r *results) read(in io.Reader) error {
	if r.runs == nil {
		r.runs, r.in = map[name][]map[string]float64{}, map[name]string{}
	}
	pkg := ""
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.HasPrefix(line, "Benchmark") {
			if err := r.result(line, pkg); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
			continue
		}
		if m := noteLine.FindStringSubmatch(line); m != nil {
			if m[1] == "pkg" {
				pkg = path.Base(m[2])
				continue
			}
			if next := (note{m[1], m[2]}); !slices.Contains(r.notes, next) {
				r.notes = append(r.notes, next)
			}
		}
	}
	return lines.Err()
}

// result reads "BenchmarkX/plane=memory-4  1  98569122530 ns/op  6.5 apply-s/op".
func (r *results) result(line, pkg string) error {
	fields := strings.Fields(line)
	if len(fields) < 4 || strings.Trim(fields[1], "0123456789") != "" {
		return nil // the name alone (go test -v, or a benchmark that was left out), or what the benchmark itself printed
	}
	full := procs.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
	var n name
	if m := planeIn.FindStringSubmatch(full); m != nil {
		n.plane = m[1]
	}
	n.base = planeIn.ReplaceAllString(full, "")
	run := map[string]float64{}
	for i := 2; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return fmt.Errorf("%s: %q is no number", fields[0], fields[i])
		}
		run[fields[i+1]] = v
	}
	if len(r.runs[n]) == 0 {
		r.names = append(r.names, n)
		r.in[n] = pkg
	}
	r.runs[n] = append(r.runs[n], run)
	return nil
}

// sample is what the runs of a benchmark say of one unit.
type sample struct {
	low, median, high float64
	n                 int
}

func (r *results) sample(n name, unit string) (sample, bool) {
	var values []float64
	for _, run := range r.runs[n] {
		if v, ok := run[unit]; ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return sample{}, false
	}
	slices.Sort(values)
	mid := values[len(values)/2]
	if len(values)%2 == 0 {
		mid = (values[len(values)/2-1] + mid) / 2
	}
	return sample{low: values[0], median: mid, high: values[len(values)-1], n: len(values)}, true
}

// seconds is the wall time of one operation.
func (r *results) seconds(n name) (sample, bool) {
	s, ok := r.sample(n, "ns/op")
	return sample{s.low / 1e9, s.median / 1e9, s.high / 1e9, s.n}, ok
}

// bases are the benchmarks that have planes, or that have none, in order.
func (r *results) bases(planes bool) []string {
	var out []string
	for _, n := range r.names {
		if (n.plane != "") == planes && !slices.Contains(out, n.base) {
			out = append(out, n.base)
		}
	}
	return out
}

// planes are the names of the planes there are, in order of first sight.
func (r *results) planes() []string {
	var out []string
	for _, n := range r.names {
		if n.plane != "" && !slices.Contains(out, n.plane) {
			out = append(out, n.plane)
		}
	}
	return out
}

// heapDays are the units heap-MB-day1, heap-MB-day2 ... of a benchmark, in order of days.
func (r *results) heapDays(n name) []string {
	const prefix = "heap-MB-day"
	var out []string
	for unit := range r.runs[n][0] {
		if strings.HasPrefix(unit, prefix) {
			out = append(out, unit)
		}
	}
	day := func(unit string) int { n, _ := strconv.Atoi(strings.TrimPrefix(unit, prefix)); return n }
	slices.SortFunc(out, func(a, b string) int { return cmp.Compare(day(a), day(b)) })
	return out
}
