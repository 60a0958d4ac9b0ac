package sweep

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report/metrics"
)

func TestParseParameters(t *testing.T) {
	for _, tt := range []struct {
		texts   []string
		want    []Parameter
		wantErr string
	}{
		{texts: []string{"expander=least-waste,most-pods", "--scan_interval=10s"}, want: []Parameter{{"expander", []string{"least-waste", "most-pods"}}, {"scan-interval", []string{"10s"}}}},
		{texts: []string{`expander=price,"priority,least-waste"`}, want: []Parameter{{"expander", []string{"price", "priority,least-waste"}}}},
		{texts: []string{"weights=cpu=6"}, want: []Parameter{{"weights", []string{"cpu=6"}}}},
		{texts: []string{"expander"}, wantErr: "want a flag and its values"},
		{texts: []string{"=a"}, wantErr: "want a flag and its values"},
		{texts: []string{"expander="}, wantErr: "want a flag and its values"},
		{texts: []string{"expander=a,,b"}, wantErr: "a value is empty"},
		{texts: []string{"expander=a,a"}, wantErr: `the value "a" is there twice`},
		{texts: []string{`expander="a`}, wantErr: "quote a value that has one"},
		{texts: []string{"expander=a\nb"}, wantErr: "values stand on one line"},
		{texts: []string{"expander=a", "--expander=b"}, wantErr: "expander is there twice: give all its values at once"},
	} {
		got, err := ParseParameters(tt.texts)
		if (err == nil) != (tt.wantErr == "") || err != nil && !strings.Contains(err.Error(), tt.wantErr) {
			t.Errorf("%q: error %v, want %q", tt.texts, err, tt.wantErr)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.texts, diff)
		}
	}
}

func FuzzParseParameter(f *testing.F) {
	for _, seed := range []string{"expander=least-waste,most-pods", `a="b,c",d`, "=", "--x=1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseParameter(text)
		if err != nil {
			return
		}
		if p.Name == "" || len(p.Values) == 0 || slices.Contains(p.Values, "") {
			t.Errorf("%q: %+v", text, p)
		}
	})
}

func TestPoints(t *testing.T) {
	params := []Parameter{{"a", []string{"1", "2"}}, {"b", []string{"x", "y"}}}
	var got []string
	for _, p := range Points("ca", params) {
		got = append(got, p.Label()+" "+strings.Join(p.Flags(), " "))
	}
	want := []string{"ca a=1 b=x --a=1 --b=x", "ca a=1 b=y --a=1 --b=y", "ca a=2 b=x --a=2 --b=x", "ca a=2 b=y --a=2 --b=y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Point{{Engine: "ca", Settings: []Setting{}}}, Points("ca", nil)); diff != "" {
		t.Errorf("no parameters (-want +got):\n%s", diff)
	}
	if n := Size(params, 100); n != 4 {
		t.Errorf("size %d, want 4", n)
	}
}

var start = time.Date(2026, time.January, 5, 8, 0, 0, 0, time.UTC)

// outcome is a replay of an hour in which one group has so many nodes, and a pod waits so many seconds for its node.
func outcome(name string, nodes, wait int) Outcome {
	return Played(point(name), replayOf(nodes, wait))
}

func point(name string) Point {
	return Point{Engine: "virtualca", Settings: []Setting{{"expander", name}}}
}

func replayOf(nodes, wait int) *scalehist.ReplayReport {
	return &scalehist.ReplayReport{
		Scenario: "two", Playback: scalehist.PlaybackContinuous, StartTime: start, EndTime: start.Add(time.Hour),
		NodeGroups: []scalehist.NodeGroupResult{{Name: "g", Initial: nodes, Final: nodes, Peak: nodes, Sizes: []scalehist.SizeAt{{Size: nodes}}}},
		Cost:       &scalehist.Cost{Currency: "EUR", Total: float64(nodes), NodeHours: map[string]float64{"g": float64(nodes)}},
		Pending:    scalehist.PendingStats{Pods: 1, PodSeconds: float64(wait), P50: float64(wait), P95: float64(wait), Max: float64(wait)},
	}
}

