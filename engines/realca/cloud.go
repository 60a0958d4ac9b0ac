package realca

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

const (
	// registerBefore is how long a node is registered before it is Ready.
	registerBefore = time.Second
	// deletionDelay is the time from DeleteNodes to the node being gone.
	deletionDelay = 3 * time.Second
	// stockOutAfter is when an instance that cannot be had says so.
	stockOutAfter = 3 * time.Second
)

// cloud is the provider: node groups whose instances live in real time. It notes all that is asked of it.
type cloud struct {
	// now counts from the run's start.
	now func() time.Duration
	// join brings a node about, leave takes it away; both return at once.
	join  func(g Group, node string)
	leave func(node string)
	// resized hears of each change of a target size.
	resized func(g Group, size int)

	mu       sync.Mutex
	groups   []*cloudGroup
	workload time.Duration // when the workload began, from the run's start; negative before
	loops    []time.Duration
	looped   chan struct{}
	calls    []truth.ProviderCall
	sizes    map[string][][2]float64
	used     map[string]bool // names of nodes
	stopped  bool
	timers   []*time.Timer
}

type cloudGroup struct {
	Group
	size      int
	made      int
	instances []*instance
}

type instance struct {
	node  string
	state externalgrpc.State
	err   *externalgrpc.InstanceError
	timer *time.Timer
}

func newCloud(groups []Group, now func() time.Duration) *cloud {
	c := &cloud{now: now, workload: -1, sizes: map[string][][2]float64{}, used: map[string]bool{}, looped: make(chan struct{}, 1)}
	for _, g := range groups {
		c.groups = append(c.groups, &cloudGroup{Group: g, size: g.TargetSize})
		c.sizes[g.Name] = [][2]float64{{0, float64(g.TargetSize)}}
	}
	return c
}

// adopt takes in a node that is there at the start.
func (c *cloud) adopt(group, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used[node] = true
	for _, g := range c.groups {
		if g.Name == group {
			g.instances = append(g.instances, &instance{node: node, state: externalgrpc.Running})
		}
	}
}

func (c *cloud) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workload = c.now()
}

// stop ends what is under way.
func (c *cloud) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for _, t := range c.timers {
		t.Stop()
	}
}

// after runs f under the lock unless the cloud was stopped. Called with the lock held.
func (c *cloud) after(d time.Duration, f func()) *time.Timer {
	t := time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.stopped {
			f()
		}
	})
	c.timers = append(c.timers, t)
	return t
}

func (c *cloud) group(id string) (*cloudGroup, error) {
	for _, g := range c.groups {
		if g.Name == id {
			return g, nil
		}
	}
	return nil, fmt.Errorf("node group %q: %w", id, externalgrpc.ErrNotFound)
}

func (g *cloudGroup) wire() externalgrpc.NodeGroup {
	return externalgrpc.NodeGroup{ID: g.Name, MinSize: g.MinSize, MaxSize: g.MaxSize, Debug: g.MachineType}
}

func (c *cloud) NodeGroups(context.Context) ([]externalgrpc.NodeGroup, error) {
	var out []externalgrpc.NodeGroup
	for _, g := range c.groups {
		out = append(out, g.wire())
	}
	return out, nil
}

func (c *cloud) NodeGroupForNode(_ context.Context, n externalgrpc.Node) (externalgrpc.NodeGroup, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.groups {
		if g.find(n) != nil {
			return g.wire(), nil
		}
	}
	return externalgrpc.NodeGroup{}, nil
}

// find finds the instance of a node; one that never joined has its id as name and provider id.
func (g *cloudGroup) find(n externalgrpc.Node) *instance {
	for _, i := range g.instances {
		if id := providerID(i.node); n.ProviderID == id || n.ProviderID == "" && (n.Name == i.node || n.Name == id) {
			return i
		}
	}
	return nil
}

func (c *cloud) TargetSize(_ context.Context, id string) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := c.group(id)
	if err != nil {
		return 0, err
	}
	return g.size, nil
}

func (c *cloud) IncreaseSize(_ context.Context, id string, delta int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := c.group(id)
	if err != nil {
		return err
	}
	if g.size+delta > g.MaxSize {
		return fmt.Errorf("node group %s: %w: %d nodes and %d more are above its maximum %d", id, externalgrpc.ErrExhausted, g.size, delta, g.MaxSize)
	}
	c.note(truth.ProviderCall{What: "increase", Group: id, Delta: delta})
	c.resize(g, g.size+delta)
	for range delta {
		c.make(g)
	}
	return nil
}

