package cloudprovider

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/prices"
)

// Prices is the price table, nil when nothing has a price. Read only.
func (p *Provider) Prices() *prices.Table { return p.opts.Prices }

// HasPrices says whether there is a price table.
func (p *Provider) HasPrices() bool { return p.opts.Prices != nil }

// NodePrice is the price of a node from one instant to another, in the table's currency. An unknown machine type is
// an error that names it; an unknown price is never zero.
func (p *Provider) NodePrice(n *corev1.Node, from, to time.Time) (float64, error) {
	t := p.opts.Prices
	if t == nil {
		return 0, fmt.Errorf("price of node %s: there is no price table", n.Name)
	}
	name, machine := "", ""
	if group, known := p.GroupForNode(n); known {
		name, machine = group, p.groups[group].MachineType
	}
	v, err := t.PerHour(n, name, machine)
	if err != nil {
		return 0, fmt.Errorf("price of %s (node group %q): %w", "node "+cmp.Or(n.Name, "template"), name, err)
	}
	return v * to.Sub(from).Hours(), nil
}

// PodPrice is what a pod's requests are worth from one instant to another, in the table's currency.
func (p *Provider) PodPrice(pod *corev1.Pod, from, to time.Time) (float64, error) {
	t := p.opts.Prices
	if t == nil {
		return 0, fmt.Errorf("price of pod %s/%s: there is no price table", pod.Namespace, pod.Name)
	}
	return t.PodPerHour(pod) * to.Sub(from).Hours(), nil
}
