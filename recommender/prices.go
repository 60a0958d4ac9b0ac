package recommender

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// setPrices gives every group its price and its objective. With a price table, a group or node of a group without a
// price is an error that names it: an unknown price is neither zero nor infinite.
func (c *cluster) setPrices() error {
	t := c.req.Prices
	var errs []error
	for _, g := range c.groups {
		if g.node == nil {
			continue
		}
		if t == nil {
			g.objective = c.weights.value(c.table, g.size)
			continue
		}
		v, err := t.PerHour(g.node, g.Name, g.machine)
		if err != nil {
			errs = append(errs, fmt.Errorf("price of node group %s: %w", g.Name, err))
		}
		g.price, g.objective = v, v
	}
	return errors.Join(errs...)
}

func (c *cluster) priceOf(g *group) *float64 {
	if c.req.Prices == nil {
		return nil
	}
	v := g.price
	return &v
}

// costNow is the price of an hour of all nodes in groups.
func (c *cluster) costNow() (float64, error) {
	sum := 0.0
	for _, n := range c.nodes {
		g := c.groupOf[n.Name]
		if g == nil {
			continue
		}
		v, err := c.req.Prices.PerHour(n, g.Name, g.machine)
		if err != nil {
			return 0, fmt.Errorf("price of node %s of node group %s: %w", n.Name, g.Name, err)
		}
		sum += v
	}
	return sum, nil
}

// unit is what objectives are in.
func (c *cluster) unit() string {
	if c.req.Prices == nil {
		return "by weight (" + c.weights.String() + ") for want of prices"
	}
	return c.req.Prices.Currency + " per hour"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
