package conformance

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstItself holds the formula against runs that are drawn and judged as the cases were measured.
func TestAgainstItself(t *testing.T) {
	if got := againstItself([]float64{1}); got != 1 {
		t.Errorf("one outcome: %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(0.01, 1), 2, 4).Draw(t, "weights")
		total := 0.0
		for _, w := range weights {
			total += w
		}
		for i := range weights {
			weights[i] /= total
		}
		rng := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "seed")))
		draw := func() int {
			x := rng.Float64()
			for i, w := range weights {
				if x -= w; x < 0 {
					return i
				}
			}
			return len(weights) - 1
		}
		const trials = 4_000
		hits := 0
		for range trials {
			var seen []int
			for range fewRuns {
				seen = append(seen, draw())
			}
			if slices.Min(seen) != slices.Max(seen) {
				for range manyRuns - fewRuns {
					seen = append(seen, draw())
				}
			}
			if slices.Contains(seen, draw()) {
				hits++
			}
		}
		got, want := againstItself(weights), float64(hits)/trials
		if math.Abs(got-want) > 0.045 { // more than five standard deviations
			t.Fatalf("%v: the formula says %.3f, runs %.3f", weights, got, want)
		}
	})
}

func TestSeeds(t *testing.T) {
	cases := load(t)[:40]
	cases = append(cases, Case{Name: "not judged", Input: cases[0].Input})
	s, err := Seeds(t.Context(), cases, 3)
	if err != nil {
		t.Fatal(err)
	}
	agreed := 0
	for seed := range 3 {
		for _, c := range cases[:40] {
			if r, err := RunSeed(t.Context(), c, int64(seed)); err != nil {
				t.Fatal(err)
			} else if r.Agrees {
				agreed++
			}
		}
	}
	if s.Cases != 40 || s.Seeds != 3 || math.Abs(s.Mean-float64(agreed)/3) > 1e-9 || s.Least > s.Most || s.Mean < float64(s.Least) || s.Mean > float64(s.Most) {
		t.Errorf("%+v, %d agreed", s, agreed)
	}
}
