package sources

import (
	"maps"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// karpenterPool is the label Karpenter puts on its nodes and NodeClaims.
const karpenterPool = "karpenter.sh/nodepool"

// karpenter knows groups by NodePools.
type karpenter struct{}

// Karpenter takes every NodePool of karpenter.sh as a group; without NodePools (they may not be readable) the label
// karpenter.sh/nodepool of the nodes alone.
//
//   - target size: the NodeClaims of the pool that are not being deleted, else its nodes;
//   - minimum: 0, of a static pool spec.replicas;
//   - maximum: spec.limits.nodes (https://karpenter.sh/docs/concepts/nodepools/), else the nodes that the other limits let
//     there be if all were as small as the smallest seen (annotation bounds-from: limits), else Unbounded: Karpenter
//     counts no nodes. It is never below the target size;
//   - template: what the nodes seen have in common, else the capacity of the oldest NodeClaim with labels and taints of the
//     NodePool's template: a NodePool has many shapes, and nothing says which the next node gets;
//   - members: nodes with the label.
func Karpenter() Source { return karpenter{} }

func (karpenter) Name() string { return "karpenter" }

func (karpenter) GroupOf(n *corev1.Node) string { return n.Labels[karpenterPool] }

func (k karpenter) Groups(s State) []*v1alpha1.NodeGroup {
	members := byGroup(k, s.Nodes)
	claims := map[string][]*unstructured.Unstructured{}
	known := false
	for _, c := range s.of(nodeClaimKind) {
		known = true
		if name := c.GetLabels()[karpenterPool]; name != "" && c.GetDeletionTimestamp() == nil {
			claims[name] = append(claims[name], c)
		}
	}
	pools := s.of(nodePoolKind)
	previous := byName(s.Previous)
	groups := map[string]*v1alpha1.NodeGroup{}
	if len(pools) == 0 {
		for name, nodes := range members {
			groups[name] = seenGroup(name, nodes)
		}
	}
	for _, p := range pools {
		g := poolGroup(p, members[p.GetName()], claims[p.GetName()], known, previous[p.GetName()])
		groups[g.Name] = g
	}
	return sorted(groups)
}

func poolGroup(p *unstructured.Unstructured, nodes []*corev1.Node, claims []*unstructured.Unstructured, known bool, was *v1alpha1.NodeGroup) *v1alpha1.NodeGroup {
	g := seenGroup(p.GetName(), nodes)
	if known {
		g.Spec.TargetSize, g.Annotations[TargetSizeFrom] = int32(len(claims)), FromObject
	}
	if n, ok := count(p.Object, "spec", "replicas"); ok {
		g.Spec.MinSize, g.Spec.TargetSize, g.Annotations[TargetSizeFrom] = n, n, FromObject
	}
	shapes := map[string]corev1.ResourceList{}
	for _, n := range nodes {
		shapes[n.Name] = n.Status.Capacity
	}
	oldest := -1
	for i, c := range claims {
		if capacity := resources(c.Object, "status", "capacity"); len(capacity) > 0 {
			shapes["claim/"+c.GetName()] = capacity
			if created := c.GetCreationTimestamp(); oldest < 0 || created.Time.Before(claims[oldest].GetCreationTimestamp().Time) {
				oldest = i
			}
		}
	}
	g.Spec.MaxSize, g.Annotations[BoundsFrom] = poolMax(p, shapes)
	g.Spec.MaxSize = max(g.Spec.MaxSize, g.Spec.TargetSize, g.Spec.MinSize)
	template := object(p.Object, "spec", "template")
	switch {
	case g.Spec.Template != nil:
	case oldest >= 0:
		c := claims[oldest]
		labels := texts(template, "metadata", "labels")
		maps.Copy(labels, c.GetLabels())
		s := shape{labels: labels, taints: taints(template, "spec", "taints"), capacity: resources(c.Object, "status", "capacity"),
			zone: c.GetLabels()[corev1.LabelTopologyZone], machineType: c.GetLabels()[corev1.LabelInstanceTypeStable],
			cpuArch: c.GetLabels()[corev1.LabelArchStable]}
		g.Spec.Template = s.template()
		if a := resources(c.Object, "status", "allocatable"); g.Spec.Template != nil && len(a) > 0 {
			g.Spec.Template.Status.Allocatable = a
		}
		g.Spec.Zone, g.Spec.MachineType = s.zone, s.machineType
	case was != nil:
		g.Spec.Template, g.Spec.Zone, g.Spec.MachineType = was.Spec.Template.DeepCopy(), was.Spec.Zone, was.Spec.MachineType
	}
	return g
}

// poolMax is the maximum of a NodePool, and where it comes from.
func poolMax(p *unstructured.Unstructured, shapes map[string]corev1.ResourceList) (int32, string) {
	limits := resources(p.Object, "spec", "limits")
	if q, ok := limits["nodes"]; ok {
		return int32(min(max(q.Value(), 0), math.MaxInt32)), FromObject
	}
	most, limited := int64(Unbounded), false
	for name, limit := range limits {
		smallest := int64(0)
		for _, capacity := range shapes {
			if q, ok := capacity[name]; ok && q.MilliValue() > 0 && (smallest == 0 || q.MilliValue() < smallest) {
				smallest = q.MilliValue()
			}
		}
		if limit.IsZero() {
			most, limited = 0, true
		} else if smallest > 0 {
			most, limited = min(most, limit.MilliValue()/smallest), true
		}
	}
	if limited {
		return int32(most), FromLimits
	}
	return Unbounded, FromNothing
}
