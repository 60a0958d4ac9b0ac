package forecast

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func made(t interface{ Fatal(...any) }, method string, season, lead, step time.Duration) *Forecast {
	f, err := New(Spec{"requests", method, season, lead}, step)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestMethods: a season of four steps, of which the third is high, and higher each season.
func TestMethods(t *testing.T) {
	values := []float64{1, 1, 30, 1, 1, 1, 60, 1, 1, 1, 90, 1, 1}
	for _, c := range []struct {
		method string
		after  int // values
		lead   int
		want   float64 // NaN: not known
	}{
		{Last, 3, 2, 30}, {Last, 4, 2, 1},
		{Naive, 4, 1, 1}, {Naive, 4, 2, 1}, {Naive, 4, 3, 30}, {Naive, 6, 1, 30}, {Naive, 7, 3, 1}, {Naive, 1, 1, math.NaN()},
		{Seasonal, 6, 1, 30}, {Seasonal, 10, 1, 45}, {Seasonal, 13, 2, 60}, {Seasonal, 13, 1, 1}, {Seasonal, 1, 2, math.NaN()},
		{Drift, 6, 1, 30}, {Drift, 10, 1, 90}, {Drift, 13, 2, 120},
		{HoltWinters, 3, 1, math.NaN()}, {HoltWinters, 4, 3, 30}, {HoltWinters, 4, 1, 1},
	} {
		f := made(t, c.method, 4*time.Minute, time.Duration(c.lead)*time.Minute, time.Minute)
		for _, v := range values[:c.after] {
			f.Observe(v)
		}
		got, err := f.Predict()
		switch {
		case math.IsNaN(c.want):
			if !errors.Is(err, ErrUnknown) {
				t.Errorf("%s after %d: %v, %v; want none", c.method, c.after, got, err)
			}
		case err != nil || math.Abs(got-c.want) > 1e-9:
			t.Errorf("%s after %d, %d ahead: %v, %v; want %v", c.method, c.after, c.lead, got, err, c.want)
		}
	}
}

// TestGaps: what is not known is left out; where nothing is, there is no forecast.
func TestGaps(t *testing.T) {
	gap := math.NaN()
	for _, c := range []struct {
		method string
		values []float64
		want   float64
	}{
		{Last, []float64{5, gap}, gap},
		{Naive, []float64{1, gap, 7, 1}, 7}, {Naive, []float64{1, gap, gap, 1}, gap},
		{Seasonal, []float64{1, 10, 2, gap, gap, 1}, 10}, // the last season is not known
		{Drift, []float64{1, 10, 2, 1, 30, 2, gap, gap, 1, 1, 50, 2}, 60},
	} {
		f := made(t, c.method, 3*time.Minute, 2*time.Minute, time.Minute)
		for _, v := range c.values {
			f.Observe(v)
		}
		got, err := f.Predict()
		if err != nil {
			got = gap
		}
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s after %v: %v, want %v", c.method, c.values, got, c.want)
		}
	}
}

// TestNoFuture: whatever comes after it, what was predicted at an instant stays, of every method, for any values and gaps.
func TestNoFuture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(-10, 1000), rapid.Just(math.NaN()))
		season := rapid.IntRange(2, 12).Draw(t, "season")
		lead := rapid.IntRange(1, season).Draw(t, "lead")
		past := rapid.SliceOfN(value, 1, 60).Draw(t, "past")
		one, other := rapid.SliceOfN(value, 20, 20).Draw(t, "future"), rapid.SliceOfN(value, 20, 20).Draw(t, "another")
		for _, name := range Names() {
			run := func(future []float64) (out []float64) {
				f := made(t, name, time.Duration(season)*time.Second, time.Duration(lead)*time.Second, time.Second)
				for _, v := range slices.Concat(past, future) {
					f.Observe(v)
					p, err := f.Predict()
					if err != nil {
						p = math.NaN()
					}
					if math.IsInf(p, 0) {
						t.Fatalf("%s predicts %v", name, p)
					}
					out = append(out, p)
				}
				return out[:len(past)]
			}
			if a, b := run(one), run(other); !slices.EqualFunc(a, b, func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }) {
				t.Fatalf("%s: %v with one future, %v with another", name, a, b)
			}
		}
	})
}

// TestRepeated: what repeats is predicted exactly, by every method but the one that others have to beat.
func TestRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wave := rapid.SliceOfN(rapid.Float64Range(0, 1000), 2, 20).Draw(t, "wave")
		lead := rapid.IntRange(1, len(wave)).Draw(t, "lead")
		n := rapid.IntRange(len(wave), 5*len(wave)).Draw(t, "values")
		want := 0.0
		for k := range lead {
			want = max(want, wave[(n+k)%len(wave)])
		}
		for _, name := range Names()[1:] {
			f := made(t, name, time.Duration(len(wave))*time.Second, time.Duration(lead)*time.Second, time.Second)
			for i := range n {
				f.Observe(wave[i%len(wave)])
			}
			if got, err := f.Predict(); err != nil || math.Abs(got-want) > 1e-6 {
				t.Fatalf("%s: %v, %v; want %v", name, got, err, want)
			}
		}
	})
}

// TestBelowZero: only a metric that was below zero is predicted to be.
func TestBelowZero(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{9, 9, 4, 4, 0, 0}, 0}, {[]float64{9, 9, 4, 4, -1, -1}, -6}} {
		f := made(t, Drift, 2*time.Second, time.Second, time.Second)
		for _, v := range c.values {
			f.Observe(v)
		}
		if got, err := f.Predict(); err != nil || got != c.want {
			t.Errorf("%v: %v, %v; want %v", c.values, got, err, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for name, want := range map[string]Spec{
		"forecast:requests:rate:24h:10m":         {"requests:rate", Seasonal, 24 * time.Hour, 10 * time.Minute},
		"forecast:requests:24h:10m:holt-winters": {"requests", HoltWinters, 24 * time.Hour, 10 * time.Minute},
	} {
		if s, err := Parse(name); err != nil || s != want {
			t.Errorf("%+v, %v", s, err)
		}
	}
	for name, want := range map[string]string{"forecast:requests": "write forecast:METRIC", "forecast::24h:1m": "write forecast:METRIC", "forecast:a:1h:2h": "no longer than the season", "forecast:a:1h:0s": "must be positive",
		"requests": "write", "forecast:a:1h:1s": "multiples of 15s", "forecast:a:1h:1m:best": "seasonal-naive, seasonal,", "forecast:a:15s:15s": "want 2 to", "forecast:a:99999h:1m": "want 2 to"} {
		if _, err := Parse(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, err := New(Spec{"m", "best", time.Hour, time.Minute}, time.Minute); err == nil {
		t.Error("an unknown method is taken")
	}
}
