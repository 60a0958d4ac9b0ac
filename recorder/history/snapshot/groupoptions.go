package snapshot

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// optionsOf turns a recorded group's options into the domain's.
func optionsOf(o *v1alpha1.NodeGroupOptions) *scalehist.NodeGroupOptions {
	if o = o.DeepCopy(); o == nil {
		return nil
	}
	d := func(v *metav1.Duration) *scalehist.Duration {
		if v == nil {
			return nil
		}
		return new(scalehist.Duration(v.Duration))
	}
	return &scalehist.NodeGroupOptions{
		ScaleDownUtilizationThreshold: o.ScaleDownUtilizationThreshold, ScaleDownGPUUtilizationThreshold: o.ScaleDownGPUUtilizationThreshold,
		ScaleDownUnneededTime: d(o.ScaleDownUnneededTime), ScaleDownUnreadyTime: d(o.ScaleDownUnreadyTime),
		MaxNodeProvisionTime: d(o.MaxNodeProvisionTime), MaxNodeStartupTime: d(o.MaxNodeStartupTime),
		ZeroOrMaxNodeScaling: o.ZeroOrMaxNodeScaling, AllowNonAtomicScaleUpToMax: o.AllowNonAtomicScaleUpToMax,
		IgnoreDaemonSetsUtilization: o.IgnoreDaemonSetsUtilization,
	}
}

// optionsObject is the inverse of optionsOf.
func optionsObject(o *scalehist.NodeGroupOptions) *v1alpha1.NodeGroupOptions {
	if o == nil {
		return nil
	}
	d := func(v *scalehist.Duration) *metav1.Duration {
		if v == nil {
			return nil
		}
		return &metav1.Duration{Duration: time.Duration(*v)}
	}
	out := &v1alpha1.NodeGroupOptions{
		ScaleDownUtilizationThreshold: o.ScaleDownUtilizationThreshold, ScaleDownGPUUtilizationThreshold: o.ScaleDownGPUUtilizationThreshold,
		ScaleDownUnneededTime: d(o.ScaleDownUnneededTime), ScaleDownUnreadyTime: d(o.ScaleDownUnreadyTime),
		MaxNodeProvisionTime: d(o.MaxNodeProvisionTime), MaxNodeStartupTime: d(o.MaxNodeStartupTime),
		ZeroOrMaxNodeScaling: o.ZeroOrMaxNodeScaling, AllowNonAtomicScaleUpToMax: o.AllowNonAtomicScaleUpToMax,
		IgnoreDaemonSetsUtilization: o.IgnoreDaemonSetsUtilization,
	}
	return out.DeepCopy()
}
