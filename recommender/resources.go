package recommender

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// amounts are resources in the scheduler's units: milli cores, bytes, pieces. The slot of a resource is its place in
// table.names.
type amounts []int64

// table numbers the resources of a request: cpu, memory, ephemeral storage, pods, then others by name.
type table struct {
	names []corev1.ResourceName
	index map[corev1.ResourceName]int
}

// The first resources of every table.
const (
	cpuSlot = iota
	memorySlot
	diskSlot
	podsSlot
)

func newTable(others map[corev1.ResourceName]bool) *table {
	t := &table{names: []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, corev1.ResourcePods}}
	t.names = append(t.names, slices.Sorted(maps.Keys(others))...)
	t.index = make(map[corev1.ResourceName]int, len(t.names))
	for i, n := range t.names {
		t.index[n] = i
	}
	return t
}

// demand is what the scheduler counts for a pod.
func (t *table) demand(p *corev1.Pod) amounts {
	var r framework.Resource
	r.SetMaxResource(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}))
	return t.of(&r, 1)
}

// free is what a node has left.
func (t *table) free(n *framework.NodeInfo) amounts {
	have := t.of(n.Allocatable, n.Allocatable.AllowedPodNumber)
	used := t.of(n.Requested, len(n.Pods))
	for i := range have {
		have[i] = max(0, have[i]-used[i])
	}
	return have
}

func (t *table) of(r *framework.Resource, pods int) amounts {
	out := make(amounts, len(t.names))
	out[cpuSlot], out[memorySlot], out[diskSlot], out[podsSlot] = r.MilliCPU, r.Memory, r.EphemeralStorage, int64(pods)
	for name, n := range r.ScalarResources {
		if i, ok := t.index[name]; ok {
			out[i] = n
		}
	}
	return out
}

// exceeds says whether more of something is asked for than there is.
func (a amounts) exceeds(free amounts) bool {
	for i, n := range a {
		if n > 0 && n > free[i] {
			return true
		}
	}
	return false
}

func (a amounts) add(b amounts, times int64) {
	for i := range b {
		a[i] += b[i] * times
	}
}

// units is an amount in the unit weights and reports have: cores and GiB exactly, pieces of all else.
func (t *table) units(slot int, n int64) float64 {
	switch slot {
	case cpuSlot:
		return float64(n) / 1000
	case memorySlot, diskSlot:
		return float64(n) / (1 << 30)
	}
	return float64(n)
}

// report lists what is asked for, in units, without pod slots.
func (t *table) report(a amounts) map[string]float64 {
	out := map[string]float64{}
	for i, n := range a {
		if i != podsSlot && n > 0 {
			out[string(t.names[i])] = t.units(i, n)
		}
	}
	return out
}

// Weights say what a unit of a resource is worth: a core, a GiB of memory or ephemeral storage, a piece of all else.
type Weights map[string]float64

// DefaultWeights are about what the large clouds charge for a core against a GiB.
func DefaultWeights() Weights { return Weights{"cpu": 6, "memory": 1} }

// ParseWeights reads "cpu=6,memory=1". Names are resource names, numbers are not negative, and one is above 0.
func ParseWeights(s string) (Weights, error) {
	w := Weights{}
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("weights %q: %q: want resource=weight, such as cpu=6,memory=1", s, part)
		}
		if _, twice := w[name]; twice {
			return nil, fmt.Errorf("weights %q: %s is given twice", s, name)
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("weights %q: %s: %q is not a number; the weight is of one core, one GiB, or one piece", s, name, value)
		}
		w[name] = n
	}
	return w, w.check()
}

func (w Weights) check() error {
	positive := false
	for _, name := range slices.Sorted(maps.Keys(w)) {
		n := w[name]
		switch {
		case name == "cpu", name == "memory", name == "ephemeral-storage", strings.Contains(name, "/"), strings.HasPrefix(name, "hugepages-"):
		default:
			return fmt.Errorf("weights: %q is no resource: name cpu, memory, ephemeral-storage, or an extended resource such as nvidia.com/gpu", name)
		}
		if n < 0 || math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Errorf("weights: %s=%v: want 0 or more", name, n)
		}
		positive = positive || n > 0
	}
	if !positive {
		return fmt.Errorf("weights: every weight is 0: give one that is not, such as cpu=6,memory=1")
	}
	return nil
}

// String is the form ParseWeights reads, sorted by name.
func (w Weights) String() string {
	parts := make([]string, 0, len(w))
	for _, name := range slices.Sorted(maps.Keys(w)) {
		parts = append(parts, name+"="+strconv.FormatFloat(w[name], 'g', -1, 64))
	}
	return strings.Join(parts, ",")
}

// value weighs amounts.
func (w Weights) value(t *table, a amounts) float64 {
	sum := 0.0
	for i, name := range t.names {
		// The conversion keeps a processor from fusing both operations, which would round otherwise.
		sum += float64(w[string(name)] * t.units(i, a[i]))
	}
	return sum
}

// fewer compares nodes by their resources: cpu, then memory, then the rest in the order of the table.
func fewer(a, b amounts) int { return slices.Compare(a, b) }
