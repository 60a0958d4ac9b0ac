package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	if b, ok := v.(*[]byte); ok {
		return *b, nil
	}
	return nil, fmt.Errorf("%T is not bytes", v)
}

func (rawCodec) Unmarshal(b []byte, v any) error {
	into, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is not bytes", v)
	}
	*into = bytes.Clone(b)
	return nil
}

var templateChecks = []check{
	{name: "template", asks: "a node with cpu and memory to allocate, or Unimplemented", run: func(ctx context.Context, r *run) error {
		return r.eachTemplate(ctx, func(g string, n *corev1.Node, _ *wire.NodeGroupTemplateNodeInfoResponse) error {
			if n.Status.Allocatable.Cpu().IsZero() || n.Status.Allocatable.Memory().IsZero() {
				return fmt.Errorf("the node of %s has no cpu or no memory to allocate", g)
			}
			return nil
		})
	}},
	{name: "template/current-wire", asks: "nodeBytes (field 2), which autoscalers from 1.35 on read", run: func(ctx context.Context, r *run) error {
		return r.eachTemplate(ctx, func(g string, _ *corev1.Node, a *wire.NodeGroupTemplateNodeInfoResponse) error {
			if len(a.GetNodeBytes()) == 0 {
				return fmt.Errorf("the node of %s is in the field of old autoscalers alone: to one from 1.35 on the group has no template, and never grows from zero", g)
			}
			return nil
		})
	}},
	{name: "template/legacy-wire", asks: "nodeInfo (field 1), which autoscalers up to 1.34 read, with the same node", run: func(ctx context.Context, r *run) error {
		return r.eachTemplate(ctx, func(g string, _ *corev1.Node, a *wire.NodeGroupTemplateNodeInfoResponse) error {
			switch {
			case len(a.GetNodeInfo()) == 0:
				return fmt.Errorf("the node of %s is in the field of new autoscalers alone: one up to 1.34 has no template", g)
			case len(a.GetNodeBytes()) > 0 && !bytes.Equal(a.GetNodeInfo(), a.GetNodeBytes()):
				return fmt.Errorf("old and new autoscalers get different nodes of %s", g)
			}
			return nil
		})
	}},
	{name: "template/devices", asks: "devices of a GPU node among what it has to allocate: the contract has no ResourceSlices (autoscaler#10277)", run: func(ctx context.Context, r *run) error {
		label, err := call(ctx, r, r.client.GPULabel, &wire.GPULabelRequest{})
		if err != nil {
			return err
		}
		gpus := 0
		err = r.eachTemplate(ctx, func(g string, n *corev1.Node, _ *wire.NodeGroupTemplateNodeInfoResponse) error {
			if _, gpu := n.Labels[label.GetLabel()]; !gpu || label.GetLabel() == "" {
				return nil
			}
			gpus++
			for name, q := range n.Status.Allocatable {
				if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourcePods && name != corev1.ResourceEphemeralStorage && !q.IsZero() {
					return nil
				}
			}
			return fmt.Errorf("the node of %s is labelled %s and has no device to allocate: pods that claim one never make the group grow from zero", g, label.GetLabel())
		})
		if err == nil && gpus == 0 {
			return skip("no template has the label of nodes with GPUs")
		}
		return err
	}},
	{name: "template/unknown-group", asks: "NotFound, or Unimplemented where there are no templates", run: func(ctx context.Context, r *run) error {
		_, err := call(ctx, r, r.client.NodeGroupTemplateNodeInfo, &wire.NodeGroupTemplateNodeInfoRequest{Id: stranger})
		return refused(err, "the template of a group that is not there", codes.NotFound, codes.Unimplemented)
	}},
}

// eachTemplate looks at the templates there are.
func (r *run) eachTemplate(ctx context.Context, look func(group string, n *corev1.Node, a *wire.NodeGroupTemplateNodeInfoResponse) error) error {
	var absent error
	for _, g := range r.groups {
		a, err := call(ctx, r, r.client.NodeGroupTemplateNodeInfo, &wire.NodeGroupTemplateNodeInfoRequest{Id: g.GetId()})
		if err = optional(err, "no group without nodes grows"); err != nil {
			if v, ok := err.(*verdict); ok { //nolint:errorlint // a verdict is never wrapped
				absent = v
				continue
			}
			return fmt.Errorf("template of %s: %w", g.GetId(), err)
		}
		n, err := nodeOf(a)
		if err != nil {
			return fmt.Errorf("template of %s: %w", g.GetId(), err)
		}
		if err := look(g.GetId(), n, a); err != nil {
			return err
		}
		absent = nil
	}
	return absent
}

// nodeOf reads a template in either wire.
func nodeOf(a *wire.NodeGroupTemplateNodeInfoResponse) (*corev1.Node, error) {
	data := a.GetNodeBytes()
	if len(data) == 0 {
		data = a.GetNodeInfo()
	}
	if len(data) == 0 {
		return nil, errors.New("it has no bytes")
	}
	n := &corev1.Node{}
	if err := n.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("it cannot be read as a node: %w", err)
	}
	return n, nil
}

