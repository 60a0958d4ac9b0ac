package nodegroups

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// Turns give exclusive use of a provider at an instant of its time.
type Turns interface {
	// Turn runs f. An error of f, or that there was no turn within ctx, is returned.
	Turn(ctx context.Context, f func(now time.Time) error) error
	// Loop runs f at the beginning of a loop of the autoscaler's.
	Loop(ctx context.Context, f func(now time.Time) error) error
}

// Options of Groups.
type Options struct {
	// Speed is how much faster than the autoscaler's clock the provider's time runs; 0 is 1. Durations of groups are divided by it.
	Speed float64
	// Asked hears, on the turn, of each call that asks for a change, with the error it got. Looped hears of each loop's beginning.
	Asked  func(Asked)
	Looped func(now time.Time) error
}

// Asked is a call that asks for a change of a group.
type Asked struct {
	At    time.Time
	What  Change
	Group string
	// Delta is how many nodes more or less; Nodes are those that go.
	Delta int
	Nodes []string
	// From and To are the target sizes before and after; Max is that of the group.
	From, To, Max int
	Err           error
}

// Change is what a call asks for.
type Change string

// The changes of a group.
const (
	Increase Change = "increase"
	Decrease Change = "decrease"
	Delete   Change = "delete"
)

// Groups is a provider behind externalgrpc. Use New.
type Groups struct {
	provider *cloudprovider.Provider
	turns    Turns
	opts     Options
}

// New puts a provider behind the contract. Prices are answered where the provider has any.
func New(p *cloudprovider.Provider, t Turns, o Options) *Groups {
	if o.Speed == 0 {
		o.Speed = 1
	}
	return &Groups{provider: p, turns: t, opts: o}
}

var (
	_ externalgrpc.Provider  = (*Groups)(nil)
	_ externalgrpc.Templates = (*Groups)(nil)
	_ externalgrpc.Pricer    = (*Groups)(nil)
	_ externalgrpc.Optioner  = (*Groups)(nil)
	_ externalgrpc.GPUs      = (*Groups)(nil)
	_ externalgrpc.Loops     = (*Groups)(nil)
)

// codes are the provider's errors as the contract has them.
var codes = []struct{ is, as error }{
	{cloudprovider.ErrNoGroup, externalgrpc.ErrNotFound},
	{cloudprovider.ErrInvalid, externalgrpc.ErrInvalid},
	{cloudprovider.ErrBounds, externalgrpc.ErrExhausted},
	{cloudprovider.ErrRefused, externalgrpc.ErrExhausted},
	{cloudprovider.ErrState, externalgrpc.ErrPrecondition},
	{cloudprovider.ErrDown, externalgrpc.ErrUnavailable},
}

func coded(err error) error {
	for _, c := range codes {
		if errors.Is(err, c.is) {
			return fmt.Errorf("%w: %w", c.as, err)
		}
	}
	return err
}

// group is a group there is.
func (g *Groups) group(id string) (scalehist.NodeGroup, error) {
	found, ok := g.provider.Group(id)
	if !ok {
		return found, fmt.Errorf("node group %q: %w", id, externalgrpc.ErrNotFound)
	}
	return found, nil
}

func wire(g scalehist.NodeGroup) externalgrpc.NodeGroup {
	return externalgrpc.NodeGroup{ID: g.Name, MinSize: g.MinSize, MaxSize: g.MaxSize, Debug: g.MachineType}
}

// NodeGroups implements externalgrpc.Groups.
func (g *Groups) NodeGroups(ctx context.Context) (out []externalgrpc.NodeGroup, err error) {
	err = g.turns.Turn(ctx, func(time.Time) error {
		for _, one := range g.provider.Groups() {
			out = append(out, wire(one))
		}
		return nil
	})
	return out, err
}

// NodeGroupForNode implements externalgrpc.Groups.
func (g *Groups) NodeGroupForNode(ctx context.Context, n externalgrpc.Node) (out externalgrpc.NodeGroup, err error) {
	err = g.turns.Turn(ctx, func(time.Time) error {
		for _, one := range g.provider.Groups() {
			if _, ok := g.instance(one.Name, n); ok {
				out = wire(one)
				return nil
			}
		}
		o := object(n)
		if n.ProviderID != "" {
			o.Name = "" // its machine is none of ours, so its name means nothing
		}
		if name, ok := g.provider.GroupForNode(o); ok {
			one, err := g.group(name)
			out = wire(one)
			return err
		}
		return nil
	})
	return out, err
}

// instance finds the machine of a node. One that never joined has its id as name, too.
func (g *Groups) instance(group string, n externalgrpc.Node) (cloudprovider.Instance, bool) {
	all := g.provider.Instances(group)
	i := slices.IndexFunc(all, func(i cloudprovider.Instance) bool {
		return n.ProviderID == i.ID || n.ProviderID == "" && (n.Name == i.NodeName || n.Name == i.ID)
	})
	if i < 0 {
		return cloudprovider.Instance{}, false
	}
	return all[i], true
}

