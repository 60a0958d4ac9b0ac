package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// GroupName is the API group of the project's own objects and annotations.
	GroupName = "scalehist.io"
	// NodeGroupAnnotation on a Node names the NodeGroup it belongs to.
	NodeGroupAnnotation = GroupName + "/node-group"
)

// GroupVersion is scalehist.io/v1alpha1.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// NodeGroup is a set of equal nodes that an autoscaler may grow and shrink: a Gardener MachineDeployment, a Cluster
// API MachineDeployment, an AWS Auto Scaling group, a GKE node pool in one zone.
type NodeGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodeGroupSpec `json:"spec"`
}

// NodeGroupSpec carries the bounds, the size asked for and the shape of a node.
type NodeGroupSpec struct {
	// MinSize and MaxSize bound TargetSize, in nodes.
	MinSize int32 `json:"minSize"`
	MaxSize int32 `json:"maxSize"`
	// TargetSize is the number of nodes asked for, which may run ahead of the nodes that have joined.
	TargetSize int32 `json:"targetSize"`
	// Zone is the topology.kubernetes.io/zone of its nodes, empty if they span several.
	Zone string `json:"zone,omitempty"`
	// MachineType is the node.kubernetes.io/instance-type, the key into a price table.
	MachineType string `json:"machineType,omitempty"`
	// Template is the node a scale-up from zero would bring; nil if the source could not tell.
	Template *NodeTemplate `json:"template,omitempty"`
	// Options are the group's own autoscaling options; nil if it has none.
	Options *NodeGroupOptions `json:"options,omitempty"`
}

// NodeTemplate is the part of a Node that is the same for every node of a group.
type NodeTemplate struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   corev1.NodeSpec   `json:"spec,omitempty"`
	Status corev1.NodeStatus `json:"status,omitempty"`
}

// DeepCopy returns a copy that shares nothing with t.
func (t *NodeTemplate) DeepCopy() *NodeTemplate {
	if t == nil {
		return nil
	}
	out := new(NodeTemplate)
	t.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	t.Spec.DeepCopyInto(&out.Spec)
	t.Status.DeepCopyInto(&out.Status)
	return out
}

// DeepCopy returns a copy that shares nothing with g.
func (g *NodeGroup) DeepCopy() *NodeGroup {
	if g == nil {
		return nil
	}
	out := new(NodeGroup)
	*out = *g
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Template = g.Spec.Template.DeepCopy()
	out.Spec.Options = g.Spec.Options.DeepCopy()
	return out
}

// DeepCopyObject implements runtime.Object.
func (g *NodeGroup) DeepCopyObject() runtime.Object { return g.DeepCopy() }

// AddToScheme registers the kinds of the group, so that one decoder reads every kind of an object log.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &NodeGroup{}, &MetricQuery{}, &ProviderCall{})
	return nil
}
