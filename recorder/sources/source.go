package sources

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

const (
	// TargetSizeFrom annotates a NodeGroup with where its target size comes from; FromNodes is the only value so far.
	TargetSizeFrom = v1alpha1.GroupName + "/target-size-from"
	// BoundsFrom annotates a NodeGroup with where its bounds come from: FromNodes, FromFlags or FromFile.
	BoundsFrom = v1alpha1.GroupName + "/bounds-from"

	// FromNodes: counted. As a bound it is 0 to the most nodes seen at once, which the real bounds contain.
	FromNodes = "nodes"
	// FromFlags: --nodes=min:max:name of the cluster-autoscaler.
	FromFlags = "cluster-autoscaler"
	// FromFile: the mapping file.
	FromFile = "file"
)

// Source knows the node groups of a cluster.
type Source interface {
	// Name says what is used, for people: "labels:eks.amazonaws.com/nodegroup".
	Name() string
	// GroupOf names the group of a node, "" if it is in none.
	GroupOf(node *corev1.Node) string
	// Groups lists the groups, by name. It returns new objects.
	Groups(s State) []*v1alpha1.NodeGroup
}

// State is what a source derives groups from.
type State struct {
	// Nodes in any order; they are read only.
	Nodes []*corev1.Node
	// Flags are the arguments of the cluster-autoscaler, nil if none is seen.
	Flags []string
	// Previous are the groups of the last call: a group whose last node went is still there, with target size 0.
	Previous []*v1alpha1.NodeGroup
}

// Parse reads the value of --node-groups: "auto", "annotation", "labels:KEY" or the path of a mapping file.
func Parse(spec string) (Source, error) {
	switch key, isLabels := strings.CutPrefix(spec, "labels:"); {
	case spec == "" || spec == "auto":
		return Auto(), nil
	case spec == "annotation":
		return Annotation(), nil
	case isLabels && key == "":
		return nil, fmt.Errorf("node groups %q: the label key is missing: give labels:KEY", spec)
	case isLabels:
		return Labels(key), nil
	}
	data, err := os.ReadFile(spec)
	if err != nil {
		return nil, fmt.Errorf("node groups %q: %w: give auto, annotation, labels:KEY or a mapping file", spec, err)
	}
	source, err := ParseFile(data)
	if err != nil {
		return nil, fmt.Errorf("node groups: mapping file %s: %w", spec, err)
	}
	return source, nil
}

// FlagsOf returns the arguments of the cluster-autoscaler's container in a Deployment, nil if it runs none. The
// container is the one whose name, command or image says cluster-autoscaler.
func FlagsOf(d *appsv1.Deployment) []string {
	for _, c := range d.Spec.Template.Spec.Containers {
		words := append(slices.Clone(c.Command), c.Args...)
		named := c.Name == "cluster-autoscaler" || strings.Contains(c.Image, "cluster-autoscaler") ||
			len(words) > 0 && strings.HasSuffix(words[0], "cluster-autoscaler")
		if !named {
			continue
		}
		var flags []string
		for _, w := range words {
			if strings.HasPrefix(w, "-") {
				flags = append(flags, w)
			}
		}
		if flags == nil {
			flags = []string{}
		}
		return flags
	}
	return nil
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

// seenGroup describes a group by its nodes alone.
func seenGroup(name string, nodes []*corev1.Node) *v1alpha1.NodeGroup {
	size := int32(len(nodes))
	g := &v1alpha1.NodeGroup{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodeGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			TargetSizeFrom: FromNodes,
			BoundsFrom:     FromNodes,
		}},
		Spec: v1alpha1.NodeGroupSpec{MaxSize: size, TargetSize: size},
	}
	if len(nodes) > 0 {
		g.Spec.Zone = common(nodes, corev1.LabelTopologyZone)
		g.Spec.MachineType = common(nodes, corev1.LabelInstanceTypeStable)
		g.Spec.Template = templateOf(nodes)
	}
	return g
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
