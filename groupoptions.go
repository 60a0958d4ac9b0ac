package scalehist

// NodeGroupOptions are the autoscaling options of one node group, which win over the autoscaler's flags (upstream
// config.NodeGroupAutoscalingOptions). What is nil is as the flag says.
type NodeGroupOptions struct {
	// ScaleDownUtilizationThreshold and ScaleDownGPUUtilizationThreshold are shares, 0 to 1.
	ScaleDownUtilizationThreshold    *float64  `json:"scaleDownUtilizationThreshold,omitempty"`
	ScaleDownGPUUtilizationThreshold *float64  `json:"scaleDownGpuUtilizationThreshold,omitempty"`
	ScaleDownUnneededTime            *Duration `json:"scaleDownUnneededTime,omitempty"`
	ScaleDownUnreadyTime             *Duration `json:"scaleDownUnreadyTime,omitempty"`
	MaxNodeProvisionTime             *Duration `json:"maxNodeProvisionTime,omitempty"`
	MaxNodeStartupTime               *Duration `json:"maxNodeStartupTime,omitempty"`
	// ZeroOrMaxNodeScaling: the group has no nodes or all of them.
	ZeroOrMaxNodeScaling *bool `json:"zeroOrMaxNodeScaling,omitempty"`
	// AllowNonAtomicScaleUpToMax: a zero-or-max scale-up may succeed in part.
	AllowNonAtomicScaleUpToMax  *bool `json:"allowNonAtomicScaleUpToMax,omitempty"`
	IgnoreDaemonSetsUtilization *bool `json:"ignoreDaemonSetsUtilization,omitempty"`
}
