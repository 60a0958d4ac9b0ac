package virtualca

import (
	"sort"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// floor is what may still be removed before the cluster falls below its least cores, memory or devices
// (--cores-total and so on, the first of the two numbers).
type floor struct {
	q    *quota
	left map[string]int64
}

// newFloor sums up all nodes of the snapshot but those being deleted.
func (l *loop) newFloor() *floor {
	s := &l.a.settings
	least := map[string]int64{"cpu": s.CoresTotal.Min, "memory": gib(s.MemoryTotal.Min)}
	for t, r := range s.GPUTotal {
		least[t] = r.Min
	}
	for r, bounds := range l.a.provider.ResourceLimits() {
		least[r] = bounds[0]
	}
	f := &floor{q: &quota{l: l, perNode: map[string]map[string]int64{}}, left: map[string]int64{}}
	for r, v := range least {
		if v > 0 {
			f.left[r] = -v
		}
	}
	if len(f.left) == 0 {
		return f
	}
	snapshot := l.a.checker.Snapshot()
	for at := range snapshot.Len() {
		n := snapshot.NodeInfo(at).Node()
		if scalehist.HasTaint(n, toBeDeletedTaint) || l.a.down.deletions.of(n.Name) != nil {
			continue
		}
		group := l.groupOf[n.Name]
		for r, v := range f.q.measure(group, n) {
			if _, limited := f.left[r]; limited {
				f.left[r] += v
			}
		}
	}
	return f
}

// below names the first resource, by name, that would fall below its least without the node; "" for none.
func (f *floor) below(group string, n *corev1.Node) string {
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
	sort.Strings(names)
	return names[0]
}

func (f *floor) take(group string, n *corev1.Node) {
	if len(f.left) == 0 {
		return
	}
	for r, v := range f.q.measure(group, n) {
		if _, limited := f.left[r]; limited {
			f.left[r] -= v
		}
	}
}
