package cloudprovider

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// PriceTable is what nodes and, for the price expander, pods cost. PriceTableHelp describes its file.
type PriceTable struct {
	Currency     string             `json:"currency"`
	MachineTypes map[string]float64 `json:"machineTypes,omitempty"`
	NodeGroups   map[string]float64 `json:"nodeGroups,omitempty"`
	Pods         PodPrices          `json:"pods,omitempty"`
}

// PodPrices are hourly prices of what a pod asks for.
type PodPrices struct {
	CPU       float64 `json:"cpu,omitempty"`
	MemoryGiB float64 `json:"memoryGiB,omitempty"`
	GPU       float64 `json:"gpu,omitempty"`
}

// HasPrices says whether there is a price table.
func (p *Provider) HasPrices() bool { return p.opts.Prices != nil }

// NodePrice is the price of a node from one instant to another, in the table's currency. An unknown machine type is
// an error that names it; an unknown price is never zero.
func (p *Provider) NodePrice(n *corev1.Node, from, to time.Time) (float64, error) {
	t := p.opts.Prices
	if t == nil {
		return 0, fmt.Errorf("price of node %s: there is no price table", n.Name)
	}
	hours := to.Sub(from).Hours()
	name, known := p.GroupForNode(n)
	if known {
		if v, ok := t.NodeGroups[name]; ok {
			return v * hours, nil
		}
	}
	machine := n.Labels[corev1.LabelInstanceTypeStable]
	if machine == "" {
		machine = n.Labels[corev1.LabelInstanceType]
	}
	if machine == "" && known {
		machine = p.groups[name].MachineType
	}
	if v, ok := t.MachineTypes[machine]; ok && machine != "" {
		return v * hours, nil
	}
	return 0, fmt.Errorf("price of node %s (node group %q): machine type %q is not in the price table", n.Name, name, machine)
}

// gpuResources are the extended resources priced as GPUs.
var gpuResources = []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"}

// PodPrice is what a pod's requests are worth from one instant to another, in the table's currency.
func (p *Provider) PodPrice(pod *corev1.Pod, from, to time.Time) (float64, error) {
	t := p.opts.Prices
	if t == nil {
		return 0, fmt.Errorf("price of pod %s/%s: there is no price table", pod.Namespace, pod.Name)
	}
	r := resource.PodRequests(pod, resource.PodResourcesOptions{})
	perHour := float64(r.Cpu().MilliValue())/1000*t.Pods.CPU + float64(r.Memory().Value())/(1<<30)*t.Pods.MemoryGiB
	for _, name := range gpuResources {
		if q, ok := r[name]; ok {
			perHour += float64(q.Value()) * t.Pods.GPU
		}
	}
	return perHour * to.Sub(from).Hours(), nil
}
