package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"

	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

// Unless a check says that it changes something, it asks for what a provider must refuse.
var changeChecks = []check{
	{name: "increase/unknown-group", asks: "NotFound", run: func(ctx context.Context, r *run) error {
		return refused(r.increase(ctx, stranger, 1), "to grow a group that is not there", codes.NotFound)
	}},
	{name: "decrease/unknown-group", asks: "NotFound", run: func(ctx context.Context, r *run) error {
		return refused(r.decrease(ctx, stranger, -1), "to shrink a group that is not there", codes.NotFound)
	}},
	{name: "delete/unknown-group", asks: "NotFound", run: func(ctx context.Context, r *run) error {
		return refused(r.remove(ctx, stranger, stranger), "to delete a node of a group that is not there", codes.NotFound)
	}},
	{name: "increase/nothing", asks: "InvalidArgument for a delta that is not positive, and no change", run: func(ctx context.Context, r *run) error {
		return r.refusedFor(ctx, func(g string) error {
			if err := refused(r.increase(ctx, g, 0), "to grow by nothing", codes.InvalidArgument); err != nil {
				return err
			}
			return refused(r.increase(ctx, g, -1), "to grow by less than nothing", codes.InvalidArgument)
		})
	}},
	{name: "decrease/nothing", asks: "InvalidArgument for a delta that is not negative, and no change", run: func(ctx context.Context, r *run) error {
		return r.refusedFor(ctx, func(g string) error {
			return refused(r.decrease(ctx, g, 0), "to shrink by nothing", codes.InvalidArgument)
		})
	}},
	{name: "delete/foreign", asks: "FailedPrecondition, NotFound or InvalidArgument for a node that is not in the group, and no change", run: func(ctx context.Context, r *run) error {
		return r.refusedFor(ctx, func(g string) error {
			return refused(r.remove(ctx, g, stranger), "to delete a node that is not in the group", codes.FailedPrecondition, codes.NotFound, codes.InvalidArgument)
		})
	}},
	{name: "increase/above-max", asks: "ResourceExhausted, FailedPrecondition or InvalidArgument above the maximum, and no change", changes: true, run: func(ctx context.Context, r *run) error {
		g, err := r.changeable()
		if err != nil {
			return err
		}
		size, err := r.size(ctx, g.GetId())
		if err != nil {
			return err
		}
		return r.unchanged(ctx, g.GetId(), func() error {
			return refused(r.increase(ctx, g.GetId(), g.GetMaxSize()-size+1), "to grow above the maximum", codes.ResourceExhausted, codes.FailedPrecondition, codes.InvalidArgument)
		})
	}},
	{name: "decrease/nodes", asks: "FailedPrecondition where nodes would have to go, and no change", changes: true, run: func(ctx context.Context, r *run) error {
		g, err := r.changeable()
		if err != nil {
			return err
		}
		list, err := r.instances(ctx, g.GetId())
		if err != nil {
			return err
		}
		if len(list) == 0 || slices.ContainsFunc(list, func(i *wire.Instance) bool {
			return i.GetStatus().GetInstanceState() != wire.InstanceStatus_instanceRunning
		}) {
			return skip("the group has no nodes, or some are on their way")
		}
		return r.unchanged(ctx, g.GetId(), func() error {
			return refused(r.decrease(ctx, g.GetId(), -1), "to shrink by a node that is there", codes.FailedPrecondition, codes.InvalidArgument)
		})
	}},
	{name: "increase", asks: "a target size that has changed when the call returns, and a machine that is listed", changes: true, run: grow},
	{name: "increase/kept-next-loop", asks: "a machine that was asked for is listed under the same id in the next loops (autoscaler#5935)", changes: true, run: kept},
	{name: "delete", asks: "a smaller target size, and the machine deleting or gone", changes: true, run: shrink},
}

// refusedFor checks calls that must be refused and change nothing, on any group.
func (r *run) refusedFor(ctx context.Context, f func(group string) error) error {
	g, err := r.any()
	if err != nil {
		return err
	}
	return r.unchanged(ctx, g.GetId(), func() error { return f(g.GetId()) })
}

