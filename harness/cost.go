package harness

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// cost is node time in the window, from joining to being gone, times the price of the machine type. Without a price
// table there is none. A node whose machine type has no price is reported, never counted as free: then there is no total.
func (r *run) cost(end time.Time) (*scalehist.Cost, []string) {
	if r.opts.prices == nil {
		return nil, nil
	}
	c := &scalehist.Cost{Currency: r.opts.prices.Currency, NodeGroups: map[string]float64{}, NodeHours: map[string]float64{}}
	var warnings []string
	for _, n := range r.ledger.Nodes() {
		to := end
		if !n.Gone.IsZero() {
			to = n.Gone
		}
		group := n.Group
		if group == "" {
			group = "(not autoscaled)"
		}
		price, err := r.provider.NodePrice(n.Object, n.Joined, to)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("no cost: %v", err))
			continue
		}
		c.NodeHours[group] += to.Sub(n.Joined).Hours()
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

// checkPrices refuses a price table that lacks a machine type the scenario can use, before anything is booted.
func (r *run) checkPrices() error {
	if r.opts.prices == nil {
		return nil
	}
	var errs []error
	seen := map[string]bool{}
	check := func(n *corev1.Node) {
		if _, err := r.provider.NodePrice(n, r.in.Start, r.in.Start.Add(time.Hour)); err != nil && !seen[n.Labels[corev1.LabelInstanceTypeStable]] {
			seen[n.Labels[corev1.LabelInstanceTypeStable]] = true // one line a machine type, not a node
			errs = append(errs, err)
		}
	}
	for _, ch := range r.in.Initial {
		if n, ok := ch.Object.(*corev1.Node); ok && ch.Op == scalehist.OpAdd {
			check(n)
		}
	}
	for _, g := range r.in.AllGroups() {
		if g.Template != nil {
			n := g.Template.DeepCopy()
			if n.Annotations == nil {
				n.Annotations = map[string]string{}
			}
			n.Annotations[v1alpha1.NodeGroupAnnotation] = g.Name
			check(n)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("prices: %w", errors.Join(errs...))
	}
	return nil
}

// cents rounds to six digits, far below a price list's, so that sums print alike on every machine.
func cents(v float64) float64 { return math.Round(v*1e6) / 1e6 }
