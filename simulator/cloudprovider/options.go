package cloudprovider

import (
	"time"

	"github.com/scalehist/scalehist"
)

// GroupOptions are the per-group autoscaling options a provider may override (upstream
// config.NodeGroupAutoscalingOptions). A nil field keeps the autoscaler's flag.
type GroupOptions struct {
	ScaleDownUtilizationThreshold    *float64
	ScaleDownGPUUtilizationThreshold *float64
	ScaleDownUnneededTime            *time.Duration
	ScaleDownUnreadyTime             *time.Duration
	MaxNodeProvisionTime             *time.Duration
	MaxNodeStartupTime               *time.Duration
	// ZeroOrMaxNodeScaling: the group has no nodes or all of them.
	ZeroOrMaxNodeScaling *bool
	// AllowNonAtomicScaleUpToMax: a zero-or-max scale-up may succeed in part.
	AllowNonAtomicScaleUpToMax  *bool
	IgnoreDaemonSetsUtilization *bool
}

// GroupOptions are the group's own autoscaling options, those of Options.GroupOptions before those the group was given
// with; false when it has none.
func (p *Provider) GroupOptions(name string) (GroupOptions, bool) {
	if o, ok := p.opts.GroupOptions[name]; ok {
		return o, true
	}
	if g, ok := p.known(name); ok && g.Options != nil {
		return groupOptions(g.Options), true
	}
	return GroupOptions{}, false
}

// groupOptions shares its values with o, which nobody changes.
func groupOptions(o *scalehist.NodeGroupOptions) GroupOptions {
	return GroupOptions{
		ScaleDownUtilizationThreshold: o.ScaleDownUtilizationThreshold, ScaleDownGPUUtilizationThreshold: o.ScaleDownGPUUtilizationThreshold,
		ScaleDownUnneededTime: (*time.Duration)(o.ScaleDownUnneededTime), ScaleDownUnreadyTime: (*time.Duration)(o.ScaleDownUnreadyTime),
		MaxNodeProvisionTime: (*time.Duration)(o.MaxNodeProvisionTime), MaxNodeStartupTime: (*time.Duration)(o.MaxNodeStartupTime),
		ZeroOrMaxNodeScaling: o.ZeroOrMaxNodeScaling, AllowNonAtomicScaleUpToMax: o.AllowNonAtomicScaleUpToMax,
		IgnoreDaemonSetsUtilization: o.IgnoreDaemonSetsUtilization,
	}
}
