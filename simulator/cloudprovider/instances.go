package cloudprovider

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/internal/plural"
)

// InstanceState says where an instance is in its life.
type InstanceState string

// The states of an instance.
const (
	InstanceCreating InstanceState = "creating"
	InstanceRunning  InstanceState = "running"
	InstanceDeleting InstanceState = "deleting"
)

// ErrorClass groups creation errors as upstream does (cloudprovider.InstanceErrorClass).
type ErrorClass string

// The classes of creation errors, 1 and 99 in upstream's protocol: no stock or no quota, and all else.
const (
	ErrorOutOfResources ErrorClass = "OutOfResources"
	ErrorOther          ErrorClass = "Other"
)

// InstanceError is why an instance could not be created.
type InstanceError struct {
	Class   ErrorClass
	Code    string
	Message string
}

// Instance is a machine of a node group.
type Instance struct {
	// ID is the provider ID of its node, present or future.
	ID    string
	State InstanceState
	// Error is set while a creating instance has failed for good.
	Error *InstanceError
	// NodeName is the name its node has or will have.
	NodeName  string
	CreatedAt time.Time
}

// ProviderID is the id of the machine of a virtual node without one of its own.
func ProviderID(node string) string { return providerIDPrefix + node }

type instance struct {
	Instance
	group string
	// seq orders instances by the request that made them.
	seq int
	// joinAt, failAt and goneAt are zero when they will not happen.
	joinAt, failAt, goneAt time.Time
	failure                *InstanceError
}

// Instances lists the group's instances as of the last Advance, in the order they were adopted or asked for.
func (p *Provider) Instances(name string) []Instance {
	g, ok := p.known(name)
	if !ok {
		return nil
	}
	out := make([]Instance, 0, len(g.instances))
	for _, i := range g.instances {
		out = append(out, i.Instance)
	}
	return out
}

// Adopt takes over a node that exists at the start. Its group must be known, by annotation; the target size stays
// what New was given. Adopting a node twice changes nothing.
func (p *Provider) Adopt(n *corev1.Node) error {
	name, ok := p.GroupForNode(n)
	if !ok {
		return fmt.Errorf("adopt node %s: its annotation names no known node group (%q)", n.Name, name)
	}
	if _, ok := p.instances[n.Name]; ok {
		return nil
	}
	id := n.Spec.ProviderID
	if id == "" {
		id = ProviderID(n.Name)
	}
	created := n.CreationTimestamp.Time
	if created.IsZero() {
		created = p.opts.Start
	}
	p.add(p.groups[name], &instance{Instance: Instance{ID: id, State: InstanceRunning, NodeName: n.Name, CreatedAt: created}})
	return nil
}

// Forget drops a node that was removed for reasons the provider did not cause. The target size stays, so the group is one
// instance short until Fill replaces it or the autoscaler lowers the target. An unknown name changes nothing.
func (p *Provider) Forget(nodeName string) {
	if i, ok := p.instances[nodeName]; ok {
		p.drop(i)
	}
}

// Fill asks for the instances that target sizes are ahead of: nodes on their way at the start of a window, or
// replacements of forgotten nodes. It goes by group order.
func (p *Provider) Fill(now time.Time) {
	for _, n := range p.names {
		g := p.groups[n]
		for have := g.live(); have < g.TargetSize; have++ {
			p.request(g, now)
		}
	}
}

// live counts the instances that make up the target size.
func (g *group) live() int {
	n := 0
	for _, i := range g.instances {
		if i.State != InstanceDeleting {
			n++
		}
	}
	return n
}

// IncreaseSize asks for delta more nodes. It is an error, and nothing happens, when the group is unknown, delta is
// not positive, the new target would pass the max size or what any cluster has, the provider is down, or a refuse fault hits.
func (p *Provider) IncreaseSize(ctx context.Context, now time.Time, name string, delta int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g, ok := p.known(name)
	if !ok {
		return errNoGroup(name)
	}
	if delta <= 0 {
		return refuse(ErrInvalid, "size increase of %s must be positive, got %d", name, delta)
	}
	if g.TargetSize+delta > g.MaxSize {
		return refuse(ErrBounds, "size increase of %s is too large: desired %d, max %d%s", name, g.TargetSize+delta, g.MaxSize, g.GuessNote())
	}
	if g.TargetSize+delta > v1alpha1.MaxNodes {
		return refuse(ErrBounds, "size increase of %s is too large: desired %d, no group has more than %d", name, g.TargetSize+delta, v1alpha1.MaxNodes)
	}
	if err := p.answers(name, now); err != nil {
		return err
	}
	if f, ok := p.take(name, now, FaultRefuse); ok {
		if f.Message != "" {
			return refuse(ErrRefused, "%s", f.Message)
		}
		return refuse(ErrRefused, "node group %s refuses to grow", name)
	}
	from := g.TargetSize
	g.TargetSize += delta
	for range delta {
		p.request(g, now)
	}
	p.resized(now, g, from, nil)
	return nil
}

