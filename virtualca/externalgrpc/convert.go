package externalgrpc

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

func groupToWire(g NodeGroup) *wire.NodeGroup {
	return &wire.NodeGroup{Id: g.ID, MinSize: int32(g.MinSize), MaxSize: int32(g.MaxSize), Debug: g.Debug}
}

func nodeFromWire(n *wire.ExternalGrpcNode) (Node, error) {
	if n == nil || n.GetName() == "" && n.GetProviderID() == "" {
		return Node{}, fmt.Errorf("%w: a node without name and provider id", ErrInvalid)
	}
	return Node{ProviderID: n.GetProviderID(), Name: n.GetName(), Labels: n.GetLabels(), Annotations: n.GetAnnotations()}, nil
}

func instanceToWire(i Instance) *wire.Instance {
	s := &wire.InstanceStatus{InstanceState: wire.InstanceStatus_InstanceState(i.State)}
	if i.Error != nil {
		s.ErrorInfo = &wire.InstanceErrorInfo{ErrorCode: i.Error.Code, ErrorMessage: i.Error.Message, InstanceErrorClass: int32(i.Error.Class)}
	}
	return &wire.Instance{Id: i.ID, Status: s}
}

// podFromWire reads a pod in either form.
func podFromWire(r *wire.PricingPodPriceRequest) (*corev1.Pod, error) {
	b := r.GetPodBytes()
	if b == nil {
		b = r.GetPod()
	}
	if b == nil {
		return nil, fmt.Errorf("%w: the pod is missing", ErrInvalid)
	}
	p := &corev1.Pod{}
	if err := p.Unmarshal(b); err != nil {
		return nil, fmt.Errorf("%w: the pod cannot be read: %w", ErrInvalid, err)
	}
	return p, nil
}

// priced is a request for a price, in either form.
type priced interface {
	GetStartTime() *timestamppb.Timestamp
	GetEndTime() *timestamppb.Timestamp
	GetStartTimestamp() *timestamppb.Timestamp
	GetEndTimestamp() *timestamppb.Timestamp
}

func period(r priced) (from, to time.Time, err error) {
	f, t := r.GetStartTimestamp(), r.GetEndTimestamp()
	if f == nil {
		f = r.GetStartTime()
	}
	if t == nil {
		t = r.GetEndTime()
	}
	if f.CheckValid() != nil || t.CheckValid() != nil {
		return from, to, fmt.Errorf("%w: the period of a price is missing or out of range", ErrInvalid)
	}
	if from, to = f.AsTime(), t.AsTime(); to.Before(from) {
		return from, to, fmt.Errorf("%w: the period of a price ends at %s, before it starts at %s", ErrInvalid, to.Format(time.RFC3339), from.Format(time.RFC3339))
	}
	return from, to, nil
}

// duration reads a duration in either form.
func duration(d *durationpb.Duration, legacy *wire.LegacyDuration) time.Duration {
	if d != nil {
		return d.AsDuration()
	}
	return time.Duration(legacy.GetDuration())
}

func optionsFromWire(o *wire.NodeGroupAutoscalingOptions) Options {
	return Options{
		ScaleDownUtilizationThreshold:    o.GetScaleDownUtilizationThreshold(),
		ScaleDownGPUUtilizationThreshold: o.GetScaleDownGpuUtilizationThreshold(),
		ScaleDownUnneededTime:            duration(o.GetScaleDownUnneededDuration(), o.GetScaleDownUnneededTime()),
		ScaleDownUnreadyTime:             duration(o.GetScaleDownUnreadyDuration(), o.GetScaleDownUnreadyTime()),
		MaxNodeProvisionTime:             duration(o.GetMaxNodeProvisionDuration(), o.GetMaxNodeProvisionTime()),
		ZeroOrMaxNodeScaling:             o.GetZeroOrMaxNodeScaling(),
		IgnoreDaemonSetsUtilization:      o.GetIgnoreDaemonSetsUtilization(),
	}
}

// optionsToWire writes both forms: an autoscaler reads the one it knows, and takes a missing duration for zero.
func optionsToWire(o *Options) *wire.NodeGroupAutoscalingOptions {
	if o == nil {
		return nil
	}
	legacy := func(d time.Duration) *wire.LegacyDuration { return &wire.LegacyDuration{Duration: int64(d)} }
	return &wire.NodeGroupAutoscalingOptions{
		ScaleDownUtilizationThreshold:    o.ScaleDownUtilizationThreshold,
		ScaleDownGpuUtilizationThreshold: o.ScaleDownGPUUtilizationThreshold,
		ScaleDownUnneededTime:            legacy(o.ScaleDownUnneededTime),
		ScaleDownUnreadyTime:             legacy(o.ScaleDownUnreadyTime),
		MaxNodeProvisionTime:             legacy(o.MaxNodeProvisionTime),
		ZeroOrMaxNodeScaling:             o.ZeroOrMaxNodeScaling,
		IgnoreDaemonSetsUtilization:      o.IgnoreDaemonSetsUtilization,
		ScaleDownUnneededDuration:        durationpb.New(o.ScaleDownUnneededTime),
		ScaleDownUnreadyDuration:         durationpb.New(o.ScaleDownUnreadyTime),
		MaxNodeProvisionDuration:         durationpb.New(o.MaxNodeProvisionTime),
	}
}