func measure(t *testing.T, o Options, outcomes ...Outcome) *Sweep {
	t.Helper()
	s, err := Measure(outcomes, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// grid has two rows on the front that differ, one that equals the first of them, one that is beaten, one that failed, and
// one that was not run.
func grid(t *testing.T) *Sweep {
	failed := Outcome{Point: point("typo"), Err: errors.New("the price expander needs prices")}
	open := Outcome{Point: point("late")}
	return measure(t, Options{Scenario: "two", Metrics: []string{"cost", "pending.pod-seconds", "pending.p95"}},
		outcome("cheap", 2, 60), outcome("quick", 4, 20), outcome("bad", 4, 60), outcome("cheap-too", 2, 60), failed, open)
}

func TestFront(t *testing.T) {
	var got []string
	for _, r := range grid(t).Rows {
		if r.Front {
			got = append(got, r.Settings[0].Value)
		}
	}
	if diff := cmp.Diff([]string{"cheap", "quick", "cheap-too"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFrontIsParetoOptimal: a row is on the front exactly if none is as good in both and better in one, whatever the order.
func TestFrontIsParetoOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]int {
			return [2]int{rapid.IntRange(1, 6).Draw(t, "nodes"), rapid.IntRange(0, 6).Draw(t, "wait")}
		}), 1, 12).Draw(t, "rows")
		var outcomes []Outcome
		for i, p := range pairs {
			outcomes = append(outcomes, outcome(fmt.Sprint(i), p[0], p[1]))
		}
		s, err := Measure(outcomes, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range s.Rows {
			beaten := slices.ContainsFunc(pairs, func(o [2]int) bool {
				return o[0] <= pairs[i][0] && o[1] <= pairs[i][1] && o != pairs[i]
			})
			if r.Front == beaten {
				t.Errorf("row %d %v of %v: front %t, beaten %t", i, pairs[i], pairs, r.Front, beaten)
			}
		}
	})
}

func TestText(t *testing.T) {
	want := `sweep of two: 6 replays

   #  ENGINE     EXPANDER   COST   PENDING.POD-SECONDS  PENDING.P95
*  1  virtualca  cheap      2 EUR  1m0s                 1m0s
*  2  virtualca  quick      4 EUR  20s                  20s
   3  virtualca  bad        4 EUR  1m0s                 1m0s
*  4  virtualca  cheap-too  2 EUR  1m0s                 1m0s
   5  virtualca  typo       failed failed               failed
   6  virtualca  late       not run not run             not run

* no other row is as good in cost and pending.pod-seconds and better in one of them

notes
  1 of 6 replays failed
  1 of 6 replays was not run: the sweep was stopped; the front is of those that were

failed
  row 5: the price expander needs prices
`
	got := grid(t).Text()
	if diff := cmp.Diff(squeezed(want), squeezed(got)); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, got)
	}
	if md := grid(t).Markdown(); !strings.Contains(md, "| \\* | 1 | virtualca | cheap |") && !strings.Contains(md, "| * | 1 | virtualca | cheap |") {
		t.Errorf("markdown:\n%s", md)
	}
}

// squeezed makes runs of blanks one: the width of columns is for the table library to choose.
func squeezed(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return out
}

