package cloudprovider

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/prices"
)

const (
	// DefaultProvisionDelay is the time from a request to the Ready node when Options give none.
	DefaultProvisionDelay = 60 * time.Second
	// DefaultDeletionDelay is the time from DeleteNodes to the node being gone when Options give none.
	DefaultDeletionDelay = 30 * time.Second
	// DefaultStockOutDelay is the time from a request to the creation error of a stock-out without Fault.Delay.
	DefaultStockOutDelay = 3 * time.Second
	// providerIDPrefix starts the provider ID of every virtual node.
	providerIDPrefix = "virtual://"
)

// Options say how a Provider behaves. The zero value has the documented defaults, no faults and no prices.
type Options struct {
	// Start is the instant the provider begins at: when adopted nodes without a creation time were made.
	Start time.Time
	// ProvisionDelay is the time from a request to the Ready node, by group name. Groups not named take
	// DefaultDelay, and with that nil DefaultProvisionDelay. Zero is allowed: the node joins at the next Advance.
	ProvisionDelay map[string]time.Duration
	DefaultDelay   *time.Duration
	// DeletionDelay is the time from DeleteNodes to the node being gone; nil is DefaultDeletionDelay.
	DeletionDelay *time.Duration
	// Faults are checked in order; the first that applies wins.
	Faults []Fault
	// Prices is nil when nothing has a price.
	Prices *prices.Table
	// GroupOptions are autoscaling options by group name, before those of scalehist.NodeGroup.Options. Groups without any
	// use the autoscaler's flags.
	GroupOptions map[string]GroupOptions
	// TemplatePods are the pods every fresh node of a group is known to run, beside DaemonSets, by group name.
	TemplatePods map[string][]*corev1.Pod
	// GPULabel is the node label that marks a GPU node and names its GPU type; empty: none.
	GPULabel string
	// IgnoreGPUs: the provider does not say which nodes have GPUs of which type (upstream GetNodeGpuConfig answers nothing, as
	// Gardener's does): they are judged by cpu and memory, and no limit counts their devices.
	IgnoreGPUs bool
	// ResourceLimits are [min, max] by resource name, over the whole cluster: cpu in cores, memory in bytes, GPU
	// types in devices. They are beside the autoscaler's own flags.
	ResourceLimits map[string][2]int64
	// Later are groups that UpdateGroup will bring: other options may name them already.
	Later []string
}

// Provider is a virtual cloud provider. It is not safe for concurrent use: one replay loop owns it.
type Provider struct {
	opts      Options
	names     []string
	groups    map[string]*group
	instances map[string]*instance // by node name
	used      map[string]bool      // node names ever taken
	faultUsed []int
	resizes   []Resize
	seq       int
}

type group struct {
	scalehist.NodeGroup
	instances []*instance
	nextIndex int
	removed   bool
}

// New makes a Provider of the groups, in the order given. It is an error when a name is empty or there twice, when
// bounds or a target size are negative, when min is above max, or when an option names an unknown group.
func New(groups []scalehist.NodeGroup, opts Options) (*Provider, error) {
	p := &Provider{opts: opts, groups: map[string]*group{}, instances: map[string]*instance{}, used: map[string]bool{}, faultUsed: make([]int, len(opts.Faults))}
	for i, g := range groups {
		if _, ok := p.groups[g.Name]; ok {
			return nil, fmt.Errorf("node group %q: given twice", g.Name)
		}
		if err := checkGroup(g); err != nil {
			return nil, fmt.Errorf("node group %d: %w", i, err)
		}
		if g.Template != nil {
			g.Template = g.Template.DeepCopy()
		}
		p.names = append(p.names, g.Name)
		p.groups[g.Name] = &group{NodeGroup: g}
	}
	if err := p.checkOptions(); err != nil {
		return nil, err
	}
	return p, nil
}

func checkGroup(g scalehist.NodeGroup) error {
	switch {
	case g.Name == "":
		return fmt.Errorf("name is empty")
	case g.MinSize < 0 || g.TargetSize < 0:
		return fmt.Errorf("%s: min size %d and target size %d must not be negative", g.Name, g.MinSize, g.TargetSize)
	case g.MinSize > g.MaxSize:
		return fmt.Errorf("%s: min size %d is above max size %d", g.Name, g.MinSize, g.MaxSize)
	}
	return nil
}

