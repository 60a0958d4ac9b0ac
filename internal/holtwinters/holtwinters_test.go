package holtwinters

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

var weights = Weights{Level: 0.2, Trend: 0.001, Season: 0.3}

// TestExact: what is a season on a line is forecast exactly once a season has been seen, where the line is level, whatever the weights.
func TestExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wave := rapid.SliceOfN(rapid.Float64Range(0, 1000), 2, 20).Draw(t, "wave")
		one := func(name string) float64 { return rapid.Float64Range(0, 1).Draw(t, name) }
		w := Weights{one("level"), one("trend"), one("season")}
		var s Series
		n := rapid.IntRange(len(wave), 5*len(wave)).Draw(t, "values")
		for i := range n {
			if miss, ok := s.Add(w, len(wave), wave[i%len(wave)]); ok != (i >= len(wave)) || math.Abs(miss) > 1e-6 {
				t.Fatalf("value %d: %v, %v", i, miss, ok)
			}
		}
		steps := rapid.IntRange(1, len(wave)).Draw(t, "steps")
		want := math.Inf(-1)
		for k := range steps {
			want = max(want, wave[(n+k)%len(wave)])
		}
		if got := s.Highest(steps); math.Abs(got-want) > 1e-6 {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// TestMissing: a step without a value changes no forecast of a step, and moves the season on.
func TestMissing(t *testing.T) {
	var s Series
	s.Add(weights, 3, math.NaN()) // nothing is begun with
	for _, v := range []float64{1, 5, 9} {
		s.Add(weights, 3, v)
	}
	if got := s.Highest(1); got != 1 {
		t.Errorf("%v, want 1", got)
	}
	if _, ok := s.Add(weights, 3, math.NaN()); ok {
		t.Error("a value that is not known missed a forecast")
	}
	if got := s.Highest(1); got != 5 {
		t.Errorf("%v, want 5", got)
	}
}