// object is what the contract has of a node.
func object(n externalgrpc.Node) *corev1.Node {
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, Annotations: n.Annotations}}
	o.Spec.ProviderID = n.ProviderID
	return o
}

// Instances implements externalgrpc.Instances.
func (g *Groups) Instances(ctx context.Context, id string) (out []externalgrpc.Instance, err error) {
	err = g.turns.Turn(ctx, func(time.Time) error {
		if _, err := g.group(id); err != nil {
			return err
		}
		for _, i := range g.provider.Instances(id) {
			out = append(out, instanceOf(i))
		}
		return nil
	})
	return out, err
}

func instanceOf(i cloudprovider.Instance) externalgrpc.Instance {
	out := externalgrpc.Instance{ID: i.ID, State: map[cloudprovider.InstanceState]externalgrpc.State{
		cloudprovider.InstanceCreating: externalgrpc.Creating, cloudprovider.InstanceRunning: externalgrpc.Running, cloudprovider.InstanceDeleting: externalgrpc.Deleting,
	}[i.State]}
	if i.Error != nil {
		out.Error = &externalgrpc.InstanceError{Code: i.Error.Code, Message: i.Error.Message, Class: externalgrpc.OtherError}
		if i.Error.Class == cloudprovider.ErrorOutOfResources {
			out.Error.Class = externalgrpc.OutOfResources
		}
	}
	return out
}

// Template implements externalgrpc.Templates.
func (g *Groups) Template(ctx context.Context, id string) (out *corev1.Node, err error) {
	err = g.turns.Turn(ctx, func(time.Time) error {
		if _, err := g.group(id); err != nil {
			return err
		}
		n, ok := g.provider.Template(id)
		if !ok {
			return fmt.Errorf("node group %s has no template: %w", id, externalgrpc.ErrUnimplemented)
		}
		out = n.DeepCopy()
		out.Name = "template-" + id
		if out.Labels == nil {
			out.Labels = map[string]string{}
		}
		out.Labels[corev1.LabelHostname] = out.Name
		out.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		return nil
	})
	return out, err
}

// NodePrice implements externalgrpc.Pricer.
func (g *Groups) NodePrice(ctx context.Context, n externalgrpc.Node, from, to time.Time) (price float64, err error) {
	err = g.turns.Turn(ctx, func(time.Time) (err error) {
		if !g.provider.HasPrices() {
			return fmt.Errorf("there are no prices: %w", externalgrpc.ErrUnimplemented)
		}
		price, err = g.provider.NodePrice(object(n), from, to)
		return err
	})
	return price, err
}

// PodPrice implements externalgrpc.Pricer.
func (g *Groups) PodPrice(ctx context.Context, p *corev1.Pod, from, to time.Time) (price float64, err error) {
	err = g.turns.Turn(ctx, func(time.Time) (err error) {
		if !g.provider.HasPrices() {
			return fmt.Errorf("there are no prices: %w", externalgrpc.ErrUnimplemented)
		}
		price, err = g.provider.PodPrice(p, from, to)
		return err
	})
	return price, err
}

// GPULabel implements externalgrpc.GPUs.
func (g *Groups) GPULabel(ctx context.Context) (label string, err error) {
	err = g.turns.Turn(ctx, func(time.Time) error {
		if !g.provider.IgnoresGPUs() {
			label = g.provider.GPULabel()
		}
		return nil
	})
	return label, err
}

// GPUTypes implements externalgrpc.GPUs: what the templates say.
func (g *Groups) GPUTypes(ctx context.Context) (types []string, err error) {
	err = g.turns.Turn(ctx, func(time.Time) error {
		label := g.provider.GPULabel()
		if label == "" || g.provider.IgnoresGPUs() {
			return nil
		}
		seen := map[string]bool{}
		for _, one := range g.provider.Groups() {
			if n, ok := g.provider.Template(one.Name); ok && n.Labels[label] != "" {
				seen[n.Labels[label]] = true
			}
		}
		types = slices.Sorted(maps.Keys(seen))
		return nil
	})
	return types, err
}

// Refresh implements externalgrpc.Loops.
func (g *Groups) Refresh(ctx context.Context) error {
	return g.turns.Loop(ctx, func(now time.Time) error {
		if g.opts.Looped != nil {
			if err := g.opts.Looped(now); err != nil {
				return err
			}
		}
		return coded(g.provider.Refresh(now))
	})
}

// Cleanup implements externalgrpc.Loops.
func (g *Groups) Cleanup(context.Context) error { return nil }
