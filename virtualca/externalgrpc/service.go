package externalgrpc

import (
	"context"
	"fmt"
	"math"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

// service is the contract over a provider: it checks what is asked and translates.
type service struct {
	wire.UnimplementedCloudProviderServer
	provider Provider
}

func (s *service) NodeGroups(ctx context.Context, _ *wire.NodeGroupsRequest) (*wire.NodeGroupsResponse, error) {
	groups, err := s.provider.NodeGroups(ctx)
	if err != nil {
		return nil, err
	}
	out := &wire.NodeGroupsResponse{}
	for _, g := range groups {
		out.NodeGroups = append(out.NodeGroups, groupToWire(g))
	}
	return out, nil
}

func (s *service) NodeGroupForNode(ctx context.Context, r *wire.NodeGroupForNodeRequest) (*wire.NodeGroupForNodeResponse, error) {
	n, err := nodeFromWire(r.GetNode())
	if err != nil {
		return nil, err
	}
	g, err := s.provider.NodeGroupForNode(ctx, n)
	if err != nil {
		return nil, err
	}
	return &wire.NodeGroupForNodeResponse{NodeGroup: groupToWire(g)}, nil
}

func (s *service) PricingNodePrice(ctx context.Context, r *wire.PricingNodePriceRequest) (*wire.PricingNodePriceResponse, error) {
	p, ok := s.provider.(Pricer)
	if !ok {
		return nil, fmt.Errorf("%w: there are no prices", ErrUnimplemented)
	}
	n, err := nodeFromWire(r.GetNode())
	if err != nil {
		return nil, err
	}
	from, to, err := period(r)
	if err != nil {
		return nil, err
	}
	price, err := p.NodePrice(ctx, n, from, to)
	return &wire.PricingNodePriceResponse{Price: price}, err
}

func (s *service) PricingPodPrice(ctx context.Context, r *wire.PricingPodPriceRequest) (*wire.PricingPodPriceResponse, error) {
	p, ok := s.provider.(Pricer)
	if !ok {
		return nil, fmt.Errorf("%w: there are no prices", ErrUnimplemented)
	}
	pod, err := podFromWire(r)
	if err != nil {
		return nil, err
	}
	from, to, err := period(r)
	if err != nil {
		return nil, err
	}
	price, err := p.PodPrice(ctx, pod, from, to)
	return &wire.PricingPodPriceResponse{Price: price}, err
}

func (s *service) GPULabel(ctx context.Context, _ *wire.GPULabelRequest) (*wire.GPULabelResponse, error) {
	p, ok := s.provider.(GPUs)
	if !ok {
		return &wire.GPULabelResponse{}, nil
	}
	label, err := p.GPULabel(ctx)
	return &wire.GPULabelResponse{Label: label}, err
}

func (s *service) GetAvailableGPUTypes(ctx context.Context, _ *wire.GetAvailableGPUTypesRequest) (*wire.GetAvailableGPUTypesResponse, error) {
	out := &wire.GetAvailableGPUTypesResponse{GpuTypes: map[string]*anypb.Any{}}
	p, ok := s.provider.(GPUs)
	if !ok {
		return out, nil
	}
	types, err := p.GPUTypes(ctx)
	for _, t := range types {
		out.GpuTypes[t] = &anypb.Any{}
	}
	return out, err
}

func (s *service) Refresh(ctx context.Context, _ *wire.RefreshRequest) (*wire.RefreshResponse, error) {
	if p, ok := s.provider.(Loops); ok {
		return &wire.RefreshResponse{}, p.Refresh(ctx)
	}
	return &wire.RefreshResponse{}, nil
}

func (s *service) Cleanup(ctx context.Context, _ *wire.CleanupRequest) (*wire.CleanupResponse, error) {
	if p, ok := s.provider.(Loops); ok {
		return &wire.CleanupResponse{}, p.Cleanup(ctx)
	}
	return &wire.CleanupResponse{}, nil
}

func (s *service) NodeGroupTargetSize(ctx context.Context, r *wire.NodeGroupTargetSizeRequest) (*wire.NodeGroupTargetSizeResponse, error) {
	size, err := s.provider.TargetSize(ctx, r.GetId())
	if err == nil && (size < 0 || size > math.MaxInt32) {
		err = fmt.Errorf("node group %s has the target size %d, which the contract cannot carry", r.GetId(), size)
	}
	return &wire.NodeGroupTargetSizeResponse{TargetSize: int32(size)}, err
}

func (s *service) NodeGroupIncreaseSize(ctx context.Context, r *wire.NodeGroupIncreaseSizeRequest) (*wire.NodeGroupIncreaseSizeResponse, error) {
	if r.GetDelta() <= 0 {
		return nil, fmt.Errorf("%w: increase node group %s by %d: want a positive number of nodes", ErrInvalid, r.GetId(), r.GetDelta())
	}
	return &wire.NodeGroupIncreaseSizeResponse{}, s.provider.IncreaseSize(ctx, r.GetId(), int(r.GetDelta()))
}

func (s *service) NodeGroupDecreaseTargetSize(ctx context.Context, r *wire.NodeGroupDecreaseTargetSizeRequest) (*wire.NodeGroupDecreaseTargetSizeResponse, error) {
	if r.GetDelta() >= 0 {
		return nil, fmt.Errorf("%w: decrease the target size of node group %s by a delta of %d: want a negative one", ErrInvalid, r.GetId(), r.GetDelta())
	}
	return &wire.NodeGroupDecreaseTargetSizeResponse{}, s.provider.DecreaseTargetSize(ctx, r.GetId(), -int(r.GetDelta()))
}

func (s *service) NodeGroupDeleteNodes(ctx context.Context, r *wire.NodeGroupDeleteNodesRequest) (*wire.NodeGroupDeleteNodesResponse, error) {
	var nodes []Node
	for _, w := range r.GetNodes() {
		n, err := nodeFromWire(w)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("%w: delete nodes of node group %s: none is named", ErrInvalid, r.GetId())
	}
	return &wire.NodeGroupDeleteNodesResponse{}, s.provider.DeleteNodes(ctx, r.GetId(), nodes)
}

func (s *service) NodeGroupNodes(ctx context.Context, r *wire.NodeGroupNodesRequest) (*wire.NodeGroupNodesResponse, error) {
	instances, err := s.provider.Instances(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	out := &wire.NodeGroupNodesResponse{}
	for _, i := range instances {
		out.Instances = append(out.Instances, instanceToWire(i))
	}
	return out, nil
}

func (s *service) NodeGroupTemplateNodeInfo(ctx context.Context, r *wire.NodeGroupTemplateNodeInfoRequest) (*wire.NodeGroupTemplateNodeInfoResponse, error) {
	p, ok := s.provider.(Templates)
	if !ok {
		return nil, fmt.Errorf("%w: there are no node templates", ErrUnimplemented)
	}
	n, err := p.Template(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	if n == nil {
		return nil, fmt.Errorf("%w: node group %s has no template", ErrUnimplemented, r.GetId())
	}
	b, err := n.Marshal()
	if err != nil {
		return nil, fmt.Errorf("template of node group %s: %w", r.GetId(), err)
	}
	return &wire.NodeGroupTemplateNodeInfoResponse{NodeInfo: b, NodeBytes: b}, nil
}

func (s *service) NodeGroupGetOptions(ctx context.Context, r *wire.NodeGroupAutoscalingOptionsRequest) (*wire.NodeGroupAutoscalingOptionsResponse, error) {
	p, ok := s.provider.(Optioner)
	if !ok {
		return nil, fmt.Errorf("%w: no group has options of its own", ErrUnimplemented)
	}
	if r.GetDefaults() == nil {
		return nil, fmt.Errorf("%w: options of node group %s: the defaults are missing", ErrInvalid, r.GetId())
	}
	o, err := p.GroupOptions(ctx, r.GetId(), optionsFromWire(r.GetDefaults()))
	if err != nil {
		return nil, err
	}
	return &wire.NodeGroupAutoscalingOptionsResponse{NodeGroupAutoscalingOptions: optionsToWire(o)}, nil
}
