package imports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/scalehist/scalehist/internal/plural"
)

// resource is what a value is of.
type resource uint8

const (
	cpu resource = iota
	memory
	series // a metric: no usage
)

// Bounds of values that can be true; what is above has another unit than was said.
const (
	mostCores = 100_000
	mostBytes = 1 << 50
)

// lasts is for how long a value stands for what was not measured: the other resource, and the counter's next value.
const lasts = 5 * time.Minute

// inMemory is how many records are kept in memory: 24 bytes each.
const inMemory = 2_000_000

// Load is what was read.
type Load struct {
	// Folder has values that are too many for memory, "" for the system's.
	Folder string
	// MostWrong is how many wrong lines are left out before reading gives up, and Wrong has them, as FILE:LINE: TEXT.
	MostWrong int
	Wrong     []string
	// Progress is called now and then with the lines, or values, read.
	Progress func(int64)
	// Assume stands for CPU and memory of containers of which they are never measured; a value below 0: none.
	Assume [2]int64
	// Request is that of containers of which the input has none; 0: none.
	Request [2]int64
	// GoneAfter ends pods that were silent for that long at the end of the input, with their last value; 0: they stay.
	GoneAfter time.Duration

	most       int // records in memory, 0 for inMemory
	ctx        context.Context
	lines      int64
	sorted     sorter
	containers []*container
	byRef      map[ref]uint32
	series     []seriesName
	bySeries   map[string]uint32
	owners     map[[2]string]string // of pods, by namespace and name
	steps      map[int64]int        // how often values of a container are that far apart
	notes      map[string]int64
	silences   int64
	longest    [2]int64 // of the silences: when it began, and how long it is
}

// ref names a container. A Workload "" is guessed from the pod's name.
type ref struct{ namespace, workload, pod, name string }

// container is one of which something was measured.
type container struct {
	ref
	has            [2]bool
	first, last    int64 // values of usage, in nanoseconds since 1970
	before         [2]int64
	request, limit [2]int64
}

func (c *container) measured() bool { return c.has[cpu] || c.has[memory] }

type seriesName struct {
	name   string
	labels map[string]string
}

