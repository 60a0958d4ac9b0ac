package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

// stranger is an id that no group and no machine has.
const stranger = "scalehist-conformance-no-such-thing"

var checks = slices.Concat(groupChecks, nodeChecks, templateChecks, priceChecks, changeChecks, manners)

var groupChecks = []check{
	{name: "node-groups", asks: "groups with an id of their own and 0 <= min <= max", run: func(ctx context.Context, r *run) error {
		resp, err := call(ctx, r, r.client.NodeGroups, &wire.NodeGroupsRequest{})
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, g := range resp.GetNodeGroups() {
			switch {
			case g.GetId() == "":
				return errors.New("a group has no id")
			case seen[g.GetId()]:
				return fmt.Errorf("group %s is there twice", g.GetId())
			case g.GetMinSize() < 0 || g.GetMaxSize() < g.GetMinSize():
				return fmt.Errorf("group %s has min %d and max %d", g.GetId(), g.GetMinSize(), g.GetMaxSize())
			}
			seen[g.GetId()] = true
		}
		if len(seen) == 0 {
			return errors.New("there are no node groups")
		}
		return nil
	}},
	{name: "target-size", asks: "a size for every group", run: func(ctx context.Context, r *run) error {
		for _, g := range r.groups {
			if n, err := r.size(ctx, g.GetId()); err != nil || n < 0 {
				return fmt.Errorf("group %s: size %d, %w", g.GetId(), n, orNegative(err))
			}
		}
		return nil
	}},
	{name: "target-size/unknown-group", asks: "NotFound", run: func(ctx context.Context, r *run) error {
		_, err := call(ctx, r, r.client.NodeGroupTargetSize, &wire.NodeGroupTargetSizeRequest{Id: stranger})
		return refused(err, "the size of a group that is not there", codes.NotFound)
	}},
	{name: "get-options", asks: "all fields of the options, or Unimplemented, in both wires", run: func(ctx context.Context, r *run) error {
		return r.options(ctx)
	}},
	{name: "gpu-label", asks: "an answer", run: func(ctx context.Context, r *run) error {
		_, err := call(ctx, r, r.client.GPULabel, &wire.GPULabelRequest{})
		return err
	}},
	{name: "gpu-types", asks: "an answer", run: func(ctx context.Context, r *run) error {
		_, err := call(ctx, r, r.client.GetAvailableGPUTypes, &wire.GetAvailableGPUTypesRequest{})
		return err
	}},
	{name: "refresh", asks: "an answer, at the beginning of each loop", run: func(ctx context.Context, r *run) error {
		_, err := call(ctx, r, r.client.Refresh, &wire.RefreshRequest{})
		return err
	}},
}

func orNegative(err error) error {
	if err == nil {
		return errors.New("which is negative")
	}
	return err
}

var nodeChecks = []check{
	{name: "nodes", asks: "machines with an id of their own and a state, errors with a code and a class", run: func(ctx context.Context, r *run) error {
		seen := map[string]string{}
		for _, g := range r.groups {
			list, err := r.instances(ctx, g.GetId())
			if err != nil {
				return err
			}
			for _, i := range list {
				if err := wellFormed(i); err != nil {
					return fmt.Errorf("group %s: %w", g.GetId(), err)
				}
				if other, ok := seen[i.GetId()]; ok {
					return fmt.Errorf("machine %s is in %s and in %s", i.GetId(), other, g.GetId())
				}
				seen[i.GetId()] = g.GetId()
			}
		}
		return nil
	}},
	{name: "nodes/unknown-group", asks: "NotFound", run: func(ctx context.Context, r *run) error {
		_, err := call(ctx, r, r.client.NodeGroupNodes, &wire.NodeGroupNodesRequest{Id: stranger})
		return refused(err, "the nodes of a group that is not there", codes.NotFound)
	}},
	{name: "nodegroup-for-node/own", asks: "for each machine the group that lists it (autoscaler#6886)", run: func(ctx context.Context, r *run) error {
		asked := 0
		for _, g := range r.groups {
			list, err := r.instances(ctx, g.GetId())
			if err != nil {
				return err
			}
			for _, i := range list {
				if i.GetStatus().GetInstanceState() != wire.InstanceStatus_instanceRunning {
					continue
				}
				asked++
				of, err := r.groupOf(ctx, i.GetId())
				if err != nil {
					return fmt.Errorf("machine %s: %w", i.GetId(), err)
				}
				if of != g.GetId() {
					return fmt.Errorf("machine %s is listed by group %s, and said to be of %q", i.GetId(), g.GetId(), of)
				}
			}
		}
		if asked == 0 {
			return skip("no machine is running")
		}
		return nil
	}},
	{name: "nodegroup-for-node/foreign", asks: "an empty id for a node of no group, without an error", run: func(ctx context.Context, r *run) error {
		of, err := r.groupOf(ctx, stranger)
		if err == nil && of != "" {
			return fmt.Errorf("a node that nobody knows is of group %s", of)
		}
		return err
	}},
}

