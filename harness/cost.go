package harness

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
)

// cost is node time in the window, from joining to being gone, times the price of the machine type. Without a price
// table there is none. A node whose machine type has no price is told, never counted as free: then there is no total.
func (r *run) cost(end time.Time) (*scalehist.Cost, []string) {
	if r.opts.prices == nil {
		return nil, nil
	}
	c := &scalehist.Cost{Currency: r.opts.prices.Currency, NodeGroups: map[string]float64{}, NodeHours: map[string]float64{}}
	var warnings []string
	for _, n := range r.ledger.nodeList {
		to := end
		if !n.gone.IsZero() {
			to = n.gone
		}
		group := n.group
		if group == "" {
			group = "(not autoscaled)"
		}
		price, err := r.provider.NodePrice(n.object, n.joined, to)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("no cost: %v", err))
			continue
		}
		c.NodeHours[group] += to.Sub(n.joined).Hours()
		c.NodeGroups[group] += price
	}
	if len(warnings) > 0 {
		slices.Sort(warnings)
		return nil, slices.Compact(warnings)
	}
	for _, name := range sortedKeys(c.NodeGroups) {
		c.NodeGroups[name] = cents(c.NodeGroups[name])
		c.NodeHours[name] = cents(c.NodeHours[name])
		c.Total += c.NodeGroups[name]
	}
	c.Total = cents(c.Total)
	return c, nil
}

// cents rounds to six digits, far below a price list's, so that sums print alike on every machine.
func cents(v float64) float64 { return math.Round(v*1e6) / 1e6 }

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
