package listing

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListingOrder(t *testing.T) {
	var in []string
	for i := range 50 {
		in = append(in, fmt.Sprintf("default/%c-%d", 'a'+i/25, i))
	}
	self := func(s string) string { return s }
	first := Shuffle(in, 0, self)
	back := slices.Clone(in)
	slices.Reverse(back)
	if diff := cmp.Diff(first, Shuffle(back, 0, self)); diff != "" {
		t.Errorf("the order depends on the input's (-want +got):\n%s", diff)
	}
	if slices.Equal(first, Shuffle(in, 1, self)) {
		t.Error("two salts, one order")
	}
	owners := 0
	for i := 1; i < len(first); i++ {
		if first[i][8] != first[i-1][8] {
			owners++
		}
	}
	if owners < 10 {
		t.Errorf("pods of two owners alternate %d times in 50: not mixed\n%v", owners, first)
	}
}
