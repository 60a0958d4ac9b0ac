package quota

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Floor is what may still be removed before the cluster falls below its least cores, memory or devices
// (--cores-total and so on, the first of the two numbers).
type Floor struct {
	q    *Quota
	left map[string]int64
}

// NewFloor sums up all nodes of the snapshot but those being deleted. groupOf has the groups of nodes.
func NewFloor(c Cluster, groupOf map[string]string, deleting func(*corev1.Node) bool) *Floor {
	s := c.Settings
	least := map[string]int64{"cpu": s.CoresTotal.Min, "memory": gib(s.MemoryTotal.Min)}
	for t, r := range s.GPUTotal {
		least[t] = r.Min
	}
	for r, bounds := range c.Provider.ResourceLimits() {
		least[r] = bounds[0]
	}
	f := &Floor{q: &Quota{Cluster: c, perNode: map[string]map[string]int64{}}, left: map[string]int64{}}
	for r, v := range least {
		if v > 0 {
			f.left[r] = -v
		}
	}
	if len(f.left) == 0 {
		return f
	}
	for at := range c.Snapshot.Len() {
		n := c.Snapshot.NodeInfo(at).Node()
		if deleting(n) {
			continue
		}
		group := groupOf[n.Name]
		for r, v := range f.q.measure(group, n) {
			if _, limited := f.left[r]; limited {
				f.left[r] += v
			}
		}
	}
	return f
}

// Below names the first resource, by name, that would fall below its least without the node; "" for none.
func (f *Floor) Below(group string, n *corev1.Node) string {
	if len(f.left) == 0 {
		return ""
	}
	var names []string
	for r, v := range f.q.measure(group, n) {
		if left, limited := f.left[r]; limited && v > left {
			names = append(names, r)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return names[0]
}

func (f *Floor) Take(group string, n *corev1.Node) {
	if len(f.left) == 0 {
		return
	}
	for r, v := range f.q.measure(group, n) {
		if _, limited := f.left[r]; limited {
			f.left[r] -= v
		}
	}
}