// DecreaseTargetSize takes delta (positive) off the target size without deleting nodes: instances still creating are
// cancelled, the newest first. It is an error when the provider is down, or when fewer than delta are creating and the
// target would fall below the nodes that exist.
func (p *Provider) DecreaseTargetSize(ctx context.Context, now time.Time, name string, delta int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g, ok := p.known(name)
	if !ok {
		return errNoGroup(name)
	}
	if err := p.answers(name, now); err != nil {
		return err
	}
	if delta <= 0 {
		return refuse(ErrInvalid, "target size decrease of %s must be positive, got %d", name, delta)
	}
	running := 0
	for _, i := range g.instances {
		if i.State == InstanceRunning {
			running++
		}
	}
	if g.TargetSize-delta < running {
		return refuse(ErrState, "target size decrease of %s by %d would delete existing nodes: target %d, existing %d", name, delta, g.TargetSize, running)
	}
	from := g.TargetSize
	g.TargetSize -= delta
	p.resized(now, g, from, nil)
	for at := len(g.instances) - 1; at >= 0 && g.live() > g.TargetSize; at-- {
		if i := g.instances[at]; i.State == InstanceCreating {
			p.drop(i)
		}
	}
	return nil
}

// DeleteNodes deletes instances by node name and lowers the target size by as many. A creating instance is gone at
// once, a running one after the deletion delay. It is an error, and nothing happens, when the provider is down, a name is
// no instance of the group, is being deleted already, or running nodes would take the target below the min size.
func (p *Provider) DeleteNodes(ctx context.Context, now time.Time, name string, nodeNames []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g, ok := p.known(name)
	if !ok {
		return errNoGroup(name)
	}
	if err := p.answers(name, now); err != nil {
		return err
	}
	running := 0
	seen := map[string]bool{}
	for _, n := range nodeNames {
		i, ok := p.instances[n]
		switch {
		case !ok || i.group != name:
			return refuse(ErrState, "delete nodes of %s: node %q is not one of its instances", name, n)
		case i.State == InstanceDeleting || seen[n]:
			return refuse(ErrState, "delete nodes of %s: node %q is being deleted already", name, n)
		case i.State == InstanceRunning:
			running++
		}
		seen[n] = true
	}
	if running > 0 && g.TargetSize-len(nodeNames) < g.MinSize {
		return refuse(ErrState, "delete %s of %s: min size reached (target %d, min %d)", plural.Of(len(nodeNames), "node"), name, g.TargetSize, g.MinSize)
	}
	from := g.TargetSize
	defer func() { p.resized(now, g, from, nodeNames) }()
	for _, n := range nodeNames {
		i := p.instances[n]
		if g.TargetSize > 0 {
			g.TargetSize--
		}
		if i.State == InstanceCreating {
			p.drop(i)
			continue
		}
		i.State, i.joinAt, i.goneAt = InstanceDeleting, time.Time{}, now.Add(p.deletionDelay())
	}
	return nil
}

// request makes one creating instance, with the faults that hit it.
func (p *Provider) request(g *group, now time.Time) {
	name := p.nextName(g)
	i := &instance{Instance: Instance{ID: ProviderID(name), State: InstanceCreating, NodeName: name, CreatedAt: now}}
	i.joinAt = now.Add(p.provisionDelay(g.Name))
	if f, ok := p.take(g.Name, now, FaultStockOut, FaultSlow, FaultNeverRegister); ok {
		switch f.Kind {
		case FaultSlow:
			i.joinAt = i.joinAt.Add(f.Delay)
		case FaultNeverRegister:
			i.joinAt = time.Time{}
		case FaultStockOut:
			i.joinAt, i.failAt = time.Time{}, now.Add(cmp.Or(f.Delay, DefaultStockOutDelay))
			i.failure = f.failure(g.Name)
		}
	}
	p.add(g, i)
}

// nextName is "<group>-<n>" with the smallest n never used, neither here nor by an adopted node.
func (p *Provider) nextName(g *group) string {
	for {
		name := fmt.Sprintf("%s-%d", g.Name, g.nextIndex)
		g.nextIndex++
		if !p.used[name] {
			return name
		}
	}
}

func (p *Provider) add(g *group, i *instance) {
	p.seq++
	i.group, i.seq = g.Name, p.seq
	p.used[i.NodeName] = true
	p.instances[i.NodeName] = i
	g.instances = append(g.instances, i)
}

func (p *Provider) drop(i *instance) {
	delete(p.instances, i.NodeName)
	g := p.groups[i.group]
	for at, o := range g.instances {
		if o == i {
			g.instances = append(g.instances[:at:at], g.instances[at+1:]...)
			return
		}
	}
}

func (p *Provider) provisionDelay(group string) time.Duration {
	if d, ok := p.opts.ProvisionDelay[group]; ok {
		return d
	}
	if p.opts.DefaultDelay != nil {
		return *p.opts.DefaultDelay
	}
	return DefaultProvisionDelay
}

func (p *Provider) deletionDelay() time.Duration {
	if p.opts.DeletionDelay != nil {
		return *p.opts.DeletionDelay
	}
	return DefaultDeletionDelay
}
