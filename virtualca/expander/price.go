package expander

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Prices say what nodes and pods cost over a time.
type Prices interface {
	HasPrices() bool
	NodePrice(node *corev1.Node, from, to time.Time) (float64, error)
	PodPrice(pod *corev1.Pod, from, to time.Time) (float64, error)
}

// Check refuses a chain with the price expander where there are no prices for nodes and pods.
func Check(names []string, p Prices) error {
	if !slices.Contains(names, "price") {
		return nil
	}
	if !p.HasPrices() {
		return fmt.Errorf("expander \"price\" needs a price table: give one or choose another expander")
	}
	// Without a price for pods every option would be infinitely dear, and all would tie.
	v, err := p.PodPrice(stabilizer, time.Time{}, time.Time{}.Add(time.Hour))
	if err != nil {
		return fmt.Errorf("expander \"price\" needs pod prices in the price table: %w", err)
	}
	if v <= 0 {
		return fmt.Errorf("expander \"price\" needs pod prices in the price table: set pods: cpu and pods: memoryGiB above 0; now pods cost nothing")
	}
	return nil
}

// gpuUnfitness keeps GPU nodes from winning by price alone.
const gpuUnfitness = 1000.0

// preferredCPU is the node size upstream prefers for a cluster of so many nodes, in milli cores
// (expander/price/preferred.go).
func preferredCPU(nodes int) float64 {
	for _, s := range []struct{ nodes, cpu int }{{2, 1}, {6, 2}, {20, 4}, {60, 8}, {200, 16}} {
		if nodes <= s.nodes {
			return float64(s.cpu * 1000)
		}
	}
	return 32000
}

// unfitness is how far a node is from the preferred size, less so the more nodes there are.
func unfitness(preferred, cpu float64, nodes int) float64 {
	u := math.Max(preferred/cpu, cpu/preferred)
	return (u-1)*(1-math.Tanh(float64(nodes-1)/15)) + 1
}

// stabilizer is a pod added to both sides of the price ratio, so that tiny pods do not decide.
var stabilizer = &corev1.Pod{
	ObjectMeta: metav1.ObjectMeta{Name: "stabilize", Namespace: "kube-system"},
	Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(500, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(500<<20, resource.BinarySI),
	}}}}},
}

// cheapest compares the price of the new nodes for an hour with what the pods on them are worth
// (expander/price/price.go). An option without a price is left out, with a note.
func cheapest(w *weighing, options []*Option) []*Option {
	p, now, then := w.Prices, w.Now, w.Now.Add(time.Hour)
	small, err := p.PodPrice(stabilizer, now, then)
	if err != nil {
		w.Note("price expander: %v", err)
		return nil
	}
	preferred := preferredCPU(w.Nodes)
	return narrow("price", options, func(o *Option) (float64, bool) {
		node, err := p.NodePrice(o.Template, now, then)
		if err != nil {
			w.Note("price expander: %v", err)
			o.Reason = "price: " + err.Error()
			return 0, false
		}
		pods := 0.0
		for _, pod := range o.Pods {
			v, err := p.PodPrice(pod, now, then)
			if err != nil {
				w.Note("price expander: %v", err)
				o.Reason = "price: " + err.Error()
				return 0, false
			}
			pods += v
		}
		ratio := (node*float64(o.Nodes) + small) / (pods + small)
		u := unfitness(preferred, float64(o.Template.Status.Capacity.Cpu().MilliValue()), o.Nodes)
		if w.HasGPU(o.Template) {
			u = gpuUnfitness
		}
		return u * ratio, true
	}, lower)
}
