package recommender

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/simulator/drain"
	"github.com/scalehist/scalehist/simulator/fit"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
)

const (
	// nodeStable is how long a real node must have been Ready to stand for its group, as upstream has it.
	nodeStable = time.Minute
	// nodeStartup is how long a node that is not Ready yet is taken for one that starts (--max-node-startup-time).
	nodeStartup = 15 * time.Minute
)

// cluster is a request made ready for simulations. It is read only from then on.
type cluster struct {
	req   *Request
	table *table
	// nodes are what the base snapshot has: the real ones, then the upcoming ones; bound are the pods on them.
	nodes []*corev1.Node
	bound map[string][]*corev1.Pod
	// real are the nodes that exist and are no stand-ins, by name: they may go, and pods may move to them.
	real    map[string]bool
	groups  []*group
	byName  map[string]*group
	groupOf map[string]*group
	// pending ask for room; order is by priority, size, then creation.
	pending []*corev1.Pod
	weights Weights
	score   scorer
	// capacity is that of all nodes, for the limits; taken are all node names.
	capacity amounts
	taken    map[string]bool
	notes    []string
	// apart: pods keep off others or look at others, so groups that are alike in all else may differ.
	apart bool
}

// group is a node group made ready.
type group struct {
	NodeGroup
	order int
	// node is the template, pods come with it; nil: there is none.
	node *corev1.Node
	pods []*corev1.Pod
	zone string
	// machine is the machine type. size is what a node of it can allocate, free what pods can take of it.
	machine    string
	size, free amounts
	capacity   amounts
	// price is of an hour, when there are prices; objective is that, or the weighted size.
	price     float64
	objective float64
}

