package recommender

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// Judge says how far a scale-up, by any autoscaler, is from the cheapest one for the same pods: those that find room on its
// nodes. sizes are the new nodes by group. asked names the pods the scale-up is for ("namespace/name"); the other pods that
// wait take what room there is on nodes that exist, and are left out; so are groups below their min size, and scale-down. An
// unknown group or a number below zero is an error, and all that is one for Recommend.
func (l *Local) Judge(ctx context.Context, r *Request, sizes map[string]int, asked []string) (scalehist.Optimality, error) {
	alone := *r
	alone.Constraints.IgnoreMinSize, alone.Constraints.ScaleDown = true, nil
	for _, name := range sortedKeys(sizes) {
		if !slices.ContainsFunc(r.NodeGroups, func(g NodeGroup) bool { return g.Name == name }) {
			return scalehist.Optimality{}, fmt.Errorf("judge: node group %q does not exist", name)
		}
		if sizes[name] < 0 {
			return scalehist.Optimality{}, fmt.Errorf("judge: node group %s cannot grow by %d", name, sizes[name])
		}
	}
	g := given{sizes: sizes, asked: make(map[string]bool, len(asked))}
	for _, pod := range asked {
		g.asked[pod] = true
	}
	out, err := l.recommend(ctx, &alone, g)
	if err != nil {
		return scalehist.Optimality{}, err
	}
	return out.Optimality, nil
}

// given is the strategy of somebody else: the nodes are given, and as many pods as can be are put on them.
type given struct {
	sizes map[string]int
	asked map[string]bool
}

// Name implements Strategy.
func (given) Name() string { return "given" }

func (s given) scaleUp(ctx context.Context, p *planner) error {
	bounds := make([]int, len(p.groups))
	for i, g := range p.groups {
		bounds[i], g.MaxSize = g.MaxSize, p.target[i]+s.sizes[g.Name]
	}
	err := s.fill(ctx, p)
	for i, g := range p.groups {
		g.MaxSize = bounds[i]
	}
	return err
}

// fill adds the nodes that take pods, in the order that places most, then those that are left over.
func (s given) fill(ctx context.Context, p *planner) error {
	best, _, err := p.bestGreedy(ctx, p.start)
	if err != nil {
		return err
	}
	if err := p.take(ctx, assignmentsOf(best.nodes[p.start.nodes:]), ""); err != nil {
		return err
	}
	for i, g := range p.groups {
		for p.target[i] < g.MaxSize {
			if g.node == nil {
				return fmt.Errorf("node group %s: no node of it and no template says what a new one is", g.Name)
			}
			if err := p.fillNew(ctx, g, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle lets the pods that did not ask go first, where there is room for them, and leaves them out from then on.
func (s given) settle(ctx context.Context, p *planner) {
	held := make([][]*corev1.Pod, len(p.q.classes))
	for i, cl := range p.q.classes {
		var others []*corev1.Pod
		for _, pod := range cl.pods {
			if s.asked[podName(pod)] {
				held[i] = append(held[i], pod)
			} else {
				others = append(others, pod)
			}
		}
		cl.pods = others
	}
	p.fillExisting(ctx)
	for i, cl := range p.q.classes {
		cl.pods = slices.Concat(cl.pods[:p.q.placed[i]], held[i])
	}
}
