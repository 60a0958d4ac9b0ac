package sources

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

const (
	// TargetSizeFrom annotates a NodeGroup with where its target size comes from: FromNodes, FromStatus, FromObject.
	TargetSizeFrom = v1alpha1.GroupName + "/target-size-from"
	// BoundsFrom annotates a NodeGroup with where its bounds come from.
	BoundsFrom = v1alpha1.BoundsFromAnnotation
	// AutoscalerName annotates a NodeGroup with the name the cluster-autoscaler has for it, where that is another: the
	// URL of an instance group, the name of a scale set.
	AutoscalerName = v1alpha1.GroupName + "/autoscaler-name"

	// FromNodes: counted. As a bound it is 0 to the most nodes seen at once, which the real bounds contain.
	FromNodes = v1alpha1.BoundsFromNodes
	// FromFlags: --nodes=min:max:name of the cluster-autoscaler.
	FromFlags = "cluster-autoscaler"
	// FromStatus: the ConfigMap cluster-autoscaler-status.
	FromStatus = "cluster-autoscaler-status"
	// FromFile: the mapping file.
	FromFile = "file"
	// FromObject: the provider's object behind the group (MachineDeployment, Worker, NodePool).
	FromObject = "object"
	// FromLimits: the most nodes that the limits of a Karpenter NodePool let there be, by the smallest node seen.
	FromLimits = "limits"
	// FromNothing: nothing bounds the group; its maximum is Unbounded.
	FromNothing = "unbounded"
)

// Unbounded is the maximum of a group that nothing bounds: the most nodes Kubernetes is tested with
// (https://kubernetes.io/docs/setup/best-practices/cluster-large/).
const Unbounded = 5000

// Source knows the node groups of a cluster. GroupOf and Groups are called by one goroutine, Name by any.
type Source interface {
	// Name says what is used, for people: "labels:eks.amazonaws.com/nodegroup".
	Name() string
	// GroupOf names the group of a node, "" if it is in none, as the last call of Groups left it.
	GroupOf(node *corev1.Node) string
	// Groups lists the groups, by name. It returns new objects.
	Groups(s State) []*v1alpha1.NodeGroup
}

// State is what a source derives groups from. All of it is read only.
type State struct {
	// At is the instant of the state; zero if time says nothing (a virtual cluster).
	At time.Time
	// Nodes in any order.
	Nodes []*corev1.Node
	// Flags are the flags of the cluster-autoscaler, nil if none is seen.
	Flags []string
	// Custom are the provider's objects, of any kind, in any order.
	Custom []*unstructured.Unstructured
	// Status are the ConfigMaps cluster-autoscaler-status there are.
	Status []*corev1.ConfigMap
	// Previous are the groups of the last call: a group whose last node was removed is still there, with target size 0.
	Previous []*v1alpha1.NodeGroup
}

// named are the sources by name, the default first. A new one enters here.
var named = []struct {
	name string
	new  func() Source
}{
	{"auto", Auto}, {"annotation", Annotation}, {"gardener", Gardener}, {"cluster-api", ClusterAPI}, {"karpenter", Karpenter}, {"status", Status},
}

// labelsPrefix is in front of the key of a label.
const labelsPrefix = "labels:"

// Names are the values of --node-groups that are no path; "labels:" takes a key.
func Names() []string {
	var names []string
	for _, n := range named {
		names = append(names, n.name)
	}
	return append(names, labelsPrefix)
}

// Parse reads the value of --node-groups: one of Names or the path of a mapping file.
func Parse(spec string) (Source, error) {
	for _, n := range named {
		if n.name == cmp.Or(spec, named[0].name) {
			return n.new(), nil
		}
	}
	switch key, isLabels := strings.CutPrefix(spec, labelsPrefix); {
	case isLabels && key == "":
		return nil, fmt.Errorf("node groups %q: the label key is missing: give labels:KEY", spec)
	case isLabels:
		return Labels(key), nil
	}
	data, err := os.ReadFile(spec)
	if err != nil {
		return nil, fmt.Errorf("node groups %q: %w: give auto, annotation, labels:KEY or a mapping file, or gardener, cluster-api, karpenter, status", spec, err)
	}
	source, err := ParseFile(data)
	if err != nil {
		return nil, fmt.Errorf("node groups: mapping file %s: %w", spec, err)
	}
	return source, nil
}

// byGroup collects nodes under the name of their group, each group's oldest first, names breaking ties.
func byGroup(s Source, nodes []*corev1.Node) map[string][]*corev1.Node {
	out := map[string][]*corev1.Node{}
	for _, n := range nodes {
		if g := s.GroupOf(n); g != "" {
			out[g] = append(out[g], n)
		}
	}
	for _, group := range out {
		slices.SortFunc(group, func(a, b *corev1.Node) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
	}
	return out
}

// newGroup is a group with nothing known of it but where its sizes come from.
func newGroup(name, boundsFrom, targetFrom string) *v1alpha1.NodeGroup {
	return &v1alpha1.NodeGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{TargetSizeFrom: targetFrom, BoundsFrom: boundsFrom}},
	}
}

// seenGroup describes a group by its nodes alone.
func seenGroup(name string, nodes []*corev1.Node) *v1alpha1.NodeGroup {
	g := newGroup(name, FromNodes, FromNodes)
	size := int32(len(nodes))
	g.Spec.MaxSize, g.Spec.TargetSize = size, size
	if len(nodes) > 0 {
		g.Spec.Zone = common(nodes, corev1.LabelTopologyZone)
		g.Spec.MachineType = common(nodes, corev1.LabelInstanceTypeStable)
		g.Spec.Template = templateOf(nodes)
	}
	return g
}

// sorted are the groups by name.
func sorted(groups map[string]*v1alpha1.NodeGroup) []*v1alpha1.NodeGroup {
	out := make([]*v1alpha1.NodeGroup, 0, len(groups))
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, groups[name])
	}
	return out
}

// common is the value of a label if all nodes have the same.
func common(nodes []*corev1.Node, label string) string {
	value := nodes[0].Labels[label]
	for _, n := range nodes[1:] {
		if n.Labels[label] != value {
			return ""
		}
	}
	return value
}
