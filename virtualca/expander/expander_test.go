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
