package prices

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/scalehist/scalehist/internal/near"
)

// Table is what nodes and, for the price expander, pods cost, in one region. Help describes its file;
// File.Select makes one.
type Table struct {
	Currency string `json:"currency"`
	// MachineTypes are types with one price, however they are paid for.
	MachineTypes map[string]float64 `json:"machineTypes,omitempty"`
	NodeGroups   map[string]float64 `json:"nodeGroups,omitempty"`
	Pods         PodPrices          `json:"pods,omitempty"`
	// Provider and Region say where the prices hold, if the file does.
	Provider string `json:"provider,omitempty"`
	Region   string `json:"region,omitempty"`
	// Models are types with a price by model. A type is here or in MachineTypes.
	Models map[string]ByModel `json:"models,omitempty"`
	// Model is how nodes are paid for unless their group or their labels say otherwise; empty: on demand.
	Model Model `json:"model,omitempty"`
	// GroupModels are models by node group.
	GroupModels map[string]Model `json:"groupModels,omitempty"`
	// SpotLabels are node labels (key=value) of spot nodes, beside the well-known ones.
	SpotLabels []string `json:"spotLabels,omitempty"`
}

// PodPrices are hourly prices of what a pod asks for.
type PodPrices struct {
	CPU       float64 `json:"cpu,omitempty"`
	MemoryGiB float64 `json:"memoryGiB,omitempty"`
	GPU       float64 `json:"gpu,omitempty"`
}

// PerHour is the price of a node for an hour, by its group ("" for none), else by its machine type: that of its labels,
// else the given one. An unknown price is an error that names the type.
func (t *Table) PerHour(n *corev1.Node, group, machineType string) (float64, error) {
	if v, ok := t.NodeGroups[group]; ok && group != "" {
		return v, nil
	}
	return t.hourly(cmp.Or(n.Labels[corev1.LabelInstanceTypeStable], n.Labels[corev1.LabelInstanceType], machineType), n.Labels, group)
}

// hourly is the price of an hour of a machine type, for a node with these labels in this group.
func (t *Table) hourly(machine string, labels map[string]string, group string) (float64, error) {
	model, asked, why := t.modelOf(labels, group)
	if v, ok := t.MachineTypes[machine]; ok && machine != "" {
		if asked && model != OnDemand {
			return 0, fmt.Errorf("machine type %q has one price and no %s price in the price table%s, and %s: write \"%s: {onDemand: %v, %s: ...}\"",
				machine, model, t.where(), why, machine, v, model)
		}
		return v, nil
	}
	if prices, ok := t.Models[machine]; ok && machine != "" {
		if v := prices.of(model); v != nil {
			return *v, nil
		}
		return 0, fmt.Errorf("machine type %q has no %s price in the price table%s (only %s), and %s", machine, model, t.where(), prices.known(), why)
	}
	return 0, fmt.Errorf("machine type %q is not in the price table%s%s: give it a price under machineTypes, or its node group one under nodeGroups", machine, t.where(), t.nearest(machine))
}

// where names the region of the table, if it has one.
func (t *Table) where() string {
	if name := strings.Trim(t.Provider+" "+t.Region, " "); name != "" {
		return " of " + name
	}
	return ""
}

// nearest names the known types that could be meant.
func (t *Table) nearest(machine string) string {
	if machine == "" {
		return ", the node has no label " + corev1.LabelInstanceTypeStable
	}
	known := slices.Concat(slices.Sorted(maps.Keys(t.MachineTypes)), slices.Sorted(maps.Keys(t.Models)))
	if names := near.Names(machine, known, 3); len(names) > 0 {
		return "; the nearest known: " + strings.Join(names, ", ")
	}
	return fmt.Sprintf(", which has %d machine types and none like it", len(known))
}

// Groups are the node groups the table names.
func (t *Table) Groups() []string {
	return slices.Concat(slices.Sorted(maps.Keys(t.NodeGroups)), slices.Sorted(maps.Keys(t.GroupModels)))
}

// gpuResources are the extended resources priced as GPUs.
var gpuResources = []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915"}

// PodPerHour is what a pod's requests are worth for an hour.
func (t *Table) PodPerHour(pod *corev1.Pod) float64 {
	r := resource.PodRequests(pod, resource.PodResourcesOptions{})
	perHour := float64(r.Cpu().MilliValue())/1000*t.Pods.CPU + float64(r.Memory().Value())/(1<<30)*t.Pods.MemoryGiB
	for _, name := range gpuResources {
		if q, ok := r[name]; ok {
			perHour += float64(q.Value()) * t.Pods.GPU
		}
	}
	return perHour
}
