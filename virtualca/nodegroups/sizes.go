package nodegroups

import (
	"context"
	"fmt"
	"time"

	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// TargetSize implements externalgrpc.Sizes.
func (g *Groups) TargetSize(ctx context.Context, id string) (size int, err error) {
	err = g.turns.Turn(ctx, func(time.Time) error {
		one, err := g.group(id)
		size = one.TargetSize
		return err
	})
	return size, err
}

// IncreaseSize implements externalgrpc.Sizes.
func (g *Groups) IncreaseSize(ctx context.Context, id string, delta int) error {
	return g.ask(ctx, Asked{What: Increase, Group: id, Delta: delta}, func(now time.Time, _ *Asked) error {
		return g.provider.IncreaseSize(ctx, now, id, delta)
	})
}

// DecreaseTargetSize implements externalgrpc.Sizes.
func (g *Groups) DecreaseTargetSize(ctx context.Context, id string, delta int) error {
	return g.ask(ctx, Asked{What: Decrease, Group: id, Delta: delta}, func(now time.Time, _ *Asked) error {
		return g.provider.DecreaseTargetSize(ctx, now, id, delta)
	})
}

// DeleteNodes implements externalgrpc.Instances.
func (g *Groups) DeleteNodes(ctx context.Context, id string, nodes []externalgrpc.Node) error {
	return g.ask(ctx, Asked{What: Delete, Group: id, Delta: len(nodes)}, func(now time.Time, a *Asked) error {
		for _, n := range nodes {
			i, ok := g.instance(id, n)
			if !ok {
				return fmt.Errorf("delete nodes of %s: node %q: %w: it is not one of its machines", id, n.Name, externalgrpc.ErrPrecondition)
			}
			a.Nodes = append(a.Nodes, i.NodeName)
		}
		return g.provider.DeleteNodes(ctx, now, id, a.Nodes)
	})
}

// ask carries out a change of a group that there is.
func (g *Groups) ask(ctx context.Context, a Asked, do func(now time.Time, a *Asked) error) error {
	return g.turns.Turn(ctx, func(now time.Time) error {
		one, err := g.group(a.Group)
		if err != nil {
			return err
		}
		a.At, a.From, a.Max = now, one.TargetSize, one.MaxSize
		a.Err = coded(do(now, &a))
		after, _ := g.provider.Group(a.Group)
		a.To = after.TargetSize
		if g.opts.Asked != nil {
			g.opts.Asked(a)
		}
		return a.Err
	})
}

// GroupOptions implements externalgrpc.Optioner.
func (g *Groups) GroupOptions(ctx context.Context, id string, defaults externalgrpc.Options) (out *externalgrpc.Options, err error) {
	err = g.turns.Turn(ctx, func(time.Time) error {
		if _, err := g.group(id); err != nil {
			return err
		}
		if own, ok := g.provider.GroupOptions(id); ok {
			out = g.merged(own, defaults)
		}
		return nil
	})
	return out, err
}

// merged fills every field: one that is not set would be zero to the autoscaler.
func (g *Groups) merged(own cloudprovider.GroupOptions, o externalgrpc.Options) *externalgrpc.Options {
	set(&o.ScaleDownUtilizationThreshold, own.ScaleDownUtilizationThreshold)
	set(&o.ScaleDownGPUUtilizationThreshold, own.ScaleDownGPUUtilizationThreshold)
	set(&o.ScaleDownUnneededTime, g.scaled(own.ScaleDownUnneededTime))
	set(&o.ScaleDownUnreadyTime, g.scaled(own.ScaleDownUnreadyTime))
	set(&o.MaxNodeProvisionTime, g.scaled(own.MaxNodeProvisionTime))
	set(&o.ZeroOrMaxNodeScaling, own.ZeroOrMaxNodeScaling)
	set(&o.IgnoreDaemonSetsUtilization, own.IgnoreDaemonSetsUtilization)
	return &o
}

func (g *Groups) scaled(d *time.Duration) *time.Duration {
	if d == nil {
		return nil
	}
	short := time.Duration(float64(*d) / g.opts.Speed)
	return &short
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
