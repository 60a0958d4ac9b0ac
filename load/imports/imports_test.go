package imports

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// from is an input of bytes.
func from(name, content string) Input {
	return Input{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }}
}

// sample is a checked-in one.
func sample(t *testing.T, name string) Input {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return from(name, string(content))
}

// assumed is a load that has an answer for what no input of the tests has.
func assumed() *Load { return &Load{MostWrong: 10, Assume: [2]int64{7, 70}} }

// read gives the lines of a load.
func read(l *Load, format string, inputs ...Input) (out []objectlog.Line, err error) {
	f, err := Parse(format)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.Read(context.Background(), f, inputs); err != nil {
		return nil, err
	}
	err = l.Lines(func(line objectlog.Line) error { out = append(out, line); return nil })
	return out, err
}

// usages are lines of usage as text: "00:01 web/front app 203m 200600000".
func usages(lines []objectlog.Line) (out []string) {
	for _, l := range lines {
		if u, ok := l.Object.(*objectlog.Usage); ok {
			out = append(out, fmt.Sprintf("%s %s/%s %s %dm %d", l.At.Format("15:04:05"), u.Namespace, u.Name, u.Spec.Container, u.Spec.CPUMilli, u.Spec.MemoryBytes))
		}
	}
	return out
}

func mustRead(t *testing.T, format string, inputs ...Input) []objectlog.Line {
	t.Helper()
	lines, err := read(assumed(), format, inputs...)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// samples are what is checked in, by format: how many values of usage, and the first and the last.
var samples = []struct {
	format, file string
	values       int
	first, last  string
}{
	{"prometheus", "prometheus.json", 96, "00:01:00 web/front-7d9c5b6d4f-x2x9z app 210m 200600000", "00:59:00 web/db-0 db 1000m 1073741824"},
	{"csv:metric=cpu,unit=percent,cores=4", "nab.csv", 48, "00:00:00 imported/nab app 1200m 70", "03:55:00 imported/nab app 2000m 70"},
	{"alibaba-series:metric=cpu,epoch=2026-01-05T00:00:00Z", "alibaba-series.csv", 80, "00:00:00 imported/ms-1-pod-1-86efaedb ms-1-pod-1-86efaedb 200m 70", "00:39:00 imported/ms-1-pod-2-cb23bd00 ms-1-pod-2-cb23bd00 400m 70"},
	{"google-2011", "google-2011.csv", 48, "23:00:00 imported/job-3418309-0 task 320m 687194768", "00:55:00 imported/job-3418309-1 task 319m 845249564"},
	{"google-2011:cores=32,memory=128Gi", "google-2011-short.txt", 24, "23:00:00 imported/google-2011-short task 640m 1374389535", "00:55:00 imported/google-2011-short task 640m 1717986919"},
	{"google-2019", "google-2019.json", 48, "07:00:00 imported/job-330587160469-0 task 320m 687194768", "08:55:00 imported/job-330587160469-1 task 319m 845249564"},
	{"google-2019", "google-2019.csv", 48, "07:00:00 imported/job-330587160469-0 task 320m 687194768", "08:55:00 imported/job-330587160469-1 task 319m 845249564"},
	{"azure-functions", "invocations_per_function_md.anon.d01.csv", 2880, "00:00:00 imported/funcaaaaaaaa-appaaaaaaaa-owneraaaaaaaa-6d122757 function 1000m 70", "23:59:00 imported/funcbbbbbbbb-appbbbbbbbb-ownerbbbbbbbb-5af6a1e1 function 0m 70"},
	{"azure-vm", "azure-vm.csv", 72, "00:00:00 imported/vm-ynf-r3x8fyxkojm3ihxqct0f52a8cdwpprztt-4af4a447 vm 400m 70", "02:55:00 imported/vm-b1x-3a32778b vm 532m 70"},
	{"alibaba-2018", "alibaba-2018.csv", 120, "11:24:00 imported/c-1 app 400m 5153960756", "12:23:00 imported/c-2 app 1040m 5583457485"},
	{"arabesque", "arabesque.json", 60, "00:00:00 prod/shop-0 main 300m 300000000", "00:59:00 prod/shop-0 main 261m 359000000"},
	{"arabesque", "arabesque.csv", 60, "00:00:00 prod/shop-0 main 300m 300000000", "00:59:00 prod/shop-0 main 261m 359000000"},
}

// TestSamples: each format's sample is read, again with the same lines, compressed as well, and in runs on disk.
func TestSamples(t *testing.T) {
	for _, c := range samples {
		t.Run(c.file, func(t *testing.T) {
			lines := mustRead(t, c.format, sample(t, c.file))
			got := usages(lines)
			if len(got) != c.values || got[0] != c.first || got[len(got)-1] != c.last {
				t.Errorf("%d values\n%s\n%s", len(got), got[0], got[len(got)-1])
			}
			content, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			var zipped bytes.Buffer
			w := gzip.NewWriter(&zipped)
			if _, err := w.Write(content); err != nil || w.Close() != nil {
				t.Fatal(err)
			}
			spilled := assumed()
			spilled.most, spilled.Folder = 7, t.TempDir()
			again, err := read(spilled, c.format, from(c.file, zipped.String()))
			if diff := cmp.Diff(lines, again); diff != "" || err != nil {
				t.Errorf("compressed, on disk: %v %s", err, diff)
			}
			if left, err := os.ReadDir(spilled.Folder); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
			if !slices.IsSortedFunc(lines, func(a, b objectlog.Line) int { return a.At.Compare(b.At) }) {
				t.Error("lines are not in order of time")
			}
		})
	}
}

// TestPrometheus: what the sample has on purpose.
func TestPrometheus(t *testing.T) {
	l := assumed()
	lines, err := read(l, "prometheus", sample(t, "prometheus.json"))
	if err != nil {
		t.Fatal(err)
	}
	var workloads []string
	asked := map[string]corev1.ResourceRequirements{}
	for _, l := range lines {
		switch o := l.Object.(type) {
		case *appsv1.Deployment:
			if l.Op == scalehist.OpAdd {
				workloads = append(workloads, o.Namespace+"/"+o.Name)
			}
		case *corev1.Pod:
			asked[o.Name] = o.Spec.Containers[0].Resources
		}
	}
	if diff := cmp.Diff([]string{
		"3 values of counters more than five minutes after the one before have no rate",
		"4 values of one resource without one of the other in the five minutes before are left out",
		"1 value of series that are of no container are left out",
		"48 values that a second endpoint measured of the same container are left out",
		"1 stretch without any value in the input: nothing is made up there; the longest is 11m0s from 2026-01-05T00:19:00Z on",
	}, l.Notes()); diff != "" {
		t.Errorf("notes: %s", diff)
	}
	if diff := cmp.Diff([]string{"web/front", "web/db"}, workloads); diff != "" {
		t.Errorf("workloads: %s", diff)
	}
	front := asked["front-7d9c5b6d4f-x2x9z"]
	if cpu, mem := front.Requests[corev1.ResourceCPU], front.Requests[corev1.ResourceMemory]; cpu.String() != "500m" || mem.String() != "512Mi" || front.Limits.Cpu().String() != "1" {
		t.Errorf("%+v", front)
	}
	for _, u := range usages(lines) {
		at, rest, _ := strings.Cut(u, " ")
		if at == "00:00:00" || at > "00:19:00" && at < "00:31:00" {
			t.Errorf("usage %s, where the counter has no rate", u)
		}
		if at == "00:10:00" && strings.HasPrefix(rest, "web/front") && !strings.Contains(rest, " 143m ") { // half of a minute's, after it started again
			t.Errorf("at the reset: %s", u)
		}
	}
}

// TestWrong: what is wrong is named with file and line, and what is due.
func TestWrong(t *testing.T) {
	const row2011 = "600000000,900000000,1,0,5,0.1,0.1,0.1,0,0,0.1,0,0,0.1,0,1,1,1,0"
	for _, c := range []struct{ format, content, want string }{
		{"csv:metric=cpu", "timestamp,value\n2026-01-05 00:00:00,x\n", `in:2: value "x": want a number`},
		{"csv:metric=cpu", "timestamp,value\nyesterday,1\n", `in:2: "yesterday" is no time: want one such as 2026-01-05T00:00:00Z`},
		{"csv:metric=cpu", "timestamp,value\n0,1\n", `in:2: 1970-01-01T00:00:00Z: want an instant from 2000 to 2100; where times are since a start`},
		{"csv:metric=cpu", "timestamp,value\n2026-01-05 00:00:00,-1\n", `not negative`},
		{"csv:metric=cpu", "timestamp,value\n2026-01-05 00:00:00,1,2\n", `in:2: 3 columns: want 2`},
		{"csv:metric=cpu", "timestamp,value\n2026-01-05 00:00:00,5e9\n", `is the unit right`},
		{"csv:metric=memory,unit=percent", "timestamp,value\n2026-01-05 00:00:00,101\n", `want a number from 0 to 100`},
		{"csv:metric=cpu", "time,value\n2026-01-05 00:00:00,1\n", `in:1: "time" is no time`},
		{"csv:metric=cpu", "timestamp,valeu\n2026-01-05 00:00:00,1\n", `in:1: column "valeu" is not known: want some of `},
		{"csv", "timestamp,value\n2026-01-05 00:00:00,1\n", `say what it is with the option metric`},
		{"csv:metric=cpu", "timestamp,value\n\"2026,1\n", `in:2: this is no line of CSV`},
		{"alibaba-series:metric=cpu", "timestamp,value\n1767571200,1\n", `in:1: columns timestamp,value: want timestamp and value, and container`},
		{"alibaba-series:metric=cpu", "1767571200,1\n", `in:1: 2 columns: want 3`},
		{"google-2011", "1,2,3\n", `in:1: 3 columns: want the 20 of task_usage`},
		{"google-2011", strings.Replace(row2011, "600000000", "soon", 1) + "\n", `in:1: start time: "soon" is no time since the start of the trace: want a number of microseconds`},
		{"google-2011", strings.Replace(row2011, "0.1", "much", 1) + "\n", `"much": want a share of a machine`},
		{"google-2011", "1 2\n3\n", `in:2: want CPU and memory in percent, as in the first row`},
		{"google-2011", "cpu,mem\n1,102\n", `in:2: "102": want a number from 0 to 100`},
		{"google-2011:take=maximum", "1,2\n", `in:1: rows of two columns have averages only`},
		{"google-2019", "{\"start_time\":\n", `in:1: this is no JSON object with start_time`},
		{"google-2019", `{"start_time":"1","collection_id":"1","instance_index":"0","average_usage":{"cpus":-1,"memory":0}}`, `in:1: "-1": want a share`},
		{"google-2019", `{"start_time":"1","average_usage":{"cpus":1,"memory":0}}`, `in:1: no job`},
		{"google-2019", "a,b\n", `in:1: no column start_time: want a header with start_time,collection_id`},
		{"azure-functions", "HashOwner,HashApp\no,a,f,http,1\n", `in:2: 5 columns: want HashOwner, HashApp, HashFunction, Trigger and 1440 minutes`},
		{"azure-functions", "o,a,f,http" + strings.Repeat(",1", 1439) + ",-1\n", `in:1: minute 1440: "-1": want a number of calls`},
		{"azure-vm", "0,vm,1,2\n", `in:1: 4 columns: want timestamp, vm id, min cpu, max cpu, avg cpu`},
		{"azure-vm", "0,vm,1,2,200\n", `in:1: "200": want a number from 0 to 100`},
		{"alibaba-2018", "c_1,m_1\n", `in:1: 2 columns: want container_id, machine_id, time_stamp`},
		{"alibaba-2018", "c_1,m_1,0,50,high\n", `in:1: "high": want a number from 0 to 100`},
		{"arabesque", "\x80\x04\x95", `Python pickle, which cannot be read safely`},
		{"arabesque", "a,b\n", `in:1: want a header namespace,pod,container,timestamp`},
		{"arabesque", `{"a":{"b":{"c":{"timestamp":[1767571200],"workload":[]}}}}`, `in:1: "a", "b", "c": 1 times, 0 of usage`},
		{"arabesque", "{\"a\":\n{\"b\":{\"c\":{\"timestamp\":[1767571200],\"workload\":[[1,2]]}}}}", `in:2: "a", "b", "c", value 1: 2 numbers of usage`},
		{"arabesque", "{\"a\":\n[]}", `in:2: [ where "{" of pods is due`},
		{"prometheus", `{"status":"error","error":"too long"}`, `in:1: Prometheus answered with an error: too long`},
		{"prometheus", `{"data":{"resultType":"vector","result":[]}}`, `in:1: the answer is a vector: want a matrix`},
		{"prometheus", "{\"data\":{\"resultType\":\"matrix\",\"result\":[\n", `in:2: the JSON ends too early`},
		{"prometheus", "{\"data\":\n{\"result\":[{\"metric\":5}]}}", `in:2: a number: want a series`},
		{"prometheus", metric(workingSet, `[1767571200,"x"]`), `in:1: series 1 (container_memory_working_set_bytes), value 1: [1767571200,"x"]: want [SECONDS, "VALUE"]`},
		{"prometheus", metric(cpuSeconds, `[1767571200,"1"],[1767571200,"2"]`), `want values in order of time`},
		{"prometheus", metric(cpuSeconds, `[1767571200,"1"],[1767571201,"1e9"]`), `is it a counter of seconds`},
		{"prometheus", strings.Replace(metric(workingSet, `[1767571200,"1"]`), `"p"`, `"P P"`, 1), `pod "P P"`},
	} {
		l := assumed()
		l.MostWrong = 0
		if _, err := read(l, c.format, from("in", c.content)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.60q: %v, want %q in it", c.format, c.content, err, c.want)
		}
	}
}

// metric is an answer with one series.
func metric(name, values string) string {
	return `{"data":{"resultType":"matrix","result":[{"metric":{"__name__":"` + name + `","namespace":"n","pod":"p","container":"c","id":"/"},"values":[` + values + `]}]}}`
}

// TestGoogleShort: with a comma or blanks, with a header or without, a row is five minutes, also one that is wrong.
func TestGoogleShort(t *testing.T) {
	for name, content := range map[string]string{"commas": "2,1\nx,1\n2.5, 1.25\n", "blanks": "2 1\nx 1\n2.5\t1.25\n", "header": "cpu,mem\r\n2,1\r\nx,1\r\n2.5,1.25\r\n"} {
		l := assumed()
		lines, err := read(l, "google-2011:epoch=2026-01-05T00:00:00Z,cores=10,memory=1000", from("vm.csv", content))
		if diff := cmp.Diff([]string{"00:10:00 imported/vm task 200m 10", "00:20:00 imported/vm task 250m 13"}, usages(lines)); diff != "" || err != nil || len(l.Wrong) != 1 {
			t.Errorf("%s: %v %q %s", name, err, l.Wrong, diff)
		}
	}
}

// TestFewWrong: as many wrong lines as are allowed are left out and named; one more ends it, with all of them.
func TestFewWrong(t *testing.T) {
	content := "timestamp,value\n2026-01-05 00:00:00,1\nx,1\n2026-01-05 00:05:00,y\n2026-01-05 00:10:00,2\n"
	l := assumed()
	l.MostWrong = 2
	lines, err := read(l, "csv:metric=cpu", from("a.csv", content))
	if diff := cmp.Diff([]string{"00:00:00 imported/a app 1000m 70", "00:10:00 imported/a app 2000m 70"}, usages(lines)); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if len(l.Wrong) != 2 || !strings.HasPrefix(l.Wrong[0], "a.csv:3: ") || !strings.HasPrefix(l.Wrong[1], "a.csv:4: ") {
		t.Errorf("%q", l.Wrong)
	}
	l = assumed()
	l.MostWrong = 1
	if _, err := read(l, "csv:metric=cpu", from("a.csv", content)); err == nil || !strings.Contains(err.Error(), "a.csv:3") || !strings.Contains(err.Error(), "more than 1 lines are wrong") {
		t.Error(err)
	}
}

// TestAssume: what is never measured is asked for, not made up.
func TestAssume(t *testing.T) {
	l := &Load{Assume: [2]int64{-1, -1}}
	in := from("a.csv", "timestamp,value\n2026-01-05 00:00:00,1\n")
	if _, err := read(l, "csv:metric=cpu", in); err == nil || !strings.Contains(err.Error(), "memory of 1 container (such as imported/a) is not in the input") {
		t.Error(err)
	}
}

// TestGoneAfter: a pod that is silent at the end stays, unless somebody says after how long it does not.
func TestGoneAfter(t *testing.T) {
	in := from("a.csv", "timestamp,cpu_millicores,memory_bytes,pod\n2026-01-05 00:00:00,1,2,a\n2026-01-05 00:00:00,3,4,b\n2026-01-05 01:00:00,3,4,b\n")
	for after, want := range map[time.Duration]int{0: 0, time.Hour: 0, 30 * time.Minute: 1} {
		l := assumed()
		l.GoneAfter = after
		lines, err := read(l, "csv", in)
		gone := 0
		for _, line := range lines {
			if _, ok := line.Object.(*corev1.Pod); ok && line.Op == scalehist.OpDelete {
				gone++
			}
		}
		if err != nil || gone != want || len(usages(lines)) != 3 {
			t.Errorf("after %s: %d pods are gone, want %d: %v %q", after, gone, want, err, usages(lines))
		}
	}
}

// TestParse: what is wrong with a format.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"promethius": `did you mean "prometheus"`, "csv:unit=cores": "one of the option metric", "csv:metric=disk": "cpu or memory", "csv:metric=cpu,unit=MiB": "one of the option metric",
		"csv:epoch=today": "an instant", "google-2011:take=least": "average or maximum", "azure-vm:core=2": `did you mean "cores"`, "prometheus:metric=x": "cpu or memory",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}

