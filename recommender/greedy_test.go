package recommender

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var near = cmpopts.EquateApprox(1e-9, 1e-9)

// TestTwoSmallNodesAgainstOneLarge is the known case in which looking one node ahead is not enough, both ways round.
func TestTwoSmallNodesAgainstOneLarge(t *testing.T) {
	for _, tc := range []struct {
		name            string
		prices          map[string]float64
		pods            int
		cpu, memory     string
		greedy, optimal map[string]int
		cost, least     float64
	}{
		// A small node scores best for its price, and its second one is half empty.
		{"a large one is cheaper than two small ones", map[string]float64{"2x8": 0.10, "4x16": 0.17}, 3, "1", "1Gi",
			map[string]int{"small": 2}, map[string]int{"large": 1}, 0.20, 0.17},
		// A large node scores best, and the pod that is left needs a large one, too, where a small one would have done.
		{"the large one scores best, a small one does", map[string]float64{"2x8": 0.10, "4x16": 0.16}, 5, "1", "1Gi",
			map[string]int{"large": 1, "small": 1}, map[string]int{"large": 1, "small": 1}, 0.26, 0.26},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := request([]NodeGroup{testGroup("small", "2x8", 0, 9, 0), testGroup("large", "4x16", 0, 9, 0)}, testPods("web", tc.pods, tc.cpu, tc.memory))
			r.Prices = priced(tc.prices)
			got := recommend(t, r)
			if diff := cmp.Diff(tc.greedy, sizes(got)); diff != "" {
				t.Errorf("greedy (-want +got):\n%s", diff)
			}
			want := Optimality{Unit: "EUR per hour", Cost: tc.cost, LowerBound: tc.least, Gap: tc.cost/tc.least - 1, Exact: true, Optimal: tc.cost == tc.least}
			if diff := cmp.Diff(want, got.Optimality, near, cmpopts.IgnoreFields(Optimality{}, "Method")); diff != "" {
				t.Errorf("greedy says (-want +got):\n%s", diff)
			}
			r.Strategy = Optimal
			got = recommend(t, r)
			if diff := cmp.Diff(tc.optimal, sizes(got)); diff != "" {
				t.Errorf("optimal (-want +got):\n%s", diff)
			}
			if o := got.Optimality; !o.Optimal || approx(o.Cost, tc.least) != 0 {
				t.Errorf("optimal says %+v", o)
			}
		})
	}
}
