package sources

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// wellKnown are the labels by which managed clusters mark the group of a node, in the order auto prefers them when
// they are on equally many nodes. perZone: the cloud sizes the group separately in each zone, so that is what scales.
var wellKnown = []struct {
	key     string
	perZone bool
}{
	{"cloud.google.com/gke-nodepool", true},    // a managed instance group per zone
	{"eks.amazonaws.com/nodegroup", false},     // an Auto Scaling group
	{"kubernetes.azure.com/agentpool", false},  // a scale set
	{"agentpool", false},                       // a scale set, on clusters before the label above
	{"worker.gardener.cloud/pool", true},       // a MachineDeployment per zone
	{"alpha.eksctl.io/nodegroup-name", false},  // an Auto Scaling group made by eksctl
	{"kops.k8s.io/instancegroup", false},       // an Auto Scaling group
	{"doks.digitalocean.com/node-pool", false}, // a node pool
	{"node.cluster.x-k8s.io/deployment", false},
}

// labels takes the group from a label or an annotation of the node.
type labels struct {
	name    string
	key     string // "" for the annotation
	perZone bool
	value   func(*corev1.Node) string
}

// Labels takes the value of a node label as the group's name. For labels of clouds that size a group in each zone
// separately (GKE, Gardener) the zone is part of the name: "pool-europe-west1-b".
//
// Bounds and target sizes are the cluster-autoscaler's where its flags or its status name the group: by that name, by the
// last segment of an URL, by the name the cloud makes of the label's value (EKS, eksctl, AKS, kOps), or by the instance
// group that the group's nodes are in (GKE, AKS).
func Labels(key string) Source {
	s := &labels{name: "labels:" + key, key: key, value: func(n *corev1.Node) string { return n.Labels[key] }}
	for _, w := range wellKnown {
		if w.key == key {
			s.perZone = w.perZone
		}
	}
	return s
}

// Annotation takes the group's name from the annotation scalehist.io/node-group.
func Annotation() Source {
	return &labels{name: "annotation", value: func(n *corev1.Node) string { return n.Annotations[v1alpha1.NodeGroupAnnotation] }}
}

// None knows the groups of nodes by the annotation scalehist.io/node-group, and nothing about the groups: somebody
// else records them.
func None() Source { return none{Annotation()} }

type none struct{ Source }

func (none) Name() string { return "none" }

func (none) Groups(s State) []*v1alpha1.NodeGroup { return s.Previous }

func (s *labels) Name() string { return s.name }

func (s *labels) GroupOf(n *corev1.Node) string {
	name := s.value(n)
	if zone := n.Labels[corev1.LabelTopologyZone]; name != "" && s.perZone && zone != "" {
		name += "-" + zone
	}
	return name
}

func (s *labels) Groups(state State) []*v1alpha1.NodeGroup {
	members := byGroup(s, state.Nodes)
	groups := map[string]*v1alpha1.NodeGroup{}
	for name, nodes := range members {
		groups[name] = seenGroup(name, nodes)
	}
	all := statedBy(state)
	// A group at size 0 shows only where the autoscaler states it. The label its nodes will have may follow from its name.
	for _, t := range all.apply(groups, members, s.key) {
		name := cmp.Or(labelValue(s.key, t.name), t.name)
		if groups[name] == nil {
			groups[name] = seenGroup(name, nil)
		}
	}
	for _, was := range state.Previous {
		g := groups[was.Name]
		if g == nil {
			if slices.ContainsFunc(all, func(t stated) bool { return t.name == was.Name }) {
				continue // it had the autoscaler's name while it had no node to show another
			}
			g = was.DeepCopy()
			g.Spec.TargetSize = 0
			groups[was.Name] = g
			continue
		}
		if g.Spec.Template == nil {
			g.Spec.Template, g.Spec.Zone, g.Spec.MachineType = was.Spec.Template.DeepCopy(), was.Spec.Zone, was.Spec.MachineType
		}
		if was.Annotations[BoundsFrom] == FromNodes {
			g.Spec.MaxSize = max(g.Spec.MaxSize, was.Spec.MaxSize)
		}
	}
	all.apply(groups, members, s.key)
	return sorted(groups)
}
