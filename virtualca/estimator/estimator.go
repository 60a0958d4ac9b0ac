package estimator

import (
	"context"
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/scalehist/scalehist/simulator/fit"
)

// Estimate is how many new nodes of a template the pods need, by upstream's binpacking (estimator/).
type Estimate struct {
	Nodes int
	Pods  []*corev1.Pod
	// Limited: the limiter allowed no more nodes.
	Limited bool
}

// estimation is the state of one run: new nodes are at positions base and on.
type estimation struct {
	checker  *fit.Checker
	template string
	fresh    func(suffix string) *framework.NodeInfo
	base     int
	// used says by position which nodes got pods, count how many.
	used    []bool
	count   int
	placed  []*corev1.Pod
	left    int
	limited bool
}

// Pack packs pod groups onto new nodes, the largest pods first; groups of equal size keep their order. node is what each new
// node is like, fresh makes one with a suffix for its name, most is how many there may be: 0 for any number, less for none. The
// snapshot is afterwards as it was.
func Pack(ctx context.Context, checker *fit.Checker, groups []*Group, node *corev1.Node, fresh func(suffix string) *framework.NodeInfo, most int) (Estimate, error) {
	s := checker.Snapshot()
	s.Fork()
	defer s.Revert()
	e := &estimation{checker: checker, template: node.Name, fresh: fresh, base: s.Len(), left: most}
	for _, g := range bySize(checker, groups, node) {
		rest := e.fillExisting(ctx, g.Pods)
		if err := ctx.Err(); err != nil {
			return Estimate{}, err
		}
		if err := e.addNodes(ctx, rest); err != nil {
			return Estimate{}, err
		}
	}
	return Estimate{Nodes: e.count, Pods: e.placed, Limited: e.limited}, nil
}

// bySize sorts by the first pod's share of the template's cpu and memory, descending.
func bySize(checker *fit.Checker, groups []*Group, node *corev1.Node) []*Group {
	type scored struct {
		g     *Group
		score float64
	}
	all := make([]scored, 0, len(groups))
	alloc := node.Status.Allocatable
	for _, g := range groups {
		cpu, memory := checker.Requests(g.Pods[0])
		score := 0.0
		if c := alloc.Cpu().MilliValue(); c > 0 {
			score += float64(cpu) / float64(c)
		}
		if m := alloc.Memory().Value(); m > 0 {
			score += float64(memory) / float64(m)
		}
		all = append(all, scored{g, score})
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].score > all[j].score })
	out := make([]*Group, 0, len(all))
	for _, s := range all {
		out = append(out, s.g)
	}
	return out
}

// fillExisting places pods on any new node of this estimate up to the first that fits on none, and returns the rest.
func (e *estimation) fillExisting(ctx context.Context, pods []*corev1.Pod) []*corev1.Pod {
	c := e.checker
	for i, p := range pods {
		if ctx.Err() != nil {
			return nil
		}
		at, ok := c.FirstFit(ctx, p, e.base, c.Snapshot().Len(), -1)
		if !ok {
			return pods[i:]
		}
		e.place(p, at)
	}
	return nil
}

// addNodes places pods on the last new node, adding one when it is full. A pod only kept off by its own spread over
// hostnames may go to any other node, old ones included.
func (e *estimation) addNodes(ctx context.Context, pods []*corev1.Pod) error {
	c := e.checker
	s := c.Snapshot()
	for _, p := range pods {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := s.Len() - 1
		if last >= e.base {
			if c.Fits(ctx, p, last) {
				e.place(p, last)
				continue
			}
			if spreadsOverHosts(p) {
				if r := c.Check(ctx, p, last); r != nil && r.Plugin == names.PodTopologySpread {
					if at, ok := c.FirstFit(ctx, p, 0, s.Len(), last); ok {
						e.place(p, at)
						continue
					}
				}
			}
			if !e.got(last) {
				// A node as empty as this one would not take the pod either.
				return nil
			}
		}
		if e.left < 0 || (e.left > 0 && s.Len()-e.base >= e.left) {
			e.limited = true
			return nil
		}
		if err := s.AddNode(e.fresh(fmt.Sprintf("e-%d", s.Len()-e.base))); err != nil {
			return fmt.Errorf("estimate %s: %w", e.template, err)
		}
		last = s.Len() - 1
		if !c.Fits(ctx, p, last) {
			return nil
		}
		e.place(p, last)
	}
	return nil
}

func (e *estimation) place(p *corev1.Pod, at int) {
	e.checker.Place(p, at)
	e.placed = append(e.placed, p)
	for len(e.used) <= at {
		e.used = append(e.used, false)
	}
	if !e.used[at] {
		e.used[at] = true
		e.count++
	}
}

func (e *estimation) got(at int) bool { return at < len(e.used) && e.used[at] }

func spreadsOverHosts(p *corev1.Pod) bool {
	for i := range p.Spec.TopologySpreadConstraints {
		c := &p.Spec.TopologySpreadConstraints[i]
		if c.TopologyKey == corev1.LabelHostname && c.WhenUnsatisfiable == corev1.DoNotSchedule {
			return true
		}
	}
	return false
}
