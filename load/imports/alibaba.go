package imports

import (
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

// alibaba2018 reads container_usage: container_id, machine_id, time_stamp, cpu_util_percent, mem_util_percent, and six columns that are not used.
// A percentage is of what the container has; that of CPU may be empty, and -1 and 101 are no measurements.
var alibaba2018 = Kind{Name: "alibaba-2018", About: "container_usage of Alibaba's trace of 2018", Options: append([]spec.Option{
	epochOption("2018-01-01T00:00:00Z", "the trace counts from 0 and does not say")}, whole("4", "8Gi", " of a container, whose size is in another file (container_meta)")...),
	Make: func(v *spec.Values) parser {
		zero, all := epoch(v), machine(v)
		return func(f *file) error {
			return f.rows(func(row []string) error {
				if len(row) < 5 || len(row) > 11 {
					return f.wrong(f.line, "%d columns: want container_id, machine_id, time_stamp, cpu_util_percent, mem_util_percent, ...", len(row))
				}
				at, wrong := since(zero, row[2], time.Second)
				if wrong == "" && row[0] == "" {
					wrong = "no container_id"
				}
				if wrong != "" {
					return f.wrong(f.line, "%s", wrong)
				}
				name := named(strings.ReplaceAll(row[0], "_", "-"))
				id := f.to.container(ref{namespace: clusterName, workload: name, pod: name, name: "app"})
				for what, text := range row[3:5] {
					if text = strings.TrimSpace(text); text == "" || text == "-1" || text == "101" {
						f.to.note("that the trace marks as not measured are left out")
						continue
					}
					n, wrong := share(text, 100, all[what])
					if err := f.amount(at, id, resource(what), n, wrong); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}}