// TestSorter: in runs or not, records come in order.
func TestSorter(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := sorter{folder: folder, most: rapid.IntRange(1, 20).Draw(t, "most")}
		var want []record
		for range rapid.IntRange(0, 60).Draw(t, "n") {
			r := record{At: rapid.Int64Range(-3, 3).Draw(t, "at"), ID: rapid.Uint32Max(3).Draw(t, "id"), What: resource(rapid.Uint8Max(2).Draw(t, "what")), Rank: rapid.Uint8Max(1).Draw(t, "rank"), Value: rapid.Uint64().Draw(t, "value")}
			want = append(want, r)
			if err := s.add(r); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(want, record.compare)
		for range 2 { // it can be read again
			var got []record
			for r, err := range s.all() {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v\n%v", got, want)
			}
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestCSVAgain: values that are written as CSV are the same when they are read.
func TestCSVAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []string
		content := "timestamp,namespace,pod,container,cpu_millicores,memory_bytes\n"
		at := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
		for range rapid.IntRange(1, 30).Draw(t, "n") {
			at = at.Add(time.Duration(rapid.IntRange(1, 3600).Draw(t, "after")) * time.Second)
			pod, milli, size := rapid.StringMatching(`[a-z]{1,8}-[0-9]`).Draw(t, "pod"), rapid.Int64Range(0, 100_000_000).Draw(t, "cpu"), rapid.Int64Range(0, mostBytes).Draw(t, "memory")
			content += fmt.Sprintf("%s,n,%s,c,%d,%d\n", at.Format(time.RFC3339), pod, milli, size)
			want = append(want, fmt.Sprintf("%s n/%s c %dm %d", at.Format("15:04:05"), pod, milli, size))
		}
		lines, err := read(assumed(), "csv", from("a", content))
		if diff := cmp.Diff(want, usages(lines)); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
	})
}