func (r *run) increase(ctx context.Context, group string, delta int32) error {
	_, err := call(ctx, r, r.client.NodeGroupIncreaseSize, &wire.NodeGroupIncreaseSizeRequest{Id: group, Delta: delta})
	return err
}

func (r *run) decrease(ctx context.Context, group string, delta int32) error {
	_, err := call(ctx, r, r.client.NodeGroupDecreaseTargetSize, &wire.NodeGroupDecreaseTargetSizeRequest{Id: group, Delta: delta})
	return err
}

func (r *run) remove(ctx context.Context, group, machine string) error {
	_, err := call(ctx, r, r.client.NodeGroupDeleteNodes, &wire.NodeGroupDeleteNodesRequest{
		Id: group, Nodes: []*wire.ExternalGrpcNode{{ProviderID: machine, Name: machine}},
	})
	return err
}

// ids are the machines of the group that may be changed.
func (r *run) ids(ctx context.Context) ([]string, error) {
	list, err := r.instances(ctx, r.Change)
	var out []string
	for _, i := range list {
		out = append(out, i.GetId())
	}
	return out, err
}

func grow(ctx context.Context, r *run) error {
	g, err := r.changeable()
	if err != nil {
		return err
	}
	before, err := r.size(ctx, g.GetId())
	if err != nil {
		return err
	}
	if before >= g.GetMaxSize() {
		return skip("group %s is at its maximum", g.GetId())
	}
	had, err := r.ids(ctx)
	if err != nil {
		return err
	}
	if err := r.increase(ctx, g.GetId(), 1); err != nil {
		return err
	}
	after, err := r.size(ctx, g.GetId())
	if err != nil {
		return err
	}
	if after != before+1 {
		return fmt.Errorf("after an increase by 1 the target size is %d, it was %d", after, before)
	}
	has, err := r.ids(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(has, func(id string) bool { return !slices.Contains(had, id) }) {
		return fmt.Errorf("the machine that was asked for is not listed: %d before, %d after", len(had), len(has))
	}
	return nil
}

// loops is how many loops of an autoscaler are played after an increase.
const loops = 3

func kept(ctx context.Context, r *run) error {
	if _, err := r.changeable(); err != nil {
		return err
	}
	had, err := r.ids(ctx)
	if err != nil {
		return err
	}
	size, err := r.size(ctx, r.Change)
	if err != nil {
		return err
	}
	for loop := range loops {
		if _, err := call(ctx, r, r.client.Refresh, &wire.RefreshRequest{}); err != nil {
			return err
		}
		has, err := r.ids(ctx)
		if err != nil {
			return err
		}
		for _, id := range had {
			if !slices.Contains(has, id) {
				return fmt.Errorf("machine %s is gone in loop %d, and nobody deleted it", id, loop+1)
			}
		}
		if now, err := r.size(ctx, r.Change); err != nil || now != size {
			return fmt.Errorf("the target size is %d in loop %d, it was %d (%w)", now, loop+1, size, orNobody(err))
		}
	}
	return nil
}

func orNobody(err error) error {
	if err == nil {
		return errNobody
	}
	return err
}

var errNobody = errors.New("nobody changed it")

func shrink(ctx context.Context, r *run) error {
	g, err := r.changeable()
	if err != nil {
		return err
	}
	before, err := r.size(ctx, g.GetId())
	if err != nil {
		return err
	}
	has, err := r.ids(ctx)
	if err != nil {
		return err
	}
	if before <= g.GetMinSize() || len(has) == 0 {
		return skip("group %s is at its minimum", g.GetId())
	}
	last := has[len(has)-1]
	if err := r.remove(ctx, g.GetId(), last); err != nil {
		return err
	}
	after, err := r.size(ctx, g.GetId())
	if err != nil {
		return err
	}
	if after != before-1 {
		return fmt.Errorf("after a node was deleted the target size is %d, it was %d", after, before)
	}
	list, err := r.instances(ctx, g.GetId())
	if err != nil {
		return err
	}
	for _, i := range list {
		if i.GetId() == last && i.GetStatus().GetInstanceState() != wire.InstanceStatus_instanceDeleting {
			return fmt.Errorf("machine %s was deleted, and its state is %s", last, i.GetStatus().GetInstanceState())
		}
	}
	return nil
}
