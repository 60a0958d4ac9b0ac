package quota

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/simulator/fit"
	"github.com/scalehist/scalehist/virtualca/config"
)

// Provider is what quotas ask of the node groups.
type Provider interface {
	GroupForNode(*corev1.Node) (string, bool)
	// Template is the node a scale-up from zero would bring.
	Template(group string) (*corev1.Node, bool)
	GPULabel() string
	IgnoresGPUs() bool
	// ResourceLimits are [min, max] over the cluster by resource name.
	ResourceLimits() map[string][2]int64
}

// Cluster is what is counted, and by which settings.
type Cluster struct {
	Settings *config.Settings
	Provider Provider
	Snapshot *fit.Snapshot
	// Template is a fresh node of a group, nil for one without.
	Template func(group string) *corev1.Node
}

// Quota tracks the cluster-wide limits on cores, memory and devices (resourcequotas/).
type Quota struct {
	Cluster
	limits map[string]int64
	Used   map[string]int64
	// perNode is what one node of a group counts, from the first node of it that was looked at.
	perNode map[string]map[string]int64
}

// New sums up all nodes of the snapshot, upcoming ones and those of no group included.
func New(c Cluster) *Quota {
	s := c.Settings
	q := &Quota{Cluster: c, Used: map[string]int64{}, perNode: map[string]map[string]int64{}, limits: map[string]int64{
		"cpu": s.CoresTotal.Max, "memory": gib(s.MemoryTotal.Max),
	}}
	for t, r := range s.GPUTotal {
		q.limits[t] = r.Max
	}
	for r, bounds := range c.Provider.ResourceLimits() {
		q.limits[r] = bounds[1]
	}
	for at := range c.Snapshot.Len() {
		n := c.Snapshot.NodeInfo(at).Node()
		if n.Labels["type"] == "virtual-kubelet" {
			continue
		}
		group, ok := c.Provider.GroupForNode(n)
		per := map[string]int64(nil)
		if ok {
			per = q.node(group, n)
		} else {
			per = q.measure("", n)
		}
		for r, v := range per {
			q.Used[r] += v
		}
	}
	return q
}

// gib turns GiB into bytes without overflow.
func gib(v int64) int64 {
	if v > math.MaxInt64>>30 {
		return math.MaxInt64
	}
	return v << 30
}

func (q *Quota) node(group string, n *corev1.Node) map[string]int64 {
	per, ok := q.perNode[group]
	if !ok {
		per = q.measure(group, n)
		q.perNode[group] = per
	}
	return per
}

// measure counts one node: cores rounded up, bytes, one node, and devices under the name of the GPU type.
func (q *Quota) measure(group string, n *corev1.Node) map[string]int64 {
	out := map[string]int64{"cpu": n.Status.Capacity.Cpu().Value(), "memory": n.Status.Capacity.Memory().Value(), "nodes": 1}
	label := q.Provider.GPULabel()
	gpu, ok := n.Labels[label]
	if label == "" || !ok || q.Provider.IgnoresGPUs() {
		return out
	}
	count := n.Status.Allocatable[config.GPUResource]
	if count.IsZero() && group != "" {
		// The driver may not be installed yet: the template knows.
		if t, ok := q.Provider.Template(group); ok {
			count = t.Status.Capacity[config.GPUResource]
		}
	}
	if !count.IsZero() {
		out[gpu] += count.Value()
	}
	return out
}

// Allowed is how many of n more nodes of a group the limits leave room for, and which limits are in the way.
func (q *Quota) Allowed(group string, n int) (int, []string) {
	var exceeded []string
	t := q.Template(group)
	if t == nil {
		return n, nil
	}
	out := int64(n)
	for r, per := range q.node(group, t) {
		limit, ok := q.limits[r]
		if !ok || per <= 0 {
			continue
		}
		fits := max(0, limit-q.Used[r]) / per
		if fits < int64(n) {
			exceeded = append(exceeded, r)
			out = min(out, fits)
		}
	}
	slices.Sort(exceeded)
	return int(out), exceeded
}

// Take counts n new nodes of a group as used.
func (q *Quota) Take(group string, n int) {
	if t := q.Template(group); t != nil {
		for r, per := range q.node(group, t) {
			q.Used[r] += per * int64(n)
		}
	}
}

func Reason(resources []string) string {
	return fmt.Sprintf("exceeded quota: %q, resources: %s", "cluster-wide", strings.Join(resources, ", "))
}