// Input is a file to read.
type Input struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// Read reads files of a format. Close must be called, whether it fails or not.
func (l *Load) Read(ctx context.Context, f Format, inputs []Input) error {
	l.ctx, l.sorted = ctx, sorter{folder: l.Folder, most: cmp.Or(l.most, inMemory)}
	l.byRef, l.bySeries, l.owners, l.steps, l.notes = map[ref]uint32{}, map[string]uint32{}, map[[2]string]string{}, map[int64]int{}, map[string]int64{}
	for _, in := range inputs {
		if err := l.readFile(f, in); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(l.containers, (*container).measured) {
		in := inputs[0].Name
		if more := len(inputs) - 1; more > 0 {
			in += " and " + plural.Of(more, "other file")
		}
		return fmt.Errorf("%s: no usage of any container: want format %s", in, f.Name)
	}
	return l.check()
}

func (l *Load) readFile(f Format, in Input) (err error) {
	r, err := in.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	one, err := l.open(in.Name, r)
	if err != nil {
		return err
	}
	return f.parse(one)
}

// Close removes what is on disk.
func (l *Load) Close() error { return l.sorted.close() }

// read notes that a line, or a value, was read.
func (l *Load) read() error {
	if l.lines++; l.lines%4096 != 0 {
		return nil
	}
	if l.Progress != nil {
		l.Progress(l.lines)
	}
	if err := l.ctx.Err(); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	return nil
}

// note counts what a reader of the result should know.
func (l *Load) note(text string) { l.notes[text]++ }

// container finds one, or takes it up.
func (l *Load) container(r ref) uint32 {
	id, ok := l.byRef[r]
	if !ok {
		id = uint32(len(l.containers))
		l.byRef[r] = id
		l.containers = append(l.containers, &container{ref: r, before: [2]int64{math.MaxInt64, math.MaxInt64}, first: math.MaxInt64, last: math.MinInt64})
	}
	return id
}

// cores notes CPU at an instant. What a measure cannot be is for the caller to report: the text says what is wrong, "" nothing.
func (l *Load) cores(at time.Time, id uint32, v float64) (string, error) {
	if !(v >= 0 && v <= mostCores) {
		return fmt.Sprintf("%g cores of CPU: want 0 to %d; is the unit right?", v, mostCores), nil
	}
	return l.value(at, id, cpu, 0, uint64(math.Ceil(v*1000-1e-6)))
}

// bytes notes memory at an instant, as cores does.
func (l *Load) bytes(at time.Time, id uint32, v float64) (string, error) {
	if !(v >= 0 && v <= mostBytes) {
		return fmt.Sprintf("%g bytes of memory: want 0 to %d; is the unit right?", v, int64(mostBytes)), nil
	}
	return l.value(at, id, memory, 0, uint64(math.Ceil(v-1e-6)))
}

// value notes an amount of a rank.
func (l *Load) value(at time.Time, id uint32, what resource, rank uint8, amount uint64) (string, error) {
	if at.Before(earliest) || at.After(latest) {
		return instantWrong(at), nil
	}
	c, t := l.containers[id], at.UnixNano()
	if step := t - c.before[what]; c.has[what] && step > 0 && (len(l.steps) < 10_000 || l.steps[step] > 0) {
		l.steps[step]++
	}
	c.has[what], c.before[what] = true, t
	c.first, c.last = min(c.first, t), max(c.last, t)
	return "", l.sorted.add(record{At: t, ID: id, What: what, Rank: rank, Value: amount})
}

// sample notes a value of a metric.
func (l *Load) sample(at time.Time, name string, labels map[string]string, v float64) error {
	key := name
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		key += "\x00" + k + "\x00" + labels[k]
	}
	id, ok := l.bySeries[key]
	if !ok {
		id = uint32(len(l.series))
		l.bySeries[key] = id
		l.series = append(l.series, seriesName{name, labels})
	}
	return l.sorted.add(record{At: at.UnixNano(), ID: id, What: series, Value: math.Float64bits(v)})
}

// check refuses what could only be made up.
func (l *Load) check() error {
	for i, what := range []string{"CPU", "memory"} {
		missing := 0
		var one *container
		for _, c := range l.containers {
			if c.measured() && !c.has[i] {
				missing++
				one = c
			}
		}
		if missing > 0 && l.Assume[i] < 0 {
			return fmt.Errorf("%s of %s (such as %s/%s) is not in the input: give files that have it, or say with --assume CPU,MEMORY what stands for it", what,
				plural.Of(missing, "container"), one.namespace, one.pod)
		}
		if missing > 0 {
			l.notes[fmt.Sprintf("without %s in the input: what is assumed stands for it", what)] = int64(missing)
		}
	}
	return nil
}

// step is the time that most values are after the one before.
func (l *Load) step() time.Duration {
	best := int64(0)
	for _, s := range slices.Sorted(maps.Keys(l.steps)) {
		if l.steps[s] > l.steps[best] {
			best = s
		}
	}
	return time.Duration(best)
}

// silent notes a stretch without any value.
func (l *Load) silent(from, lasting int64) {
	if l.silences++; lasting > l.longest[1] {
		l.longest = [2]int64{from, lasting}
	}
}

// silence is how long there may be no value of anything before that is worth a note.
func (l *Load) silence() time.Duration { return max(lasts, 3*l.step()) }

// Notes are what a reader of the result should know, counted, in a fixed order.
func (l *Load) Notes() []string {
	var out []string
	for _, text := range slices.Sorted(maps.Keys(l.notes)) {
		noun := "value"
		if len(text) > 8 && text[:8] == "without " {
			noun = "container"
		}
		out = append(out, plural.Of(l.notes[text], noun)+" "+text)
	}
	if l.silences > 0 {
		out = append(out, fmt.Sprintf("%s without any value in the input: nothing is made up there; the longest is %s from %s on", plural.Of(l.silences, "stretch"),
			time.Duration(l.longest[1]), instant(l.longest[0]).Format(time.RFC3339)))
	}
	return out
}
