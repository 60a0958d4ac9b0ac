package foresight

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/forecast"
)

var update = flag.Bool("update", false, "write the wanted texts")

var monday = time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC)

// holiday is a week of days with 10 at night and 120 from nine to five, of which the fourth is a holiday, and half an hour that is not known.
func holiday() Series {
	s := Series{Name: "Deployment/shop/web requests"}
	for at := monday; at.Before(monday.Add(6 * 24 * time.Hour)); at = at.Add(10 * time.Minute) {
		v := 10.0
		if at.Hour() >= 9 && at.Hour() < 17 && at.Day() != 7 {
			v = 120
		}
		if gap := at.Sub(monday.Add(50 * time.Hour)); gap >= 0 && gap < 30*time.Minute {
			v = math.NaN()
		}
		s.Values = append(s.Values, v)
	}
	return s
}

func options() Options {
	return Options{Name: "week", From: monday, Step: 10 * time.Minute, Season: 24 * time.Hour, Lead: 30 * time.Minute, Methods: forecast.Names(), Curves: true}
}

// TestHoliday: on working days the seasons are right and the last value is not, on the holiday and the day after it is the other way round; and the whole report.
func TestHoliday(t *testing.T) {
	r, err := Run(t.Context(), []Series{holiday(), {Name: "short", Values: []float64{1, 2}}}, options())
	if err != nil {
		t.Fatal(err)
	}
	s := r.Series[0]
	last, naive := s.Forecasts[0], s.Forecasts[1]
	if last.Method != forecast.Last || naive.Method != forecast.Naive {
		t.Fatalf("%s, %s", last.Method, naive.Method)
	}
	for i, p := range naive.Seasons {
		off := p.From.Day() == 7 || p.From.Day() == 8
		if off != (p.Mean > last.Seasons[i].Mean) || off != (p.Mean > 0) {
			t.Errorf("%s: %v of the season, %v of the last value", stamp(p.From), p.Mean, last.Seasons[i].Mean)
		}
	}
	if w := naive.WorstHigh; w.At.Day() != 7 || w.Predicted != 120 || w.Came != 10 {
		t.Errorf("%+v", w)
	}
	if w := naive.WorstLow; w.At.Day() != 8 || w.Predicted != 10 || w.Came != 120 {
		t.Errorf("%+v", w)
	}
	var csv, page bytes.Buffer
	if err := r.CSV(&csv); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(csv.String(), "\n"); len(lines) != len(holiday().Values)+2 || lines[0] != "series,at,value,came,last,seasonal-naive,seasonal,seasonal-drift,holt-winters,judged" ||
		!slices.Contains(lines, "Deployment/shop/web requests,2026-05-05T08:40:00Z,10,120,10,120,120,120,120,true") {
		t.Errorf("%d lines: %s", len(lines), csv.String()[:300])
	}
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "worst too high: 120 of 10 at 2026-05-07") || strings.Contains(page.String(), "NaN") {
		t.Error("the page lacks the worst moment, or has NaN in it")
	}
	goldentest.Text(t, filepath.Join("testdata", "holiday.txt"), r.Text(), *update)
}

// TestExample: the picture of the documentation is that of the example.
func TestExample(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "horizontal", "week.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := load.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	series, err := source(monday)
	if err != nil {
		t.Fatal(err)
	}
	s := Series{Name: "requests"}
	for at := monday; at.Before(monday.Add(12 * 24 * time.Hour)); at = at.Add(5 * time.Minute) {
		v, _ := series[0].At(at)
		s.Values = append(s.Values, v)
	}
	o := options()
	o.Step, o.Methods = 5*time.Minute, []string{forecast.Naive, forecast.HoltWinters}
	r, err := Run(t.Context(), []Series{s}, o)
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Text(t, filepath.Join("..", "..", "docs", "images", "forecast-week.svg"), r.Chart(0).SVG(true), *update)
}

// TestErrors: the measures of predictions that are known.
func TestErrors(t *testing.T) {
	// The last value of 1, 3, 2, 2, 0 a step ahead: 1 for 3, 3 for 2, 2 for 2, 2 for 0.
	o := Options{From: monday, Step: time.Second, Season: 2 * time.Second, Lead: time.Second}
	r, err := Run(t.Context(), []Series{{Name: "m", Values: []float64{1, 3, 2, 2, 0}}}, o)
	if err != nil {
		t.Fatal(err)
	}
	percent := (2.0/3 + 1.0/2 + 0) / 3
	want := Errors{Judged: 4, Mean: 5.0 / 4, Bias: 1.0 / 4, Percent: &percent, Low: 1.0 / 4, Short: 2,
		WorstLow: &Miss{monday, 1, 3}, WorstHigh: &Miss{monday.Add(3 * time.Second), 2, 0}}
	if diff := cmp.Diff(want, r.Series[0].Forecasts[0].Errors, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })); diff != "" {
		t.Error(diff)
	}
	o.Learn = 3 * time.Second
	if r, err = Run(t.Context(), []Series{{Name: "m", Values: []float64{1, 3, 2, 2, 0}}}, o); err != nil || r.Series[0].Judged != 1 || r.Series[0].Mean != 0 || r.Series[0].Forecasts[0].Percent != nil {
		t.Errorf("after learning: %+v, %v", r, err)
	}
}

// TestNothing: what cannot be judged is an error that says what is missing.
func TestNothing(t *testing.T) {
	for want, all := range map[string][]Series{
		"there is no series": nil,
		"nothing can be judged: m is not judged: 2 values": {{Name: "m", Values: []float64{1, math.NaN(), 2}}},
	} {
		if _, err := Run(t.Context(), all, options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestAhead: against the plain loop, with gaps.
func TestAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 5), rapid.Just(2.0), rapid.Just(math.NaN())), 1, 40).Draw(t, "values")
		lead := rapid.IntRange(1, 10).Draw(t, "lead")
		got := ahead(values, lead)
		for i := range values {
			want := math.Inf(-1)
			for k := i + 1; k <= i+lead; k++ {
				if k >= len(values) {
					want = math.NaN()
					break
				}
				want = math.Max(want, values[k]) // NaN wins
			}
			if got[i] != want && !(math.IsNaN(got[i]) && math.IsNaN(want)) {
				t.Fatalf("at %d: %v, want %v", i, got[i], want)
			}
		}
	})
}

// TestNoFuture: what comes later changes no prediction of an earlier moment.
func TestNoFuture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := holiday()
		cut := rapid.IntRange(0, len(s.Values)-1).Draw(t, "from")
		predicted := func() [][]float64 {
			r, err := Run(t.Context(), []Series{s}, options())
			if err != nil {
				t.Fatal(err)
			}
			return r.Series[0].predicted
		}
		before := predicted()
		factor := rapid.Float64Range(0, 10).Draw(t, "factor")
		for i := cut + 1; i < len(s.Values); i++ {
			s.Values[i] *= factor
		}
		for k, after := range predicted() {
			if !slices.EqualFunc(before[k][:cut+1], after[:cut+1], func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
				t.Fatalf("%s changes before %d", options().Methods[k], cut)
			}
		}
	})
}