func TestAxes(t *testing.T) {
	for want, o := range map[string]Options{
		"":                            {X: "nodes.peak", Y: "utilization.cpu"},
		"cots":                        {X: "cots"},
		"neither more nor less":       {X: "nodes.final"},
		"metric cost is on both axes": {X: "cost", Y: "cost"},
		"nodes.pek":                   {Metrics: []string{"nodes.pek"}},
	} {
		if err := CheckAxes(o); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	unpriced := replayOf(1, 1)
	unpriced.Cost = nil
	s := measure(t, Options{}, Played(point("a"), unpriced))
	if s.X != "node-hours" || slices.ContainsFunc(s.Metrics, func(m metrics.Metric) bool { return m.Name == "cost" }) {
		t.Errorf("without prices: x %s, %v", s.X, s.Metrics)
	}
}

// TestNumbersDoNotCover: numbers cover neither each other nor marks, and every mark of the front has one.
func TestNumbersDoNotCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var outcomes []Outcome
		for i := range rapid.IntRange(1, 60).Draw(t, "rows") {
			outcomes = append(outcomes, outcome(fmt.Sprint(i), rapid.IntRange(1, 40).Draw(t, "nodes"), rapid.IntRange(0, 40).Draw(t, "wait")))
		}
		s, err := Measure(outcomes, Options{})
		if err != nil {
			t.Fatal(err)
		}
		marks := s.marks()
		for i := range marks {
			marks[i].px, marks[i].py = 100+5*marks[i].x, 100+5*marks[i].y
		}
		labels := placed(marks)
		named := 0
		for i, l := range labels {
			if l.front {
				named++
				continue
			}
			for _, o := range labels[:i] {
				if l.overlaps(o) {
					t.Fatalf("%+v covers %+v", l, o)
				}
			}
			for _, m := range marks {
				if l.overlaps(label{x: m.px - radius, y: m.py - radius, w: 2 * radius, h: 2 * radius}) {
					t.Fatalf("%+v covers the mark of %s", l, m.label())
				}
			}
		}
		front := 0
		for _, m := range marks {
			if m.front {
				front++
			}
		}
		if named != front {
			t.Fatalf("%d of %d marks of the front have numbers", named, front)
		}
	})
}

func TestAxis(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		unit   string
		want   string
	}{
		{[]float64{15.3, 31.9}, "EUR", "15 20 25 30"},
		{[]float64{14.8, 16.5}, "EUR", "15.0 15.5 16.0 16.5"},
		{[]float64{1860, 2100}, metrics.Seconds, "31m 32m 33m 34m 35m"},
		{[]float64{0, 40}, metrics.Seconds, "0s 10s 20s 30s 40s"},
		{[]float64{0, 14400}, metrics.Seconds, "0s 1h 2h 3h 4h"},
		{[]float64{3600, 12000}, metrics.Seconds, "1h 1h30m 2h 2h30m 3h 3h30m"},
		{[]float64{3}, "nodes", "2.7 2.8 2.9 3.0 3.1 3.2 3.3"},
		{[]float64{0}, "nodes", "0.0 0.2 0.4 0.6 0.8 1.0"},
	} {
		a := newAxis(tt.values, tt.unit, 0, 100)
		var b strings.Builder
		a.draw(&b, true)
		var got []string
		for _, m := range regexp.MustCompile(`>([^<]+)</text>`).FindAllStringSubmatch(b.String(), -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v %s: ticks %q, want %q", tt.values, tt.unit, got, tt.want)
		}
	}
}

// TestCSV: one line a row, numbers plain, and what became of it.
func TestCSV(t *testing.T) {
	var b strings.Builder
	if err := grid(t).CSV(&b); err != nil {
		t.Fatal(err)
	}
	const want = `number,front,state,engine,expander,cost (EUR),pending.pod-seconds (s),pending.p95 (s)
1,true,measured,virtualca,cheap,2,60,60
2,true,measured,virtualca,quick,4,20,20
3,false,measured,virtualca,bad,4,60,60
4,true,measured,virtualca,cheap-too,2,60,60
5,false,failed,virtualca,typo,,,
6,false,not run,virtualca,late,,,
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSVG(t *testing.T) {
	svg, err := grid(t).SVG()
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"Sweep of two", "cost (EUR)", "pod seconds pending", ">1, 4<", ">2<", ">3<", ">front: no other row beats it<", ">beaten<", ">1  virtualca expander=cheap<", "prefers-color-scheme:dark"} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("lacks %q:\n%s", want, svg)
		}
	}
	again, err := grid(t).SVG()
	if err != nil || !bytes.Equal(svg, again) {
		t.Errorf("another plot at the second time: %v", err)
	}
	if _, err := measure(t, Options{}, outcome("one", 2, 0)).SVG(); err != nil {
		t.Errorf("one row: %v", err)
	}
	if _, err := measure(t, Options{}, Outcome{Point: point("late")}).SVG(); !errors.Is(err, ErrNothingToPlot) {
		t.Errorf("nothing measured: %v", err)
	}
}
