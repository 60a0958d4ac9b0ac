package virtualca

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
func cheapest(l *loop, options []*option) []*option {
	p, now, then := l.a.provider, l.now, l.now.Add(time.Hour)
	small, err := p.PodPrice(stabilizer, now, then)
	if err != nil {
		l.note("price expander: %v", err)
		return nil
	}
	preferred := preferredCPU(len(l.objects.Nodes))
	return narrow("price", options, func(o *option) (float64, bool) {
		node, err := p.NodePrice(o.template.node, now, then)
		if err != nil {
			l.note("price expander: %v", err)
			o.reason = "price: " + err.Error()
			return 0, false
		}
		pods := 0.0
		for _, pod := range o.pods {
			v, err := p.PodPrice(pod, now, then)
			if err != nil {
				l.note("price expander: %v", err)
				o.reason = "price: " + err.Error()
				return 0, false
			}
			pods += v
		}
		ratio := (node*float64(o.nodes) + small) / (pods + small)
		u := unfitness(preferred, float64(o.template.node.Status.Capacity.Cpu().MilliValue()), o.nodes)
		if l.hasGPU(o.template.node) {
			u = gpuUnfitness
		}
		return u * ratio, true
	}, lower)
}

// hasGPU: the node carries the provider's GPU label, or has GPUs.
func (l *loop) hasGPU(n *corev1.Node) bool {
	if label := l.a.provider.GPULabel(); label != "" {
		if _, ok := n.Labels[label]; ok {
			return true
		}
	}
	q, ok := n.Status.Allocatable[gpuResource]
	return ok && !q.IsZero()
}
