package sources

import (
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// auto picks another source once there is something to pick by, and stays with it. Karpenter's nodes are another
// matter: they are beside groups of other kinds.
type auto struct {
	base    Source // nil until one is chosen
	beside  bool   // Karpenter is there too
	renamed map[string]string
	name    atomic.Pointer[string]
}

// Auto picks the first of these that the cluster shows, and stays with it:
//
//  1. the annotation scalehist.io/node-group on any node;
//  2. Gardener: a MachineDeployment of machine.sapcloud.io;
//  3. Cluster API: a MachineDeployment with the autoscaler's size annotations;
//  4. the well-known label that is on the most nodes (GKE, EKS, AKS, Gardener, eksctl, kOps, DigitalOcean, Cluster API);
//  5. the cluster-autoscaler's status, where its names say which nodes are meant.
//
// Nodes of Karpenter, known by their label, are in the groups of their NodePools whatever is picked for the others. Bounds
// and target sizes come from the cluster-autoscaler's flags and status where these name a group. Until something shows, no
// node has a group.
func Auto() Source { return &auto{} }

// Name implements Source; it is safe to call while another goroutine uses the source.
func (a *auto) Name() string {
	if s := a.name.Load(); s != nil {
		return *s
	}
	return nothingYet
}

const nothingYet = "auto (no node with a known label yet)"

func (a *auto) GroupOf(n *corev1.Node) string {
	if pool := n.Labels[karpenterPool]; pool != "" && a.beside {
		if name, ok := a.renamed[pool]; ok {
			return name
		}
		return pool
	}
	if a.base != nil {
		return a.base.GroupOf(n)
	}
	return ""
}

func (a *auto) Groups(s State) []*v1alpha1.NodeGroup {
	rest, pools := s, s
	rest.Nodes, pools.Nodes = nil, nil
	for _, n := range s.Nodes {
		if n.Labels[karpenterPool] != "" && n.Annotations[v1alpha1.NodeGroupAnnotation] == "" {
			pools.Nodes = append(pools.Nodes, n)
		} else {
			rest.Nodes = append(rest.Nodes, n)
		}
	}
	if _, annotated := a.base.(*labels); annotated && a.base.Name() == "annotation" {
		return a.done(s, a.base.Groups(s))
	}
	var karpenters []*v1alpha1.NodeGroup
	if a.beside = a.beside || len(pools.Nodes) > 0 || len(s.of(nodePoolKind)) > 0; a.beside {
		karpenters = Karpenter().Groups(pools)
		rest.Previous = nil
		for _, g := range s.Previous {
			if byName(karpenters)[g.Name] == nil && !strings.HasPrefix(g.Name, nodePoolPrefix) {
				rest.Previous = append(rest.Previous, g)
			}
		}
	}
	if a.base == nil {
		a.base = pick(rest)
	}
	var groups []*v1alpha1.NodeGroup
	switch {
	case a.base != nil:
		groups = a.base.Groups(rest)
	case len(karpenters) == 0:
		// The flags alone name groups too; which node belongs to which shows later.
		groups = Annotation().Groups(State{Flags: s.Flags, Previous: rest.Previous})
	}
	all := byName(groups)
	a.renamed = map[string]string{}
	for _, g := range karpenters {
		if all[g.Name] != nil {
			a.renamed[g.Name] = nodePoolPrefix + g.Name
			g.Name = nodePoolPrefix + g.Name
		}
		all[g.Name] = g
	}
	return a.done(s, sorted(all))
}

// nodePoolPrefix sets a NodePool apart from a group of another kind that has its name.
const nodePoolPrefix = "nodepool/"

// done notes what the groups come from.
func (a *auto) done(s State, groups []*v1alpha1.NodeGroup) []*v1alpha1.NodeGroup {
	var parts []string
	if a.base != nil {
		parts = append(parts, a.base.Name())
	}
	if a.beside {
		parts = append(parts, Karpenter().Name())
	}
	name := strings.Join(parts, " and ")
	if name == "" {
		name = nothingYet
	}
	from := map[string]bool{}
	for _, g := range groups {
		from[g.Annotations[BoundsFrom]], from[g.Annotations[TargetSizeFrom]] = true, true
	}
	var sizes []string
	if from[FromFlags] {
		sizes = append(sizes, "flags")
	}
	if from[FromStatus] {
		sizes = append(sizes, "status")
	}
	if len(sizes) > 0 {
		name += ", sizes from the cluster-autoscaler's " + strings.Join(sizes, " and ")
	}
	a.name.Store(&name)
	return groups
}

// pick chooses by what there is, nil if nothing decides.
func pick(s State) Source {
	for _, node := range s.Nodes {
		if node.Annotations[v1alpha1.NodeGroupAnnotation] != "" {
			return Annotation()
		}
	}
	if len(s.of(machineDeploymentKind)) > 0 {
		return Gardener()
	}
	if c := ClusterAPI(); len(c.Groups(s)) > 0 {
		return c
	}
	best, most := "", 0
	for _, w := range wellKnown {
		n := 0
		for _, node := range s.Nodes {
			if node.Labels[w.key] != "" {
				n++
			}
		}
		if n > most {
			best, most = w.key, n
		}
	}
	if best != "" {
		return Labels(best)
	}
	if c := Status(); len(s.fresh()) > 0 {
		c.Groups(s)
		for _, n := range s.Nodes {
			if c.GroupOf(n) != "" {
				return c
			}
		}
	}
	return nil
}
