package expander

import (
	"maps"
	"slices"
	"testing"

	"github.com/scalehist/scalehist/virtualca/config"
)

// TestEveryExpanderIsThere: what the settings let through is one that can choose.
func TestEveryExpanderIsThere(t *testing.T) {
	got := append(slices.Sorted(maps.Keys(expanders)), config.ExpanderRandom)
	if want := config.Expanders(); !slices.Equal(got, want) {
		t.Errorf("expanders %q, the settings know %q", got, want)
	}
}

func TestUnfitness(t *testing.T) {
	for _, tc := range []struct {
		cluster, nodes int
		cpu            float64
		want           float64
	}{{1, 1, 1000, 1}, {1, 1, 4000, 4}, {20, 1, 1000, 4}, {1000, 1, 32000, 1}} {
		if got := unfitness(preferredCPU(tc.cluster), tc.cpu, tc.nodes); got != tc.want {
			t.Errorf("cluster of %d, %d nodes of %v: got %v, want %v", tc.cluster, tc.nodes, tc.cpu, got, tc.want)
		}
	}
	if one, many := unfitness(1000, 8000, 1), unfitness(1000, 8000, 60); many >= one {
		t.Errorf("many nodes: got %v, want less than %v", many, one)
	}
}

// TestTiesAreDrawn: upstream draws among the options that its expanders leave. A seed is one of its runs; seed 0 is the run that draws the first.
func TestTiesAreDrawn(t *testing.T) {
	drawn := func(seed int64, first bool) string {
		c := New(&config.Settings{Seed: seed, FirstOfTies: first})
		return c.Choose(Situation{}, []*Option{{Group: "a"}, {Group: "b"}, {Group: "c"}}).Group
	}
	counts := map[string]int{}
	for seed := range int64(300) {
		if got := drawn(seed, true); got != "a" {
			t.Fatalf("seed %d, the first of ties: got %s", seed, got)
		}
		counts[drawn(seed, false)]++
	}
	if drawn(0, false) != "a" {
		t.Errorf("seed 0 took %s", drawn(0, false))
	}
	for _, group := range []string{"a", "b", "c"} {
		if counts[group] < 70 || counts[group] > 130 {
			t.Errorf("%s was drawn by %d seeds of 300", group, counts[group])
		}
	}
}
