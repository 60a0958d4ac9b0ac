package load

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	source, err := Parse([]byte(`
series:
- workload: Deployment/shop/web
  metric: cpu
  points:
  - {at: 0s, value: 500m}
  - {at: 1m, value: 2, over: 40s}
- workload: StatefulSet/shop/db
  container: main
  metric: memory
  points: [{at: "2026-01-05T08:00:05Z", value: 1Gi}]
- workload: Deployment/shop/web
  metric: jobs
  sharing: queued
  serves: 2.5
  latency: {limit: 30s}
  points: [{at: 0s, value: 7}]
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := source(start)
	if err != nil {
		t.Fatal(err)
	}
	db := web
	db.Kind, db.Name = "StatefulSet", "db"
	want := []Series{
		{Workload: web, Metric: CPU, Sharing: Divided, Points: []Point{{at(0), 0.5}, {at(75 * time.Second), 1.0625}, {at(90 * time.Second), 1.625}, {at(100 * time.Second), 2}}},
		{Workload: db, Container: "main", Metric: Memory, Sharing: Each, Points: []Point{{at(5 * time.Second), 1 << 30}}},
		{Workload: web, Metric: "jobs", Sharing: Queued, Serves: 2.5, Latency: &Latency{Limit: 30 * time.Second}, Points: []Point{{at(0), 7}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestParseErrors(t *testing.T) {
	series := func(rest string) string {
		return "series:\n- workload: Deployment/shop/web\n  metric: cpu\n  " + strings.ReplaceAll(rest, "\n", "\n  ")
	}
	for text, want := range map[string]string{
		"series: []": "there are no series in it",
		"series:\n- workload: web\n  metric: cpu\n  points: [{at: 0s, value: 1}]": `workload "web": write KIND/NAMESPACE/NAME`,
		series("points: []"):                                                                                                    "has no points",
		series("points: [{at: 0s}]"):                                                                                            "point 1: value is not set",
		series("points: [{at: soon, value: 1}]"):                                                                                `at: "soon" is neither an offset`,
		series("points: [{at: 0s, value: 1, over: 1m}]"):                                                                        "there is no value before it",
		series("points: [{at: 0s, value: 1}, {at: 0s, value: 2}]"):                                                              "is not after the one before it",
		series("points: [{at: 0s, value: -1}]"):                                                                                 "is no amount of work",
		series("sharing: most\npoints: [{at: 0s, value: 1}]"):                                                                   `sharing "most": choose`,
		series("sharing: queued\npoints: [{at: 0s, value: 1}]"):                                                                 "a queue needs a number above 0",
		series("serves: 3\npoints: [{at: 0s, value: 1}]"):                                                                       "serves is only for what is queued",
		series("latency: {limit: 0s, service: 1s}\npoints: [{at: 0s, value: 1}]"):                                               "latency: limit: write how long",
		series("latency: {limit: 1s}\npoints: [{at: 0s, value: 1}]"):                                                            "latency: service: write how long",
		series("latency: {limit: 1s, service: 1s}\npoints: [{at: 0s, value: 1}]"):                                               "service 1s is not below the limit 1s",
		series("latency: {limit: 1s, service: 1ms}\nsharing: each\npoints: [{at: 0s, value: 1}]"):                               "latency is for cpu that is divided",
		series("latency: {limit: 1s, service: 1ms}\nsharing: queued\nserves: 1\npoints: [{at: 0s, value: 1}]"):                  "service is only for what is divided",
		series("point: [{at: 0s, value: 1}]"):                                                                                   "point",
		series("points: [{at: 0s, value: 1}, {at: 1s, value: 1, over: 2000000h}]"):                                              "more than 1000000 points",
		series("points: [{at: 0s, value: 1}]") + "\n" + strings.TrimPrefix(series("points: [{at: 0s, value: 1}]"), "series:\n"): "given twice",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n  error %v, want one with %q", text, err, want)
		}
	}
}

// FuzzParse: no text makes it panic, and what it takes is demand.
func FuzzParse(f *testing.F) {
	f.Add([]byte("series:\n- {workload: Deployment/a/b, metric: cpu, points: [{at: 0s, value: 1}, {at: 1m, value: 2, over: 30s}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		source, err := Parse(data)
		if err != nil {
			return
		}
		got, err := source(start)
		if err != nil {
			return // instants and offsets that do not go together then
		}
		for i := range got {
			if err := got[i].Check(); err != nil {
				t.Errorf("%v", err)
			}
		}
	})
}