// options asks for options with defaults that are all set.
func (r *run) options(ctx context.Context) error {
	hour := func(n int) *durationpb.Duration { return durationpb.New(time.Duration(n) * time.Hour) }
	legacy := func(n int) *wire.LegacyDuration {
		return &wire.LegacyDuration{Duration: int64(time.Duration(n) * time.Hour)}
	}
	defaults := &wire.NodeGroupAutoscalingOptions{
		ScaleDownUtilizationThreshold: 0.4, ScaleDownGpuUtilizationThreshold: 0.6, ScaleDownUnneededDuration: hour(1), ScaleDownUnreadyDuration: hour(2),
		MaxNodeProvisionDuration: hour(3), ScaleDownUnneededTime: legacy(1), ScaleDownUnreadyTime: legacy(2), MaxNodeProvisionTime: legacy(3),
	}
	for _, g := range r.groups {
		a, err := call(ctx, r, r.client.NodeGroupGetOptions, &wire.NodeGroupAutoscalingOptionsRequest{Id: g.GetId(), Defaults: defaults})
		if err = optional(err, "the autoscaler's flags are those of every group"); err != nil {
			return err
		}
		o := a.GetNodeGroupAutoscalingOptions()
		if o == nil {
			continue // the defaults
		}
		for name, d := range map[string][2]time.Duration{
			"scaleDownUnneeded": {o.GetScaleDownUnneededDuration().AsDuration(), time.Duration(o.GetScaleDownUnneededTime().GetDuration())},
			"scaleDownUnready":  {o.GetScaleDownUnreadyDuration().AsDuration(), time.Duration(o.GetScaleDownUnreadyTime().GetDuration())},
			"maxNodeProvision":  {o.GetMaxNodeProvisionDuration().AsDuration(), time.Duration(o.GetMaxNodeProvisionTime().GetDuration())},
		} {
			if d[0] == 0 {
				return fmt.Errorf("options of %s: %s is not set, which is zero to the autoscaler", g.GetId(), name)
			}
			if d[1] != d[0] {
				return fmt.Errorf("options of %s: %s is %s to new autoscalers and %s to those up to 1.34", g.GetId(), name, d[0], d[1])
			}
		}
		if o.GetScaleDownUtilizationThreshold() == defaults.GetScaleDownGpuUtilizationThreshold() && o.GetScaleDownGpuUtilizationThreshold() == defaults.GetScaleDownGpuUtilizationThreshold() {
			return fmt.Errorf("options of %s: the threshold of GPUs is that of cpu and memory, too (upstream's example server has this fault)", g.GetId())
		}
	}
	return nil
}

// hourOf is a period of prices, in both wires' fields.
func hourOf(hours int) (from, to *timestamppb.Timestamp) {
	at := time.Unix(1_700_000_000, 0)
	return timestamppb.New(at), timestamppb.New(at.Add(time.Duration(hours) * time.Hour))
}

var priceChecks = []check{
	{name: "node-price", asks: "a price of the period asked for, in both wires, or Unimplemented", run: func(ctx context.Context, r *run) error {
		return r.prices(func(hours int, legacy bool) (float64, error) {
			from, to := hourOf(hours)
			q := &wire.PricingNodePriceRequest{Node: &wire.ExternalGrpcNode{Name: "template", Labels: map[string]string{}}}
			if g, err := r.any(); err == nil {
				if a, err := call(ctx, r, r.client.NodeGroupTemplateNodeInfo, &wire.NodeGroupTemplateNodeInfoRequest{Id: g.GetId()}); err == nil {
					if n, err := nodeOf(a); err == nil {
						q.Node = &wire.ExternalGrpcNode{Name: n.Name, ProviderID: n.Spec.ProviderID, Labels: n.Labels, Annotations: n.Annotations}
					}
				}
			}
			if legacy {
				q.StartTime, q.EndTime = from, to
			} else {
				q.StartTimestamp, q.EndTimestamp = from, to
			}
			a, err := call(ctx, r, r.client.PricingNodePrice, q)
			return a.GetPrice(), err
		})
	}},
	{name: "pod-price", asks: "a price of the period asked for, in both wires, or Unimplemented", run: func(ctx context.Context, r *run) error {
		pod, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}).Marshal()
		if err != nil {
			return err
		}
		return r.prices(func(hours int, legacy bool) (float64, error) {
			from, to := hourOf(hours)
			q := &wire.PricingPodPriceRequest{PodBytes: pod, StartTimestamp: from, EndTimestamp: to}
			if legacy {
				q = &wire.PricingPodPriceRequest{Pod: pod, StartTime: from, EndTime: to}
			}
			a, err := call(ctx, r, r.client.PricingPodPrice, q)
			return a.GetPrice(), err
		})
	}},
}

// prices asks for an hour and for two.
func (r *run) prices(ask func(hours int, legacy bool) (float64, error)) error {
	one, err := ask(1, false)
	if err = optional(err, "the price expander has nothing to compare"); err != nil {
		return err
	}
	two, err := ask(2, false)
	if err != nil {
		return err
	}
	old, err := ask(1, true)
	switch {
	case err != nil:
		return fmt.Errorf("asked as autoscalers up to 1.34 do: %w", err)
	case one < 0 || math.IsNaN(one) || math.IsInf(one, 0):
		return fmt.Errorf("the price is %v", one)
	case math.Abs(two-2*one) > 1e-9*math.Max(1, two):
		return fmt.Errorf("an hour costs %v and two cost %v: the period is not taken into account", one, two)
	case old != one:
		return fmt.Errorf("old autoscalers get %v, new ones %v", old, one)
	}
	if _, err := ask(-1, false); err == nil {
		return errors.New("a period that ends before it starts has a price")
	}
	return nil
}
