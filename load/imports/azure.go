package imports

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

// azureVM reads readings of virtual machines. Of them only CPU was published.
var azureVM = Kind{Name: "azure-vm", About: "CPU readings of Azure's VM traces: timestamp, vm id, min, max, average in percent", Options: []spec.Option{
	epochOption("2019-01-01T00:00:00Z", "the trace counts from 0 and does not say"), takeOption,
	{Name: "cores", Default: "2", About: "cores of a machine: readings do not say how many"},
}, Make: func(v *spec.Values) parser {
	zero, cores, which := epoch(v), float64(v.Quantity("cores", true))/1000, take(v)
	return func(f *file) error {
		return f.rows(func(row []string) error {
			if f.line == 1 && isHeader(row) {
				return nil
			}
			if len(row) != 5 {
				return f.wrong(f.line, "%d columns: want timestamp, vm id, min cpu, max cpu, avg cpu", len(row))
			}
			at, wrong := since(zero, row[0], time.Second)
			if wrong == "" && row[1] == "" {
				wrong = "no vm id: want timestamp, vm id, min cpu, max cpu, avg cpu"
			}
			if wrong != "" {
				return f.wrong(f.line, "%s", wrong)
			}
			name := named("vm-" + row[1])
			id := f.to.container(ref{namespace: clusterName, workload: name, pod: name, name: "vm"})
			n, wrong := share(row[4-which], 100, cores)
			return f.amount(at, id, cpu, n, wrong)
		})
	}
}}

// invocations is the series of calls of a function in a minute.
const invocations = "function_invocations_per_minute"

// minutes are the columns of a day.
const minutes = 24 * 60

// day is in the name of a file of invocations: invocations_per_function_md.anon.d01.csv is the first.
var day = regexp.MustCompile(`\.d([0-9]{2})\.`)

// functions are the options of a day of invocations.
type functions struct {
	zero           time.Time
	lasting, cores float64 // of a call, in seconds and cores
}

// azureFunctions reads a day of calls per minute: arrivals as a series, and CPU that follows from how long a call lasts. A minute without calls
// is one in which nothing ran, not a silence.
var azureFunctions = Kind{Name: "azure-functions", About: "invocations per function and minute of Azure's trace of 2019: arrivals, and the CPU that they keep busy", Options: []spec.Option{
	epochOption("2019-07-15T00:00:00Z", "the first day, d01"),
	{Name: "duration", Default: "1s", About: "how long a call lasts"},
	{Name: "cpu", Default: "1", About: "CPU that a call uses while it lasts"},
}, Make: func(v *spec.Values) parser {
	t := functions{epoch(v), v.Duration("duration", time.Millisecond).Seconds(), float64(v.Quantity("cpu", true)) / 1000}
	return t.read
}}

func (t functions) read(f *file) error {
	from := t.zero
	if m := day.FindStringSubmatch(filepath.Base(f.name)); m != nil {
		n, _ := strconv.Atoi(m[1])
		if n == 0 {
			return fmt.Errorf("%s: the first day is d01", f.name)
		}
		from = from.AddDate(0, 0, n-1)
	}
	return f.rows(func(row []string) error {
		if f.line == 1 && strings.EqualFold(row[0], "HashOwner") {
			return nil
		}
		if len(row) != 4+minutes {
			return f.wrong(f.line, "%d columns: want HashOwner, HashApp, HashFunction, Trigger and %d minutes", len(row), minutes)
		}
		if row[1] == "" || row[2] == "" {
			return f.wrong(f.line, "no application, or no function: want HashOwner, HashApp, HashFunction, Trigger and %d minutes", minutes)
		}
		return t.row(f, from, row)
	})
}

func (t functions) row(f *file, from time.Time, row []string) error {
	name := shortened(row[2] + "\x00" + row[1] + "\x00" + row[0])
	labels := map[string]string{"owner": row[0], "app": row[1], "function": row[2], "trigger": row[3], "workload": name}
	id := f.to.container(ref{namespace: clusterName, workload: name, pod: name, name: "function"})
	calls := make([]uint64, minutes)
	for i, text := range row[4:] {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return f.wrong(f.line, "minute %d: %q: want a number of calls", i+1, text)
		}
		calls[i] = n
	}
	for i, n := range calls {
		at := from.Add(time.Duration(i) * time.Minute)
		wrong, err := f.to.cores(at, id, float64(n)*t.lasting*t.cores/60)
		if err == nil && wrong != "" {
			return f.wrong(f.line, "minute %d: %s", i+1, wrong)
		}
		if err == nil {
			err = f.to.sample(at, invocations, labels, float64(n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