func prepare(r *Request) (*cluster, error) {
	c := &cluster{req: r, byName: map[string]*group{}, groupOf: map[string]*group{}, bound: map[string][]*corev1.Pod{},
		real: map[string]bool{}, taken: map[string]bool{}, weights: r.Weights}
	if c.weights == nil {
		c.weights = DefaultWeights()
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	for i := range r.NodeGroups {
		g := &group{NodeGroup: r.NodeGroups[i], order: i}
		c.groups = append(c.groups, g)
		c.byName[g.Name] = g
	}
	for _, n := range r.Objects.Nodes {
		if g := c.group(n); g != nil {
			c.groupOf[n.Name] = g
		}
	}
	c.sortPods()
	for _, g := range c.groups {
		c.findTemplate(g)
	}
	c.listNodes()
	c.table = newTable(c.otherResources())
	for _, g := range c.groups {
		c.measure(g)
	}
	c.capacity = make(amounts, len(c.table.names))
	for _, n := range c.nodes {
		c.capacity.add(c.capacityOf(n), 1)
	}
	if err := c.setPrices(); err != nil {
		return nil, err
	}
	var err error
	c.score, err = newScorer(c)
	return c, err
}

// check refuses a request that contradicts itself.
func (c *cluster) check() error {
	r := c.req
	if r.Objects == nil {
		return errors.New("request: objects are missing")
	}
	if r.Now.IsZero() {
		return errors.New("request: now is missing: it is the instant of the snapshot")
	}
	seen := map[string]bool{}
	for i, g := range r.NodeGroups {
		switch {
		case g.Name == "":
			return fmt.Errorf("request: node group %d has no name", i)
		case seen[g.Name]:
			return fmt.Errorf("request: node group %q is given twice", g.Name)
		case g.MinSize < 0 || g.TargetSize < 0 || g.MaxSize < g.MinSize:
			return fmt.Errorf("request: node group %q: min %d, max %d, target size %d: want 0 <= min <= max and a target size of 0 or more", g.Name, g.MinSize, g.MaxSize, g.TargetSize)
		}
		seen[g.Name] = true
	}
	names := map[string]bool{}
	for _, n := range r.Objects.Nodes {
		if n.Name == "" || names[n.Name] {
			return fmt.Errorf("request: node %q is given twice or has no name", n.Name)
		}
		names[n.Name] = true
	}
	for _, g := range sortedKeys(r.Constraints.Backoff) {
		if !seen[g] {
			return fmt.Errorf("request: backoff: node group %q does not exist", g)
		}
	}
	for _, n := range sortedKeys(r.NodeGroupOf) {
		if g := r.NodeGroupOf[n]; !seen[g] {
			return fmt.Errorf("request: nodeGroupOf: node %q: node group %q does not exist", n, g)
		}
	}
	if s := r.Constraints.ScaleDown; s != nil && (s.UtilizationThreshold < 0 || s.UtilizationThreshold > 1) {
		return fmt.Errorf("request: scale-down: utilization threshold %v: want 0 to 1", s.UtilizationThreshold)
	}
	if r.Parallelism < 0 {
		return fmt.Errorf("request: parallelism %d: want 0, for one per processor, or more", r.Parallelism)
	}
	return c.weights.check()
}

// group is the group of a node; nil when it is in none.
func (c *cluster) group(n *corev1.Node) *group {
	if g, ok := c.req.NodeGroupOf[n.Name]; ok {
		return c.byName[g]
	}
	return c.byName[n.Annotations[v1alpha1.NodeGroupAnnotation]]
}

// sortPods sorts the pods into those on a node, or nominated to one, and those that ask for room.
func (c *cluster) sortPods() {
	cutoff := c.req.Constraints.ExpendablePriorityCutoff
	for _, p := range c.req.Objects.Pods {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || cutoff != nil && priority(p) < *cutoff {
			continue
		}
		switch node := cmp.Or(p.Spec.NodeName, p.Status.NominatedNodeName); {
		case p.Spec.NodeName == "" && p.DeletionTimestamp != nil:
		case node != "":
			c.bound[node] = append(c.bound[node], p)
			c.apart = c.apart || keepsOff(p)
		case len(p.Spec.SchedulingGates) > 0 || drain.IsDaemonSet(p):
		default:
			c.pending = append(c.pending, p)
			c.apart = c.apart || keepsOff(p)
		}
	}
}

// keepsOff: the pod has required anti-affinity. Of pods with affinity or spread there is no exact search anyway.
func keepsOff(p *corev1.Pod) bool {
	a := p.Spec.Affinity
	return a != nil && a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
}

func priority(p *corev1.Pod) int32 {
	if p.Spec.Priority != nil {
		return *p.Spec.Priority
	}
	return 0
}

func podName(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// findTemplate takes a good real node for what a fresh one would be, else the provider's template, else a bad real node,
// as upstream does (processors/nodeinfosprovider).
func (c *cluster) findTemplate(g *group) {
	var bad *corev1.Node
	for _, n := range c.req.Objects.Nodes {
		if c.groupOf[n.Name] != g {
			continue
		}
		ok, since := nodetemplate.Ready(n)
		if ok && since.Add(nodeStable).Before(c.req.Now) && !n.Spec.Unschedulable && !scalehist.HasTaint(n, scalehist.ToBeDeletedTaint) {
			c.fromNode(g, n)
			return
		}
		if bad == nil {
			bad = n
		}
	}
	switch {
	case g.Template != nil:
		n := g.Template.DeepCopy()
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		nodetemplate.DeprecatedLabels(n.Labels)
		c.setTemplate(g, n, g.TemplatePods, true)
	case bad != nil:
		c.fromNode(g, bad)
	}
}

func (c *cluster) fromNode(g *group, n *corev1.Node) {
	var pods []*corev1.Pod
	for _, p := range c.bound[n.Name] {
		if p.DeletionTimestamp == nil && comesWithNode(p) {
			pods = append(pods, p)
		}
	}
	c.setTemplate(g, n.DeepCopy(), pods, false)
}

func comesWithNode(p *corev1.Pod) bool { return drain.IsMirror(p) || drain.IsDaemonSet(p) }

// passingTaints begin the keys of taints that a node has for a while (cluster-autoscaler, utils/taints).
var passingTaints = []string{
	"startup-taint.cluster-autoscaler.kubernetes.io/", "ignore-taint.cluster-autoscaler.kubernetes.io/", "status-taint.cluster-autoscaler.kubernetes.io/",
}

// setTemplate makes a node, which belongs to the call, the template.
func (c *cluster) setTemplate(g *group, n *corev1.Node, pods []*corev1.Pod, force bool) {
	n.Name = "template-node-for-" + g.Name
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Labels[corev1.LabelHostname] = n.Name
	n.Annotations[v1alpha1.NodeGroupAnnotation] = g.Name
	n.Spec.Unschedulable = false
	n.Spec.Taints = slices.DeleteFunc(nodetemplate.FreshTaints(n.Spec.Taints), func(t corev1.Taint) bool {
		return slices.ContainsFunc(passingTaints, func(p string) bool { return strings.HasPrefix(t.Key, p) })
	})
	g.node, g.pods = n, nodetemplate.Pods(n, pods, c.req.Objects.DaemonSets, force)
	g.zone = cmp.Or(g.Zone, n.Labels[corev1.LabelTopologyZone])
	g.machine = cmp.Or(machineType(n), g.MachineType)
}

func machineType(n *corev1.Node) string {
	return cmp.Or(n.Labels[corev1.LabelInstanceTypeStable], n.Labels[corev1.LabelInstanceType])
}

// fresh is a new node of the group.
func (g *group) fresh(name string) *framework.NodeInfo {
	return nodetemplate.Instance(g.node, g.pods, name, strings.TrimPrefix(name, g.Name+"-"))
}

// listNodes fills the base: a node that starts is taken for what it will be, an upcoming one as well.
func (c *cluster) listNodes() {
	for _, n := range c.req.Objects.Nodes {
		c.taken[n.Name] = true
		g := c.groupOf[n.Name]
		ok, _ := nodetemplate.Ready(n)
		if g == nil || g.node == nil || ok || !n.CreationTimestamp.Add(nodeStartup).After(c.req.Now) || scalehist.HasTaint(n, scalehist.ToBeDeletedTaint) {
			c.nodes = append(c.nodes, n)
			c.real[n.Name] = true
			continue
		}
		c.standIn(g, n.Name)
	}
	for _, g := range c.groups {
		for _, name := range g.Upcoming {
			if c.taken[name] {
				continue
			}
			c.taken[name] = true
			if g.node == nil {
				c.notes = append(c.notes, fmt.Sprintf("%s: upcoming node %s is not counted: there is no template", g.Name, name))
				continue
			}
			c.groupOf[name] = g
			c.standIn(g, name)
		}
	}
}

// standIn puts a fresh node with the pods bound to it into the base.
func (c *cluster) standIn(g *group, name string) {
	info := g.fresh(name)
	var pods []*corev1.Pod
	for _, p := range info.Pods {
		pods = append(pods, p.GetPod())
	}
	for _, p := range c.bound[name] {
		if !comesWithNode(p) {
			pods = append(pods, p)
		}
	}
	c.nodes = append(c.nodes, info.Node())
	c.bound[name] = pods
}

// otherResources are those beside the common ones that pods ask for or groups have.
func (c *cluster) otherResources() map[corev1.ResourceName]bool {
	out := map[corev1.ResourceName]bool{}
	take := func(l corev1.ResourceList) {
		for n := range l {
			switch n {
			case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods:
			default:
				out[n] = true
			}
		}
	}
	for _, g := range c.groups {
		if g.node != nil {
			take(g.node.Status.Allocatable)
		}
	}
	for _, p := range c.pending {
		for i := range p.Spec.Containers {
			take(p.Spec.Containers[i].Resources.Requests)
		}
	}
	return out
}

func (c *cluster) measure(g *group) {
	if g.node == nil {
		return
	}
	g.size = c.table.of(fit.NewNodeInfo(g.node).Allocatable, int(g.node.Status.Allocatable.Pods().Value()))
	g.free = c.table.free(g.fresh(g.Name))
	g.capacity = c.capacityOf(g.node)
}

// capacityOf is what a node counts for the limits of the cluster.
func (c *cluster) capacityOf(n *corev1.Node) amounts {
	out := make(amounts, len(c.table.names))
	list := n.Status.Capacity
	if len(list) == 0 {
		list = n.Status.Allocatable
	}
	out[cpuSlot], out[memorySlot] = list.Cpu().MilliValue(), list.Memory().Value()
	return out
}
