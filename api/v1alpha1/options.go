package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeGroupOptions are the autoscaling options of one group, which win over the autoscaler's flags (upstream
// config.NodeGroupAutoscalingOptions): clusterAutoscaler of a Gardener worker pool, the annotations
// cluster.x-k8s.io/autoscaling-options-* of a Cluster API MachineDeployment. What is nil is as the flag says.
type NodeGroupOptions struct {
	// ScaleDownUtilizationThreshold and ScaleDownGPUUtilizationThreshold are shares, 0 to 1.
	ScaleDownUtilizationThreshold    *float64 `json:"scaleDownUtilizationThreshold,omitempty"`
	ScaleDownGPUUtilizationThreshold *float64 `json:"scaleDownGpuUtilizationThreshold,omitempty"`
	// The durations are text as Go writes it: "10m0s".
	ScaleDownUnneededTime *metav1.Duration `json:"scaleDownUnneededTime,omitempty"`
	ScaleDownUnreadyTime  *metav1.Duration `json:"scaleDownUnreadyTime,omitempty"`
	MaxNodeProvisionTime  *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
	MaxNodeStartupTime    *metav1.Duration `json:"maxNodeStartupTime,omitempty"`
	// ZeroOrMaxNodeScaling: the group has no nodes or all of them.
	ZeroOrMaxNodeScaling *bool `json:"zeroOrMaxNodeScaling,omitempty"`
	// AllowNonAtomicScaleUpToMax: a zero-or-max scale-up may succeed in part.
	AllowNonAtomicScaleUpToMax  *bool `json:"allowNonAtomicScaleUpToMax,omitempty"`
	IgnoreDaemonSetsUtilization *bool `json:"ignoreDaemonSetsUtilization,omitempty"`
}

// DeepCopy returns a copy that shares nothing with o.
func (o *NodeGroupOptions) DeepCopy() *NodeGroupOptions {
	if o == nil {
		return nil
	}
	return &NodeGroupOptions{
		ScaleDownUtilizationThreshold: clone(o.ScaleDownUtilizationThreshold), ScaleDownGPUUtilizationThreshold: clone(o.ScaleDownGPUUtilizationThreshold),
		ScaleDownUnneededTime: clone(o.ScaleDownUnneededTime), ScaleDownUnreadyTime: clone(o.ScaleDownUnreadyTime),
		MaxNodeProvisionTime: clone(o.MaxNodeProvisionTime), MaxNodeStartupTime: clone(o.MaxNodeStartupTime),
		ZeroOrMaxNodeScaling: clone(o.ZeroOrMaxNodeScaling), AllowNonAtomicScaleUpToMax: clone(o.AllowNonAtomicScaleUpToMax),
		IgnoreDaemonSetsUtilization: clone(o.IgnoreDaemonSetsUtilization),
	}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
