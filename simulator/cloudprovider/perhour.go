package cloudprovider

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// PerHour is the price of a node for an hour, by its group ("" for none), else by its machine type: that of its labels,
// else the given one. An unknown price is an error that names the type.
func (t *PriceTable) PerHour(n *corev1.Node, group, machineType string) (float64, error) {
	if v, ok := t.NodeGroups[group]; ok && group != "" {
		return v, nil
	}
	return t.hourly(cmp.Or(n.Labels[corev1.LabelInstanceTypeStable], n.Labels[corev1.LabelInstanceType], machineType), n.Labels, group)
}

// Prices is the price table, nil when nothing has a price. Read only.
func (p *Provider) Prices() *PriceTable { return p.opts.Prices }
