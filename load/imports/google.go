package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

// A Google machine is not known: all amounts are shares of the largest one.
const ofMachine = ", the largest machine of the trace, whose size was not published"

var takeOption = spec.Option{Name: "take", Default: "average", About: "which value of a period: average or maximum"}

// take reads it, as an index.
func take(v *spec.Values) int {
	switch v.Text("take") {
	case "average":
		return 0
	case "maximum":
		return 1
	}
	v.Wrong("take", "average or maximum")
	return 0
}

// trace are the options of rows that say the usage of a task in a period, as shares of a machine.
type trace struct {
	zero    time.Time
	machine [2]float64
	take    int
}

func newTrace(v *spec.Values) trace { return trace{epoch(v), machine(v), take(v)} }

// task notes the usage of a task of a job from the start of a period on. A text that is "" was not measured.
func (t trace) task(f *file, job, index, start string, usage [2]string) error {
	at, wrong := since(t.zero, start, time.Microsecond)
	if wrong != "" {
		return f.wrong(f.line, "start time: %s", wrong)
	}
	if job == "" || index == "" {
		return f.wrong(f.line, "no job, or no index of its task: want both")
	}
	name := named("job-" + job)
	id := f.to.container(ref{namespace: clusterName, workload: name, pod: named(name + "-" + index), name: "task"})
	for what, text := range usage {
		if text == "" {
			continue
		}
		n, ok := decimal(text)
		if wrong = ""; !ok || n < 0 {
			wrong = fmt.Sprintf("%q: want a share of a machine, 0 or more", text)
		}
		if err := f.amount(at, id, resource(what), n*t.machine[what], wrong); err != nil {
			return err
		}
	}
	return nil
}

// Columns of task_usage of the trace of 2011, of which version 2 has 20 and version 1 one less.
const (
	start2011, job2011, task2011 = 0, 2, 3
	least2011, most2011          = 19, 20
)

var usage2011 = [2][2]int{{5, 6}, {13, 10}} // mean CPU rate and canonical memory; maximum CPU rate and memory

// A file of the short form, which is often derived from the trace, has CPU and memory in percent of the machine, five minutes a row. Its first row is where the
// trace begins.
const short2011, begins2011 = 5 * time.Minute, 600 * time.Second

// google2011 reads task_usage, or the short form. 600 s of the trace are 2011-05-01 19:00 EDT, by its documentation.
var google2011 = Kind{Name: "google-2011", About: "task_usage rows of Google's trace of 2011, or rows of CPU and memory in percent, one each five minutes", Options: append([]spec.Option{
	epochOption("2011-05-01T22:50:00Z", "by default that of the trace"), takeOption}, whole("16", "64Gi", ofMachine)...),
	Make: func(v *spec.Values) parser {
		t := newTrace(v)
		return func(f *file) error {
			short, at := false, t.zero.Add(begins2011)
			return f.rows(func(row []string) error {
				if pair := percents(row); f.line == 1 && pair != nil {
					if t.take != 0 {
						return fmt.Errorf("%s:1: rows of two columns have averages only: leave out take=maximum", f.name)
					}
					if short = true; isHeader(pair) {
						return nil
					}
				}
				if short {
					at = at.Add(short2011) // a row that is wrong is five minutes, too
					return t.percents(f, at.Add(-short2011), percents(row))
				}
				if len(row) < least2011 || len(row) > most2011 {
					return f.wrong(f.line, "%d columns: want the %d of task_usage: start, end, job, task, machine, CPU rate, canonical memory, ...", len(row), most2011)
				}
				c := usage2011[t.take]
				return t.task(f, row[job2011], row[task2011], row[start2011], [2]string{row[c[0]], row[c[1]]})
			})
		}
	}}

// percents are the two columns of a row of the short form, which has a comma between them, or blanks; nil of another row.
func percents(row []string) []string {
	if len(row) == 1 {
		row = strings.Fields(row[0])
	}
	if len(row) != 2 {
		return nil
	}
	return row
}

// percents notes a row of the short form, of a container that is called as the file.
func (t trace) percents(f *file, at time.Time, row []string) error {
	if row == nil {
		return f.wrong(f.line, "want CPU and memory in percent, as in the first row")
	}
	var used [2]float64
	for what, text := range row {
		n, wrong := share(text, 100, t.machine[what])
		if used[what] = n; wrong != "" {
			return f.wrong(f.line, "%s", wrong)
		}
	}
	name := named(f.stem())
	id := f.to.container(ref{namespace: clusterName, workload: name, pod: name, name: "task"})
	return errors.Join(f.amount(at, id, cpu, used[cpu], ""), f.amount(at, id, memory, used[memory], ""))
}

// google2019 reads instance_usage. 600 s of the trace are the start of 2019-05-01 where its first cell is.
var google2019 = Kind{Name: "google-2019", About: "instance_usage of Google's trace of 2019, JSON lines or CSV with a header, as BigQuery exports them", Options: append([]spec.Option{
	epochOption("2019-05-01T06:50:00Z", "by default that of the trace, in the zone of the first cell"), takeOption}, whole("16", "64Gi", ofMachine)...),
	Make: func(v *spec.Values) parser {
		t := newTrace(v)
		return func(f *file) error {
			if head, _ := f.in.Peek(1); bytes.Equal(head, []byte("{")) {
				return f.lines(func(line []byte) error { return t.instance(f, line) })
			}
			return t.instances(f)
		}
	}}

// instance2019 is a row of instance_usage: 64-bit numbers are strings in JSON of BigQuery.
type instance2019 struct {
	Start      text    `json:"start_time"`
	Collection text    `json:"collection_id"`
	Index      text    `json:"instance_index"`
	Average    numbers `json:"average_usage"`
	Maximum    numbers `json:"maximum_usage"`
}

type numbers struct {
	CPUs   text `json:"cpus"`
	Memory text `json:"memory"`
}

// text is a number of JSON, or one in a string; "" for null.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	*t = text(strings.Trim(string(data), `"`))
	return nil
}

func (t trace) instance(f *file, line []byte) error {
	var i instance2019
	if err := json.Unmarshal(line, &i); err != nil {
		return f.wrong(f.line, "this is no JSON object with start_time, collection_id, instance_index and average_usage{cpus,memory}")
	}
	u := [2]numbers{i.Average, i.Maximum}[t.take]
	return t.task(f, string(i.Collection), string(i.Index), string(i.Start), [2]string{string(u.CPUs), string(u.Memory)})
}

// instances reads CSV, whose header names fields of records with a dot or an underscore.
func (t trace) instances(f *file) error {
	usage := []string{"average_usage", "maximum_usage"}[t.take]
	want := []string{"start_time", "collection_id", "instance_index", usage + ".cpus", usage + ".memory"}
	var at []int
	return f.rows(func(row []string) error {
		if at == nil {
			for _, name := range want {
				i := indexOf(row, name, strings.ReplaceAll(name, ".", "_"))
				if i < 0 {
					return fmt.Errorf("%s:%d: no column %s: want a header with %s", f.name, f.line, name, strings.Join(want, ","))
				}
				at = append(at, i)
			}
			at = append(at, len(row))
			return nil
		}
		if len(row) != at[len(want)] {
			return f.wrong(f.line, "%d columns: want %d", len(row), at[len(want)])
		}
		return t.task(f, row[at[1]], row[at[2]], row[at[0]], [2]string{row[at[3]], row[at[4]]})
	})
}

func indexOf(row []string, names ...string) int {
	for i, text := range row {
		for _, name := range names {
			if text == name {
				return i
			}
		}
	}
	return -1
}
