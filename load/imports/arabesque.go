package imports

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

// arabesque reads what smart-kube's ETL makes of a cluster, as JSON {NAMESPACE: {POD: {CONTAINER: {"timestamp": [...], "workload": [[evictable memory,
// other memory, CPU], ...], "request": [[memory, CPU], ...], "limit": ...}}}}, or CSV with a column each. It comes as a Python pickle, which is a
// program, not data: reading one from somebody else runs what they wrote.
var arabesque = Kind{Name: "arabesque", About: "smart-kube's arabesque schema as JSON or CSV (not its Python pickle: to read one is to run it)", Options: []spec.Option{
	epochOption("1970-01-01T00:00:00Z", "numbers are Unix times if nothing is said"),
}, Make: func(v *spec.Values) parser {
	zero := epoch(v)
	return func(f *file) error {
		switch head, _ := f.in.Peek(2); {
		case len(head) == 2 && head[0] == 0x80 && head[1] <= 5:
			return fmt.Errorf("%s: it is a Python pickle, which cannot be read safely: write it as JSON where it was made, with json.dump", f.name)
		case bytes.HasPrefix(head, []byte("{")):
			return arabesqueJSON(f, zero)
		}
		return arabesqueCSV(f, zero)
	}
}}

// arabesqueNames are the columns of CSV: where a reading is from, its time, three of usage, and two each of requests and limits.
var arabesqueNames = []string{"namespace", "pod", "container", "timestamp", "evictable_memory", "non_evictable_memory", "cpu",
	"request_memory", "request_cpu", "limit_memory", "limit_cpu"}

func arabesqueCSV(f *file, zero time.Time) error {
	header := false
	return f.rows(func(row []string) error {
		if !header {
			header = true
			if strings.Join(row, ",") != strings.Join(arabesqueNames, ",") {
				return fmt.Errorf("%s:%d: want a header %s", f.name, f.line, strings.Join(arabesqueNames, ","))
			}
			return nil
		}
		if len(row) != len(arabesqueNames) {
			return f.wrong(f.line, "%d columns: want %d", len(row), len(arabesqueNames))
		}
		if row[0] == "" || row[1] == "" || row[2] == "" {
			return f.wrong(f.line, "no namespace, pod or container: want all three")
		}
		id := f.to.container(ref{namespace: named(row[0]), pod: named(row[1]), name: named(row[2])})
		wrong, err := f.arabesque(id, zero, row[3], row[4:7], row[7:9], row[9:11])
		if err == nil && wrong != "" {
			err = f.wrong(f.line, "%s", wrong)
		}
		return err
	})
}

func arabesqueJSON(f *file, zero time.Time) error {
	t := f.tree()
	return t.fields("namespaces", func(namespace string) error {
		return t.fields("pods", func(pod string) error {
			return t.fields("containers", func(name string) error {
				var c struct {
					Time     []text   `json:"timestamp"`
					Workload [][]text `json:"workload"`
					Request  [][]text `json:"request"`
					Limit    [][]text `json:"limit"`
				}
				where := fmt.Sprintf("%q, %q, %q", namespace, pod, name)
				if ok, err := t.value(&c, where+` with "timestamp", "workload", "request" and "limit"`); err != nil || !ok {
					return err
				}
				n := len(c.Time)
				if len(c.Workload) != n || len(c.Request) != n && len(c.Request) > 0 || len(c.Limit) != n && len(c.Limit) > 0 {
					return f.wrong(t.line(), "%s: %d times, %d of usage, %d of requests, %d of limits: want as many of each", where, n, len(c.Workload), len(c.Request), len(c.Limit))
				}
				id := f.to.container(ref{namespace: named(namespace), pod: named(pod), name: named(name)})
				for i := range c.Time {
					wrong, err := f.arabesque(id, zero, string(c.Time[i]), texts(c.Workload, i), texts(c.Request, i), texts(c.Limit, i))
					if err == nil && wrong != "" {
						err = f.wrong(t.line(), "%s, value %d: %s", where, i+1, wrong)
					}
					if err == nil {
						err = f.to.read()
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		})
	})
}

func texts(of [][]text, i int) (out []string) {
	if i < len(of) {
		for _, t := range of[i] {
			out = append(out, string(t))
		}
	}
	return out
}

// arabesque notes a reading: memory is that which can be evicted and that which cannot, CPU below 0 is 0, as the original has it. Requests and limits
// are the highest that there were. Its text says what is wrong, "" nothing.
func (f *file) arabesque(id uint32, zero time.Time, at string, usage, request, limit []string) (string, error) {
	l := f.to
	instant, wrong := when(at, zero)
	if wrong != "" {
		return wrong, nil
	}
	if len(usage) != 3 {
		return fmt.Sprintf("%d numbers of usage: want evictable memory, other memory, CPU", len(usage)), nil
	}
	var n [3]float64
	for i, text := range usage {
		var ok bool
		if n[i], ok = decimal(text); !ok || i < 2 && n[i] < 0 {
			return fmt.Sprintf("%q: want bytes of memory, 0 or more, twice, and cores of CPU", text), nil
		}
	}
	var asked [2][2]int64
	for i, pair := range [][]string{request, limit} {
		for j, text := range pair {
			if text == "" {
				continue
			}
			v, ok := decimal(text)
			if most := [2]float64{mostBytes, mostCores}; !ok || j > 1 || v < 0 || v > most[min(j, 1)] {
				return fmt.Sprintf("%q: want a request and a limit of memory in bytes and CPU in cores", text), nil
			}
			asked[i][1-j] = int64(math.Ceil(v*[2]float64{1, 1000}[j] - 1e-6))
		}
	}
	if n[2] < 0 {
		l.note("of CPU below 0 are 0, as smart-kube has them")
		n[2] = 0
	}
	if wrong, err := l.cores(instant, id, n[2]); wrong != "" || err != nil {
		return wrong, err
	}
	if wrong, err := l.bytes(instant, id, n[0]+n[1]); wrong != "" || err != nil {
		return wrong, err
	}
	c := l.containers[id]
	for i := range asked[0] {
		c.request[i], c.limit[i] = max(c.request[i], asked[0][i]), max(c.limit[i], asked[1][i])
	}
	return "", nil
}
