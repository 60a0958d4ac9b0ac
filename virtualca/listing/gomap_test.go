package listing

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// TestSmallMapWalksAsGos: a map of up to eight entries is walked in the orders in which Go walks one with the same history, all of them and
// no others.
func TestSmallMapWalksAsGos(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		real, ours := map[string]bool{}, newGoMap(func(string) uint64 { return 0 })
		for range rapid.IntRange(0, 30).Draw(rt, "changes") {
			key := strconv.Itoa(rapid.IntRange(0, 9).Draw(rt, "key"))
			switch {
			case real[key]:
				delete(real, key)
				ours.remove(key)
			case len(real) < groupSlots:
				real[key] = true
				ours.put(key)
			}
		}
		want, got := map[string]bool{}, map[string]bool{}
		for range 500 { // each of eight beginnings stays away with a chance of 10^-29
			want[strings.Join(slices.Collect(maps.Keys(real)), " ")] = true
		}
		for chance := range uint64(groupSlots) {
			got[strings.Join(ours.walk(chance), " ")] = true
		}
		if !maps.Equal(want, got) {
			rt.Fatalf("Go walks %v, we %v", slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
		}
	})
}

// TestLargeMapWalksInACircle: a map that grew has all its keys, each once, and every walk is another beginning of one circle.
func TestLargeMapWalksInACircle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Int64().Draw(rt, "seed")
		m := newGoMap(func(key string) uint64 { return shuffleKey(seed, key) })
		want := map[string]bool{}
		for range rapid.IntRange(0, 200).Draw(rt, "changes") {
			key := strconv.Itoa(rapid.IntRange(0, 60).Draw(rt, "key"))
			if want[key] {
				delete(want, key)
				m.remove(key)
			} else {
				want[key] = true
				m.put(key)
			}
		}
		first := m.walk(0)
		if !slices.Equal(slices.Sorted(maps.Keys(want)), slices.Sorted(slices.Values(first))) {
			rt.Fatalf("keys %v, want %v", first, slices.Sorted(maps.Keys(want)))
		}
		walk := m.walk(rapid.Uint64().Draw(rt, "chance"))
		if len(walk) == 0 {
			return
		}
		if at := slices.Index(first, walk[0]); !slices.Equal(walk, slices.Concat(first[at:], first[:at])) {
			rt.Fatalf("walk %v is not on the circle %v", walk, first)
		}
	})
}

// TestNodesAsStored: of three nodes the first is listed first in six of eight loops, whatever the order they are given in.
func TestNodesAsStored(t *testing.T) {
	var nodes []*corev1.Node
	for _, name := range []string{"c", "a", "b"} {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	var s Nodes
	first := map[string]int{}
	for loop := range 4000 {
		list := s.List(nodes, 0, loop)
		first[list[0].Name]++
		if order := list[0].Name + list[1].Name + list[2].Name; order != "abc" && order != "bca" && order != "cab" {
			t.Fatalf("loop %d lists %s", loop, order)
		}
	}
	if first["a"] < 2800 || first["a"] > 3200 || first["b"] < 400 || first["c"] < 400 {
		t.Errorf("4000 lists began %v, want a in six of eight", first)
	}
}
