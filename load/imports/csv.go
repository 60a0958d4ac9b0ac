package imports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/internal/spec"
)

// scales are what a unit is in cores and bytes; percent is of the options cores and memory.
var scales = [2]map[string]float64{
	{"cores": 1, "millicores": 1e-3, "percent": 0, "share": 0},
	{"bytes": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "percent": 0, "share": 0},
}

// whole are the options that say what 100 % is.
func whole(cores, memory, why string) []spec.Option {
	return []spec.Option{{Name: "cores", Default: cores, About: "CPU that is 100 %" + why}, {Name: "memory", Default: memory, About: "memory that is 100 %" + why}}
}

// machine reads them, in cores and bytes.
func machine(v *spec.Values) (out [2]float64) {
	return [2]float64{float64(v.Quantity("cores", true)) / 1000, float64(v.Quantity("memory", false))}
}

// share is a percentage of a whole. Its text says what is wrong, "" nothing. Published traces mark what is not valid with -1 and 101.
func share(text string, percent, of float64) (float64, string) {
	n, ok := decimal(text)
	if !ok || n < 0 || n > percent*1.005 {
		return 0, fmt.Sprintf("%q: want a number from 0 to %g", text, percent)
	}
	return n / percent * of, ""
}

var seriesOptions = append([]spec.Option{
	{Name: "metric", Default: "", About: "what the column value is: cpu or memory"},
	{Name: "unit", Default: "", About: "its unit: cores, millicores, bytes, KB, MB, GB, KiB, MiB, GiB, percent or share (default: cores or bytes)"},
	epochOption("1970-01-01T00:00:00Z", "numbers are Unix times if nothing is said"),
}, whole("1", "1Gi", ", of units percent and share")...)

// csvFile has a column timestamp, and value, or cpu_millicores and memory_bytes, as scalehist generate writes them.
var csvFile = Kind{Name: "csv", About: "CSV with timestamp,value, or what 'scalehist generate' writes", Options: seriesOptions,
	Make: func(v *spec.Values) parser { return newTable(v, "") }}

// alibabaSeries are the per-container series of Alibaba's microservices and GenAI traces.
var alibabaSeries = Kind{Name: "alibaba-series", About: "CSV with timestamp,value,container, of Alibaba's traces", Options: seriesOptions,
	Make: func(v *spec.Values) parser { return newTable(v, "container") }}

// columns that a table may have.
var columns = []string{"timestamp", "value", "cpu_millicores", "memory_bytes", "namespace", "workload", "pod", "container"}

// table reads rows by the names of their columns.
type table struct {
	what  resource
	scale float64
	whole float64 // of percentages, else 0
	top   float64
	zero  time.Time
	named bool
	needs string // a column
}

func newTable(v *spec.Values, needs string) parser {
	t := table{zero: epoch(v), needs: needs}
	all := machine(v)
	switch v.Text("metric") {
	case "cpu", "memory":
		t.named = true
		if v.Text("metric") == "memory" {
			t.what = memory
		}
	case "":
	default:
		v.Wrong("metric", "cpu or memory")
	}
	unit := v.Text("unit")
	if unit == "" {
		unit = []string{"cores", "bytes"}[t.what]
	}
	scale, ok := scales[t.what][unit]
	if !ok || !t.named && v.Text("unit") != "" {
		v.Wrong("unit", "one of the option metric: cores, millicores, percent or share for cpu; bytes, KB, MB, GB, KiB, MiB, GiB, percent or share for memory")
	}
	if t.scale = scale; scale == 0 {
		t.whole, t.top = all[t.what], map[string]float64{"percent": 100, "share": 1}[unit]
	}
	return t.read
}

func (t *table) read(f *file) error {
	var at map[string]int
	return f.rows(func(row []string) error {
		if at == nil {
			var err error
			if at, err = t.header(f, row); err != nil {
				return fmt.Errorf("%s:%d: %w", f.name, f.line, err)
			}
			if isHeader(row) && slices.Contains(row, "timestamp") {
				return nil
			}
		}
		if len(row) != len(at) {
			return f.wrong(f.line, "%d columns: want %d", len(row), len(at))
		}
		return t.row(f, at, row)
	})
}

// header finds the columns; a file without names has those that its format has by name, in order.
func (t *table) header(f *file, row []string) (map[string]int, error) {
	names := []string{"timestamp", "value"}
	if t.needs != "" {
		names = append(names, t.needs)
	}
	if isHeader(row) && slices.Contains(row, "timestamp") {
		names = row
	}
	at := map[string]int{}
	for i, name := range names {
		if !slices.Contains(columns, name) {
			return nil, fmt.Errorf("column %q is not known: want some of %s%s", name, strings.Join(columns, ", "), near.Suggest(name, columns))
		}
		at[name] = i
	}
	has := func(name string) bool { _, ok := at[name]; return ok }
	switch {
	case len(at) != len(names):
		return nil, fmt.Errorf("a column is there twice: %s", strings.Join(names, ","))
	case !has("timestamp"), t.needs != "" && !has(t.needs), !has("value") && !has("cpu_millicores") && !has("memory_bytes"):
		return nil, fmt.Errorf("columns %s: want timestamp and value%s", strings.Join(names, ","), map[bool]string{true: ", and " + t.needs}[t.needs != ""])
	case has("value") && !t.named:
		return nil, fmt.Errorf("a column value: say what it is with the option metric=cpu or metric=memory, and its unit with unit=")
	case has("value") && (has("cpu_millicores") || has("memory_bytes")):
		return nil, fmt.Errorf("columns %s: want value, or cpu_millicores and memory_bytes", strings.Join(names, ","))
	}
	return at, nil
}

func (t *table) row(f *file, at map[string]int, row []string) error {
	text := func(name, otherwise string) string {
		if i, ok := at[name]; ok && row[i] != "" {
			return row[i]
		}
		return otherwise
	}
	time, wrong := when(row[at["timestamp"]], t.zero)
	if wrong != "" {
		return f.wrong(f.line, "%s", wrong)
	}
	one := ref{namespace: named(text("namespace", clusterName)), name: named(text("container", "app"))}
	one.pod = named(text("pod", text("container", f.stem())))
	if one.workload = text("workload", ""); one.workload != "" {
		one.workload = named(one.workload)
	} else if _, ok := at["pod"]; !ok {
		one.workload = one.pod
	}
	id := f.to.container(one)
	for _, c := range []struct {
		column string
		what   resource
		scale  float64
	}{{"value", t.what, t.scale}, {"cpu_millicores", cpu, 1e-3}, {"memory_bytes", memory, 1}} {
		i, ok := at[c.column]
		if !ok || strings.TrimSpace(row[i]) == "" { // not measured
			continue
		}
		n, ok := decimal(row[i])
		if wrong = ""; !ok || n < 0 {
			wrong = fmt.Sprintf("%s %q: want a number that is not negative", c.column, row[i])
		} else if c.scale == 0 {
			n, wrong = share(row[i], t.top, t.whole)
		} else {
			n *= c.scale
		}
		if err := f.amount(time, id, c.what, n, wrong); err != nil {
			return err
		}
	}
	return nil
}

// amount notes cores or bytes, or what is wrong with them.
func (f *file) amount(at time.Time, id uint32, what resource, n float64, wrong string) (err error) {
	if wrong == "" {
		if what == cpu {
			wrong, err = f.to.cores(at, id, n)
		} else {
			wrong, err = f.to.bytes(at, id, n)
		}
	}
	if err == nil && wrong != "" {
		err = f.wrong(f.line, "%s", wrong)
	}
	return err
}
