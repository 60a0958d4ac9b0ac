package nodemanager

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// NodeGroup is a group and its bounds, in nodes.
type NodeGroup struct {
	// ID is empty where a node belongs to no group.
	ID      string `json:"id"`
	MinSize int    `json:"minSize"`
	MaxSize int    `json:"maxSize"`
	// Debug is shown in the autoscaler's log.
	Debug string `json:"debug,omitempty"`
}

// NewGroup is a group to create, without nodes.
type NewGroup struct {
	NodeGroup
	// Like names the group that it is like in all else.
	Like string `json:"like"`
}

// Size is the size of a group.
type Size struct {
	// CurrentSize counts the nodes that run, TargetSize those that are wanted.
	CurrentSize int `json:"currentSize"`
	TargetSize  int `json:"targetSize"`
}

// Instance is a machine of a group, from the request for it on.
type Instance struct {
	// ID is the spec.providerID of its node.
	ID string `json:"id"`
	// State is running, creating or deleting.
	State string `json:"state"`
	// Error is why it could not be created.
	Error *InstanceError `json:"error,omitempty"`
}

// InstanceError is why an instance could not be created.
type InstanceError struct {
	Code    string `json:"code"`
	Message string `json:"message,omitempty"`
	// Class is 1 for a lack of resources, 99 for all else.
	Class int `json:"class"`
}

// Node is what is known of a node that is asked about.
type Node struct {
	ProviderID  string            `json:"providerId,omitempty"`
	Name        string            `json:"name,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Nodes are nodes to delete.
type Nodes struct {
	Nodes []Node `json:"nodes"`
}

// Template is what a new node of a group looks like.
type Template struct {
	NodeGroupID string      `json:"nodegroupId"`
	Node        corev1.Node `json:"node"`
}

// NodePrice asks for the price of a node over a period.
type NodePrice struct {
	Node Node      `json:"node"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// PodPrice asks for what the requests of a pod are worth over a period.
type PodPrice struct {
	Pod  corev1.Pod `json:"pod"`
	From time.Time  `json:"from"`
	To   time.Time  `json:"to"`
}

// Price is for the period that was asked for.
type Price struct {
	Price float64 `json:"price"`
}

// GPULabel is the label of nodes with GPUs; empty: none.
type GPULabel struct {
	Label string `json:"label"`
}

// Options are autoscaling options of a group.
type Options struct {
	ScaleDownUtilizationThreshold    float64            `json:"scaleDownUtilizationThreshold"`
	ScaleDownGPUUtilizationThreshold float64            `json:"scaleDownGpuUtilizationThreshold"`
	ScaleDownUnneededTime            scalehist.Duration `json:"scaleDownUnneededTime"`
	ScaleDownUnreadyTime             scalehist.Duration `json:"scaleDownUnreadyTime"`
	MaxNodeProvisionTime             scalehist.Duration `json:"maxNodeProvisionTime"`
	ZeroOrMaxNodeScaling             bool               `json:"zeroOrMaxNodeScaling,omitempty"`
	IgnoreDaemonSetsUtilization      bool               `json:"ignoreDaemonSetsUtilization,omitempty"`
}

// GroupOptions is the answer to Options, the autoscaler's own.
type GroupOptions struct {
	// Options are all of the group's; absent: it has none of its own.
	Options *Options `json:"options,omitempty"`
}

// Done says that a change was made.
type Done struct {
	Done bool `json:"done"`
	// Again: it was made before, by a request with the same key.
	Again bool `json:"again,omitempty"`
}

func groupToWire(g externalgrpc.NodeGroup) NodeGroup {
	return NodeGroup{ID: g.ID, MinSize: g.MinSize, MaxSize: g.MaxSize, Debug: g.Debug}
}

func groupFromWire(g NodeGroup) externalgrpc.NodeGroup {
	return externalgrpc.NodeGroup{ID: g.ID, MinSize: g.MinSize, MaxSize: g.MaxSize, Debug: g.Debug}
}

func nodeToWire(n externalgrpc.Node) Node {
	return Node{ProviderID: n.ProviderID, Name: n.Name, Labels: n.Labels, Annotations: n.Annotations}
}

func nodeFromWire(n Node) externalgrpc.Node {
	return externalgrpc.Node{ProviderID: n.ProviderID, Name: n.Name, Labels: n.Labels, Annotations: n.Annotations}
}

// states are those of the contract, by their names on this wire.
var states = map[string]externalgrpc.State{"running": externalgrpc.Running, "creating": externalgrpc.Creating, "deleting": externalgrpc.Deleting}

func instanceToWire(i externalgrpc.Instance) Instance {
	out := Instance{ID: i.ID}
	for name, s := range states {
		if s == i.State {
			out.State = name
		}
	}
	if e := i.Error; e != nil {
		out.Error = &InstanceError{Code: e.Code, Message: e.Message, Class: int(e.Class)}
	}
	return out
}

func instanceFromWire(i Instance) externalgrpc.Instance {
	out := externalgrpc.Instance{ID: i.ID, State: states[i.State]}
	if e := i.Error; e != nil {
		out.Error = &externalgrpc.InstanceError{Code: e.Code, Message: e.Message, Class: externalgrpc.ErrorClass(e.Class)}
	}
	return out
}

func optionsToWire(o externalgrpc.Options) *Options {
	return &Options{
		ScaleDownUtilizationThreshold: o.ScaleDownUtilizationThreshold, ScaleDownGPUUtilizationThreshold: o.ScaleDownGPUUtilizationThreshold,
		ScaleDownUnneededTime: scalehist.Duration(o.ScaleDownUnneededTime), ScaleDownUnreadyTime: scalehist.Duration(o.ScaleDownUnreadyTime),
		MaxNodeProvisionTime: scalehist.Duration(o.MaxNodeProvisionTime), ZeroOrMaxNodeScaling: o.ZeroOrMaxNodeScaling,
		IgnoreDaemonSetsUtilization: o.IgnoreDaemonSetsUtilization,
	}
}

func optionsFromWire(o Options) externalgrpc.Options {
	return externalgrpc.Options{
		ScaleDownUtilizationThreshold: o.ScaleDownUtilizationThreshold, ScaleDownGPUUtilizationThreshold: o.ScaleDownGPUUtilizationThreshold,
		ScaleDownUnneededTime: time.Duration(o.ScaleDownUnneededTime), ScaleDownUnreadyTime: time.Duration(o.ScaleDownUnreadyTime),
		MaxNodeProvisionTime: time.Duration(o.MaxNodeProvisionTime), ZeroOrMaxNodeScaling: o.ZeroOrMaxNodeScaling,
		IgnoreDaemonSetsUtilization: o.IgnoreDaemonSetsUtilization,
	}
}
