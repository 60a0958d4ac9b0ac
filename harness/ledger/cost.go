package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
)

// Cost is node time in the window, from joining to being gone, times the price of the machine type. A node whose machine type has no price is reported, never
// counted as free: then there is no total.
func (l *Ledger) Cost(end time.Time, currency string) (*scalehist.Cost, []string) {
	c := &scalehist.Cost{Currency: currency, NodeGroups: map[string]float64{}, NodeHours: map[string]float64{}}
	var warnings []string
	for _, n := range l.nodeList {
		to := end
		if !n.gone.IsZero() {
			to = n.gone
		}
		group := cmp.Or(n.group, "(not autoscaled)")
		price, err := l.provider.NodePrice(n.object, n.joined, to)
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
	for _, name := range slices.Sorted(maps.Keys(c.NodeGroups)) {
		c.NodeGroups[name] = cents(c.NodeGroups[name])
		c.NodeHours[name] = cents(c.NodeHours[name])
		c.Total += c.NodeGroups[name]
	}
	c.Total = cents(c.Total)
	return c, nil
}

// cents rounds to six digits, far below a price list's, so that sums print alike on every machine.
func cents(v float64) float64 { return math.Round(v*1e6) / 1e6 }
