package recommender

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The scoring policies.
const (
	// LeastCost takes the node that takes the largest share of what still waits, for its price.
	LeastCost = "least-cost"
	// LeastWaste takes the node of which the smallest share is left unused, as the expander of that name does.
	LeastWaste = "least-waste"
	// Weighted takes the node that takes most weighted resources, for its price.
	Weighted = "weighted"
)

// Scorings lists the policies.
func Scorings() []string { return []string{LeastCost, LeastWaste, Weighted} }

// tie is the relative difference below which scores are equal: what rounding of decimal prices makes of equals.
const tie = 1e-9

// scorer compares nodes of groups by the pods they take.
type scorer struct {
	name string
	// rule is said in the recommendation.
	rule string
	// lower: the lower score wins.
	lower bool
	score func(g *group, taken, waiting amounts) float64
}

const tieRule = "; ties: lower price, then fewer resources (cpu, memory, others), then order of the groups"

// newScorer finds the policy and checks that it can be followed.
func newScorer(c *cluster) (scorer, error) {
	name := c.req.Scoring
	if name == "" {
		name = LeastCost
		if c.req.Prices == nil {
			name = LeastWaste
		}
	}
	t := c.table
	switch name {
	case LeastWaste:
		return scorer{name, "unused share of cpu and memory of the new node, summed: lower is better" + tieRule, true,
			func(g *group, taken, _ amounts) float64 {
				return unused(g, taken, cpuSlot) + unused(g, taken, memorySlot)
			}}, nil
	case LeastCost:
		if err := c.perPrice(name); err != nil {
			return scorer{}, err
		}
		return scorer{name, "mean share, over the resources asked for, of all that waits, that the new node takes, per price of an hour: higher is better" + tieRule, false,
			func(g *group, taken, waiting amounts) float64 { return share(taken, waiting) / g.price }}, nil
	case Weighted:
		if err := c.perPrice(name); err != nil {
			return scorer{}, err
		}
		w := c.weights
		return scorer{name, "requests on the new node weighted by " + w.String() + " for a core, a GiB, a piece, per price of an hour: higher is better" + tieRule, false,
			func(g *group, taken, _ amounts) float64 { return w.value(t, taken) / g.price }}, nil
	}
	return scorer{}, fmt.Errorf("unknown scoring %q: choose one of %s", name, strings.Join(Scorings(), ", "))
}

// perPrice: the policy divides by prices, so there must be some, and none of them zero.
func (c *cluster) perPrice(name string) error {
	if c.req.Prices == nil {
		return fmt.Errorf("scoring %q needs prices: give a price table, or take %s", name, LeastWaste)
	}
	var errs []error
	for _, g := range c.groups {
		if g.node != nil && g.price <= 0 {
			errs = append(errs, fmt.Errorf("scoring %q divides by the price, and that of node group %s (machine type %q) is %v: give its price, or take %s", name, g.Name, g.machine, g.price, LeastWaste))
		}
	}
	return errors.Join(errs...)
}

// unused is the share of a fresh node that these pods leave; DaemonSet and static pods count as waste.
func unused(g *group, taken amounts, slot int) float64 {
	if g.size[slot] == 0 {
		return 0
	}
	return 1 - float64(taken[slot])/float64(g.size[slot])
}

// share is the mean of taken/waiting over the resources that are waited for; of pods, when nothing else is.
func share(taken, waiting amounts) float64 {
	sum, n := 0.0, 0
	for i := range waiting {
		if i != podsSlot && waiting[i] > 0 {
			sum += float64(taken[i]) / float64(waiting[i])
			n++
		}
	}
	if n == 0 {
		return float64(taken[podsSlot]) / float64(max(1, waiting[podsSlot]))
	}
	return sum / float64(n)
}

// outcome is one node of a group with what it would take.
type outcome struct {
	g *group
	// counts are pods by class, pods their number, top their highest priority.
	counts []int
	pods   int
	top    int32
	taken  amounts
	score  float64
	// why it takes none.
	why string
}

// compare is negative when a is better.
func (s *scorer) compare(a, b *outcome) int {
	if d := cmp.Compare(b.top, a.top); d != 0 {
		return d
	}
	if d := approx(a.score, b.score); d != 0 {
		if s.lower {
			return d
		}
		return -d
	}
	return cmp.Or(approx(a.g.price, b.g.price), fewer(a.g.size, b.g.size), cmp.Compare(a.g.order, b.g.order))
}

// approx compares with a tolerance.
func approx(a, b float64) int {
	if d := a - b; d > tie*max(abs(a), abs(b)) {
		return 1
	} else if -d > tie*max(abs(a), abs(b)) {
		return -1
	}
	return 0
}

func abs(x float64) float64 { return max(x, -x) }

// rank sorts outcomes, the best first. The best is found by one pass in the order of the groups, so that the tolerance,
// which is not transitive, cannot make it depend on the sort.
func (s *scorer) rank(all []*outcome) {
	if len(all) == 0 {
		return
	}
	best := 0
	for i := range all {
		if s.compare(all[i], all[best]) < 0 {
			best = i
		}
	}
	all[0], all[best] = all[best], all[0]
	slices.SortStableFunc(all[1:], func(a, b *outcome) int { return cmp.Or(s.compare(a, b), cmp.Compare(a.g.order, b.g.order)) })
}

// why says in words what put the first before the second.
func (s *scorer) why(best, second *outcome) string {
	switch {
	case second == nil:
		return "the only group that helps"
	case best.top != second.top:
		return fmt.Sprintf("takes pods of priority %d, %s at most %d", best.top, second.g.Name, second.top)
	case approx(best.score, second.score) != 0:
		return fmt.Sprintf("best score by %s: %.6g against %.6g of %s", s.name, best.score, second.score, second.g.Name)
	case approx(best.g.price, second.g.price) != 0:
		return fmt.Sprintf("same score as %s, lower price", second.g.Name)
	case fewer(best.g.size, second.g.size) != 0:
		return fmt.Sprintf("same score and price as %s, fewer resources", second.g.Name)
	}
	return fmt.Sprintf("same score, price and resources as %s, first in order", second.g.Name)
}