func (p *Provider) checkOptions() error {
	known := func(where string, names []string) error {
		slices.Sort(names)
		for _, n := range names {
			if _, ok := p.groups[n]; !ok && !slices.Contains(p.opts.Later, n) {
				return fmt.Errorf("%s: node group %q does not exist", where, n)
			}
		}
		return nil
	}
	if err := known("provision delay", keys(p.opts.ProvisionDelay)); err != nil {
		return err
	}
	if err := known("group options", keys(p.opts.GroupOptions)); err != nil {
		return err
	}
	if err := known("template pods", keys(p.opts.TemplatePods)); err != nil {
		return err
	}
	for _, n := range keys(p.opts.ProvisionDelay) {
		if p.opts.ProvisionDelay[n] < 0 {
			return fmt.Errorf("provision delay of %s: %s is negative", n, p.opts.ProvisionDelay[n])
		}
	}
	for i, f := range p.opts.Faults {
		if err := f.check(); err != nil {
			return fmt.Errorf("fault %d: %w", i, err)
		}
		if f.Group != "" {
			if err := known(fmt.Sprintf("fault %d", i), []string{f.Group}); err != nil {
				return err
			}
		}
	}
	if p.opts.Prices != nil {
		return known("prices", p.opts.Prices.Groups())
	}
	return nil
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Groups lists the node groups with their current target sizes, in input order.
func (p *Provider) Groups() []scalehist.NodeGroup {
	out := make([]scalehist.NodeGroup, 0, len(p.names))
	for _, n := range p.names {
		out = append(out, p.groups[n].NodeGroup)
	}
	return out
}

// Group returns one node group with its current target size.
func (p *Provider) Group(name string) (scalehist.NodeGroup, bool) {
	g, ok := p.known(name)
	if !ok {
		return scalehist.NodeGroup{}, false
	}
	return g.NodeGroup, true
}

// GroupForNode names the group a node belongs to: by the annotation scalehist.io/node-group, else because a node of
// that name was adopted or made here.
func (p *Provider) GroupForNode(n *corev1.Node) (string, bool) {
	if name, ok := n.Annotations[v1alpha1.NodeGroupAnnotation]; ok {
		_, known := p.known(name)
		return name, known
	}
	if i, ok := p.instances[n.Name]; ok {
		_, known := p.known(i.group)
		return i.group, known
	}
	return "", false
}

// Template is the node a scale-up of the group from zero would bring, or false when nobody knows. Read only.
func (p *Provider) Template(name string) (*corev1.Node, bool) {
	g, ok := p.known(name)
	if !ok || g.Template == nil {
		return nil, false
	}
	return g.Template, true
}

// TemplatePods are the pods that come with every fresh node of the group, beside DaemonSet pods. Read only.
func (p *Provider) TemplatePods(name string) []*corev1.Pod { return p.opts.TemplatePods[name] }

// GPULabel is the node label that marks a GPU node, or "".
func (p *Provider) GPULabel() string { return p.opts.GPULabel }

// IgnoresGPUs: see Options.IgnoreGPUs.
func (p *Provider) IgnoresGPUs() bool { return p.opts.IgnoreGPUs }

// ResourceLimits are the provider's own [min, max] by resource name. Read only.
func (p *Provider) ResourceLimits() map[string][2]int64 { return p.opts.ResourceLimits }

// SetBounds changes min and max of a group, as recorded. The target size stays, even outside the new bounds.
func (p *Provider) SetBounds(name string, minSize, maxSize int) error {
	g, ok := p.known(name)
	if !ok {
		return errNoGroup(name)
	}
	next := g.NodeGroup
	next.MinSize, next.MaxSize, next.GuessedMax = minSize, maxSize, false
	if err := checkGroup(next); err != nil {
		return fmt.Errorf("set bounds: %w", err)
	}
	g.NodeGroup = next
	return nil
}

func errNoGroup(name string) error { return refuse(ErrNoGroup, "node group %q does not exist", name) }
