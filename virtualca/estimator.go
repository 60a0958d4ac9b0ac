package virtualca

import (
	"context"
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// estimate is how many new nodes of a template the pods need, by upstream's binpacking (estimator/).
type estimate struct {
	nodes int
	pods  []*corev1.Pod
	// limited: the limiter allowed no more nodes.
	limited bool
}

// estimation is the state of one run: new nodes stand at positions base and on.
type estimation struct {
	l    *loop
	t    *template
	base int
	// used says by position which nodes got pods, count how many.
	used    []bool
	count   int
	placed  []*corev1.Pod
	left    int
	limited bool
}

// limit is the fewest of the thresholds: 0 is none, a negative one allows nothing.
func limit(thresholds ...int) int {
	least := 0
	for _, t := range thresholds {
		switch {
		case least < 0 || t < 0:
			least = -1
		case t > 0 && (least == 0 || t < least):
			least = t
		}
	}
	return least
}

// nodeLimit is the most new nodes an estimate for a group may use: --max-nodes-per-scaleup, the free size of the group
// and those similar to it, and what --max-nodes-total leaves.
func (l *loop) nodeLimit(group string, similar []string) int {
	free := l.group[group].MaxSize - l.group[group].TargetSize
	for _, s := range similar {
		free += l.group[s].MaxSize - l.group[s].TargetSize
	}
	cluster := 0
	if total := l.a.settings.MaxNodesTotal; total > 0 {
		cluster = total - l.a.checker.Snapshot().Len()
		if cluster <= 0 {
			cluster = -1
		}
	}
	return limit(l.a.settings.MaxNodesPerScaleUp, free, cluster)
}

// guessedLimit is the remark that the limit an estimate stopped at is a guess; "" where it is not, or another limit is lower.
func (l *loop) guessedLimit(group string, similar []string, nodes int) string {
	free, note := l.group[group].MaxSize-l.group[group].TargetSize, l.group[group].GuessNote()
	for _, s := range similar {
		free += l.group[s].MaxSize - l.group[s].TargetSize
		if note == "" {
			note = l.group[s].GuessNote()
		}
	}
	if nodes < free {
		return ""
	}
	return note
}

// estimate packs pod groups onto new nodes of a template, the largest pods first; groups of equal size keep their
// order. most is from nodeLimit.
func (l *loop) estimate(ctx context.Context, groups []*podGroup, t *template, most int) (estimate, error) {
	s := l.a.checker.Snapshot()
	s.Fork()
	defer s.Revert()
	e := &estimation{l: l, t: t, base: s.Len(), left: most}
	for _, g := range l.bySize(groups, t) {
		rest := e.fillExisting(ctx, g.pods)
		if err := ctx.Err(); err != nil {
			return estimate{}, err
		}
		if err := e.addNodes(ctx, rest); err != nil {
			return estimate{}, err
		}
	}
	return estimate{nodes: e.count, pods: e.placed, limited: e.limited}, nil
}

// bySize sorts by the first pod's share of the template's cpu and memory, descending.
func (l *loop) bySize(groups []*podGroup, t *template) []*podGroup {
	type scored struct {
		g     *podGroup
		score float64
	}
	all := make([]scored, 0, len(groups))
	alloc := t.node.Status.Allocatable
	for _, g := range groups {
		cpu, memory := l.a.checker.Requests(g.pods[0])
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
	out := make([]*podGroup, 0, len(all))
	for _, s := range all {
		out = append(out, s.g)
	}
	return out
}

// fillExisting places pods on any new node of this estimate up to the first that fits on none, and returns the rest.
func (e *estimation) fillExisting(ctx context.Context, pods []*corev1.Pod) []*corev1.Pod {
	c := e.l.a.checker
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
	c := e.l.a.checker
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
		if err := s.AddNode(e.t.nodeInfo(fmt.Sprintf("e-%d", s.Len()-e.base))); err != nil {
			return fmt.Errorf("estimate %s: %w", e.t.node.Name, err)
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
	e.l.a.checker.Place(p, at)
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