// make asks for one instance.
func (c *cloud) make(g *cloudGroup) {
	i := &instance{node: c.newName(g), state: externalgrpc.Creating}
	g.instances = append(g.instances, i)
	if c.outOfStock(g) {
		i.timer = c.after(stockOutAfter, func() {
			i.err = &externalgrpc.InstanceError{Code: "STOCKOUT", Message: "out of stock: " + g.MachineType, Class: externalgrpc.OutOfResources}
			c.note(truth.ProviderCall{What: "instance-out-of-stock", Group: g.Name, Instance: i.node})
		})
		return
	}
	i.timer = c.after(max(0, g.Delay-registerBefore), func() {
		i.state = externalgrpc.Running
		c.join(g.Group, i.node)
	})
}

// newName is a name that no node has or had.
func (c *cloud) newName(g *cloudGroup) string {
	for {
		g.made++
		if name := fmt.Sprintf("%s-%d", g.Name, g.made); !c.used[name] {
			c.used[name] = true
			return name
		}
	}
}

func (c *cloud) outOfStock(g *cloudGroup) bool {
	if c.workload < 0 {
		return false
	}
	at := c.now() - c.workload
	return slices.ContainsFunc(g.StockOuts, func(w [2]time.Duration) bool { return at >= w[0] && at < w[1] })
}

func (c *cloud) DecreaseTargetSize(_ context.Context, id string, delta int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := c.group(id)
	if err != nil {
		return err
	}
	var creating []*instance
	for _, i := range g.instances {
		if i.state == externalgrpc.Creating {
			creating = append(creating, i)
		}
	}
	if delta > g.size-len(g.instances)+len(creating) {
		return fmt.Errorf("node group %s: %w: only %d of its nodes are on their way", id, externalgrpc.ErrPrecondition, len(creating))
	}
	c.note(truth.ProviderCall{What: "decrease", Group: id, Delta: delta})
	c.resize(g, g.size-delta)
	for n := len(creating); n > 0 && len(g.instances) > g.size; n-- {
		c.drop(g, creating[n-1])
	}
	return nil
}

func (c *cloud) DeleteNodes(_ context.Context, id string, nodes []externalgrpc.Node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := c.group(id)
	if err != nil {
		return err
	}
	var names []string
	for _, n := range nodes {
		if g.find(n) == nil {
			return fmt.Errorf("node %s: %w: it is not in node group %s", n.Name, externalgrpc.ErrPrecondition, id)
		}
		names = append(names, strings.TrimPrefix(n.Name, scheme))
	}
	c.note(truth.ProviderCall{What: "delete", Group: id, Nodes: names})
	for _, n := range nodes {
		i := g.find(n)
		if i.state == externalgrpc.Deleting {
			continue
		}
		c.resize(g, g.size-1)
		if i.state == externalgrpc.Creating {
			c.drop(g, i)
			continue
		}
		i.state = externalgrpc.Deleting
		c.after(deletionDelay, func() {
			c.drop(g, i)
			c.leave(i.node)
		})
	}
	return nil
}

func (c *cloud) drop(g *cloudGroup, i *instance) {
	if i.timer != nil {
		i.timer.Stop()
	}
	g.instances = slices.DeleteFunc(g.instances, func(o *instance) bool { return o == i })
}

func (c *cloud) Instances(_ context.Context, id string) ([]externalgrpc.Instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := c.group(id)
	if err != nil {
		return nil, err
	}
	var out []externalgrpc.Instance
	for _, i := range g.instances {
		out = append(out, externalgrpc.Instance{ID: providerID(i.node), State: i.state, Error: i.err})
	}
	return out, nil
}

func (c *cloud) Template(_ context.Context, id string) (*corev1.Node, error) {
	g, err := c.group(id)
	if err != nil {
		return nil, err
	}
	if g.Group.Template == nil {
		return nil, fmt.Errorf("%w: node group %s has no template", externalgrpc.ErrUnimplemented, id)
	}
	n := nodeOf(g.Group, "template-"+id)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n, nil
}

// Refresh comes at the beginning of each loop.
func (c *cloud) Refresh(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loops = append(c.loops, c.now())
	select {
	case c.looped <- struct{}{}:
	default:
	}
	return nil
}

func (c *cloud) Cleanup(context.Context) error { return nil }

// note takes down a call, with the lock held.
func (c *cloud) note(call truth.ProviderCall) {
	call.At = rounded(c.now())
	c.calls = append(c.calls, call)
}

func (c *cloud) resize(g *cloudGroup, size int) {
	g.size = size
	c.sizes[g.Name] = append(c.sizes[g.Name], [2]float64{rounded(c.now()), float64(size)})
	c.resized(g.Group, size)
}

var (
	_ externalgrpc.Provider  = (*cloud)(nil)
	_ externalgrpc.Templates = (*cloud)(nil)
	_ externalgrpc.Loops     = (*cloud)(nil)
)