func (r *run) groupOf(ctx context.Context, machine string) (string, error) {
	resp, err := call(ctx, r, r.client.NodeGroupForNode, &wire.NodeGroupForNodeRequest{Node: &wire.ExternalGrpcNode{ProviderID: machine, Name: machine}})
	return resp.GetNodeGroup().GetId(), err
}

func wellFormed(i *wire.Instance) error {
	state, failed := i.GetStatus().GetInstanceState(), i.GetStatus().GetErrorInfo()
	switch {
	case i.GetId() == "":
		return errors.New("a machine has no id")
	case state < wire.InstanceStatus_instanceRunning || state > wire.InstanceStatus_instanceDeleting:
		return fmt.Errorf("machine %s has the state %d", i.GetId(), state)
	case failed != nil && failed.GetErrorCode() == "":
		return fmt.Errorf("machine %s has an error without a code, which is none to the autoscaler", i.GetId())
	case failed != nil && failed.GetInstanceErrorClass() != 1 && failed.GetInstanceErrorClass() != 99:
		return fmt.Errorf("machine %s has an error of class %d: want 1 (out of resources) or 99 (other)", i.GetId(), failed.GetInstanceErrorClass())
	}
	return nil
}

// manners are about any method.
var manners = []check{
	{name: "deadlines", asks: "DeadlineExceeded or Canceled, soon, when the caller's time is up", run: func(ctx context.Context, r *run) error {
		over, cancel := context.WithTimeout(ctx, time.Nanosecond)
		defer cancel()
		_, err := r.client.NodeGroups(over, &wire.NodeGroupsRequest{})
		return refused(err, "a call whose time is up", codes.DeadlineExceeded, codes.Canceled)
	}},
	{name: "concurrency", asks: "the same answers to many callers at once", run: func(ctx context.Context, r *run) error { return r.many(ctx) }},
	{name: "garbage", asks: "an error for bytes that are no message, and answers after it", run: func(ctx context.Context, r *run) error {
		bytes, answer := []byte("\xff\xff\xff\xff"), []byte(nil)
		err := r.conn.Invoke(ctx, wire.CloudProvider_NodeGroupTargetSize_FullMethodName, &bytes, &answer, grpc.ForceCodec(rawCodec{}))
		if err == nil {
			return errors.New("bytes that are no message were answered")
		}
		if _, err := call(ctx, r, r.client.NodeGroups, &wire.NodeGroupsRequest{}); err != nil {
			return fmt.Errorf("after bytes that are no message: %w", err)
		}
		return nil
	}},
	{name: "unknown-method", asks: "Unimplemented", run: func(ctx context.Context, r *run) error {
		ctx, cancel := context.WithTimeout(ctx, r.CallTime)
		defer cancel()
		err := r.conn.Invoke(ctx, "/"+wire.CloudProvider_ServiceDesc.ServiceName+"/NoSuchMethod", &wire.RefreshRequest{}, &wire.RefreshResponse{})
		return refused(err, "a method that is not there", codes.Unimplemented)
	}},
	{name: "cleanup", asks: "an answer, and answers after it: autoscalers are restarted", run: func(ctx context.Context, r *run) error {
		if _, err := call(ctx, r, r.client.Cleanup, &wire.CleanupRequest{}); err != nil {
			return err
		}
		_, err := call(ctx, r, r.client.NodeGroups, &wire.NodeGroupsRequest{})
		return err
	}},
}

// many lets many ask the same at once.
func (r *run) many(ctx context.Context) error {
	g, err := r.any()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	answers, failed := map[string]int{}, error(nil)
	var wg sync.WaitGroup
	for range r.Callers {
		wg.Go(func() {
			groups, err := call(ctx, r, r.client.NodeGroups, &wire.NodeGroupsRequest{})
			size, serr := call(ctx, r, r.client.NodeGroupTargetSize, &wire.NodeGroupTargetSizeRequest{Id: g.GetId()})
			a, aerr := proto.MarshalOptions{Deterministic: true}.Marshal(groups)
			mu.Lock()
			defer mu.Unlock()
			if err = errors.Join(err, serr, aerr); err != nil {
				failed = err
				return
			}
			answers[fmt.Sprintf("%x %d", a, size.GetTargetSize())]++
		})
	}
	wg.Wait()
	if failed != nil {
		return fmt.Errorf("of %d callers at once, one got: %w", r.Callers, failed)
	}
	if len(answers) != 1 {
		return fmt.Errorf("%d callers at once got %d different answers: %v", r.Callers, len(answers), slices.Sorted(maps.Values(answers)))
	}
	return nil
}