// FuzzFormats: whatever a file holds, it is read or refused; what is read is in order of time, with amounts that can be.
func FuzzFormats(f *testing.F) {
	for i, c := range samples {
		content, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(i, content[:min(len(content), 700)])
	}
	f.Add(0, []byte(metric(cpuSeconds, `[1767571200,"1"],[1767571230,"2"],[1767571260,"NaN"]`)))
	f.Add(11, []byte(`{"a":{"b":{"c":{"timestamp":[1767571200],"workload":[[1,2,-3]],"request":[[1,2]],"limit":[[5,6]]}}}}`))
	f.Fuzz(func(t *testing.T, i int, content []byte) {
		if i < 0 || i >= len(samples) {
			return
		}
		lines, err := read(assumed(), samples[i].format, from("in", string(content)))
		if err != nil {
			return
		}
		for j, l := range lines {
			if j > 0 && l.At.Before(lines[j-1].At) {
				t.Fatalf("line %d is before the one before", j)
			}
			if u, ok := l.Object.(*objectlog.Usage); ok && (u.Spec.CPUMilli < 0 || u.Spec.CPUMilli > mostCores*1000 || u.Spec.MemoryBytes < 0 || u.Spec.MemoryBytes > mostBytes) {
				t.Fatalf("%+v", u.Spec)
			}
		}
	})
}
