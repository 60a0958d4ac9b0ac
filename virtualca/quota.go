package virtualca

import (
	"fmt"
	"math"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// quota tracks the cluster-wide limits on cores, memory and devices (resourcequotas/).
type quota struct {
	l      *loop
	limits map[string]int64
	used   map[string]int64
	// perNode is what one node of a group counts, from the first node of it that was looked at.
	perNode map[string]map[string]int64
}

// newQuota sums up all nodes of the snapshot, upcoming ones and those of no group included.
func (l *loop) newQuota() *quota {
	s := &l.a.settings
	q := &quota{l: l, used: map[string]int64{}, perNode: map[string]map[string]int64{}, limits: map[string]int64{
		"cpu": s.CoresTotal.Max, "memory": gib(s.MemoryTotal.Max),
	}}
	for t, r := range s.GPUTotal {
		q.limits[t] = r.Max
	}
	for r, bounds := range l.a.provider.ResourceLimits() {
		q.limits[r] = bounds[1]
	}
	snapshot := l.a.checker.Snapshot()
	for at := range snapshot.Len() {
		n := snapshot.NodeInfo(at).Node()
		if n.Labels["type"] == "virtual-kubelet" {
			continue
		}
		group, ok := l.a.provider.GroupForNode(n)
		per := map[string]int64(nil)
		if ok {
			per = q.node(group, n)
		} else {
			per = q.measure("", n)
		}
		for r, v := range per {
			q.used[r] += v
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

func (q *quota) node(group string, n *corev1.Node) map[string]int64 {
	per, ok := q.perNode[group]
	if !ok {
		per = q.measure(group, n)
		q.perNode[group] = per
	}
	return per
}

// measure counts one node: cores rounded up, bytes, one node, and devices under the name of the GPU type.
func (q *quota) measure(group string, n *corev1.Node) map[string]int64 {
	out := map[string]int64{"cpu": n.Status.Capacity.Cpu().Value(), "memory": n.Status.Capacity.Memory().Value(), "nodes": 1}
	label := q.l.a.provider.GPULabel()
	gpu, ok := n.Labels[label]
	if label == "" || !ok || q.l.a.provider.IgnoresGPUs() {
		return out
	}
	count := n.Status.Allocatable[gpuResource]
	if count.IsZero() && group != "" {
		// The driver may not be installed yet: the template knows.
		if t, ok := q.l.a.provider.Template(group); ok {
			count = t.Status.Capacity[gpuResource]
		}
	}
	if !count.IsZero() {
		out[gpu] += count.Value()
	}
	return out
}

// allowed is how many of n more nodes of a group the limits leave room for, and which limits are in the way.
func (q *quota) allowed(group string, n int) (int, []string) {
	var exceeded []string
	t := q.l.template(group)
	if t == nil {
		return n, nil
	}
	out := int64(n)
	for r, per := range q.node(group, t.node) {
		limit, ok := q.limits[r]
		if !ok || per <= 0 {
			continue
		}
		fits := max(0, limit-q.used[r]) / per
		if fits < int64(n) {
			exceeded = append(exceeded, r)
			out = min(out, fits)
		}
	}
	sort.Strings(exceeded)
	return int(out), exceeded
}

// take counts n new nodes of a group as used.
func (q *quota) take(group string, n int) {
	if t := q.l.template(group); t != nil {
		for r, per := range q.node(group, t.node) {
			q.used[r] += per * int64(n)
		}
	}
}

func exceededReason(resources []string) string {
	return fmt.Sprintf("exceeded quota: %q, resources: %s", "cluster-wide", strings.Join(resources, ", "))
}
