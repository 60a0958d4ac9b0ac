package recommender

import (
	"context"
	"slices"

	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/scalehist/scalehist/recommender/bound"
)

// start is where strategies begin: after the existing nodes and the minimum sizes have taken what they can.
type start struct {
	nodes int
	// target and placed are the sizes and placements at that point, total and capacity those of the cluster.
	target, placed []int
	total          int
	capacity       amounts
	// open says by group whether it may grow; may says by class and group whether nothing but pods elsewhere can keep a pod off
	// a fresh node.
	open []bool
	may  [][]bool
	// home are ordered classes that may yet find room on nodes that are there.
	home []bool
}

// mark remembers where the plan is, and which classes new nodes of which groups could take.
func (p *planner) mark(ctx context.Context) (*start, error) {
	s := &start{nodes: len(p.nodes), target: slices.Clone(p.target), placed: slices.Clone(p.q.placed), total: p.total, capacity: slices.Clone(p.capacity),
		open: make([]bool, len(p.groups)), may: make([][]bool, len(p.q.classes)), home: make([]bool, len(p.q.classes))}
	for i := range s.may {
		s.may[i] = make([]bool, len(p.groups))
	}
	if !p.waits() {
		return s, nil
	}
	var open []*group
	for _, g := range p.groups {
		if p.grow(g) == "" {
			s.open[g.order] = true
			open = append(open, g)
		}
	}
	nodeNames, errs := make([]string, len(open)), make([]error, len(open))
	for i, g := range open {
		nodeNames[i] = p.nextName(g)
	}
	p.parallel(len(open), func(w *worker, i int) {
		if errs[i] = w.follow(ctx, p.changes, p.q); errs[i] != nil {
			return
		}
		snapshot := w.c.Snapshot()
		snapshot.Fork()
		defer snapshot.Revert()
		if errs[i] = snapshot.AddNode(open[i].fresh(nodeNames[i])); errs[i] != nil {
			return
		}
		for n := range p.q.classes {
			if len(p.q.rest(n)) > 0 && ctx.Err() == nil {
				s.may[n][open[i].order] = p.might(ctx, w, n, snapshot.Len()-1)
			}
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	for n, cl := range p.q.classes {
		if !cl.ordered || len(p.q.rest(n)) == 0 {
			continue
		}
		for at := range p.workers[0].c.Snapshot().Len() {
			if s.home[n] = p.roomy(n, at) && p.might(ctx, p.workers[0], n, at); s.home[n] {
				break
			}
		}
	}
	return s, ctx.Err()
}

// might says whether nothing but pods elsewhere keeps a pod of a class off the node at a position.
func (p *planner) might(ctx context.Context, w *worker, n, at int) bool {
	pod := p.q.rest(n)[0]
	if w.c.Fits(ctx, pod, at) {
		return true
	}
	if !p.q.classes[n].wide {
		// A pod without rules of its own can still be kept off by those of others.
		r := w.c.Check(ctx, pod, at)
		return r == nil || r.Plugin == names.InterPodAffinity
	}
	r := w.c.Check(ctx, pod, at)
	return r == nil || r.Plugin == names.InterPodAffinity || r.Plugin == names.PodTopologySpread
}

// roomy says whether the node at a position has the resources for a pod of a class.
func (p *planner) roomy(n, at int) bool {
	return !p.q.classes[n].demand.exceeds(p.table.free(p.workers[0].c.Snapshot().NodeInfo(at)))
}

// problem is what the new nodes of a plan are for: the fewest costs for so many pods of each class.
type problem struct {
	p     *planner
	start *start
	// class are indices of classes, n the pods of each that are on new nodes.
	class, n []int
	types    []*nodeType
	// may says by place in class and type.
	may [][]bool
	// ordered: some pods' places depend on the order in which they come.
	ordered bool
}

// nodeType are groups whose fresh nodes are the same for all that counts.
type nodeType struct {
	groups    []*group
	headroom  int
	objective float64
}

// problemOf states the problem that a plan solved. Groups are one type when they cost the same, have the same room and
// may take the same classes; with apart, each group is a type of its own.
func (p *planner) problemOf(s *start, apart bool) *problem {
	b := &problem{p: p, start: s}
	counts := make([]int, len(p.q.classes))
	for _, n := range p.nodes[s.nodes:] {
		for i, c := range n.counts {
			counts[i] += c
		}
	}
	for i, c := range counts {
		if c > 0 && !s.home[i] {
			b.class, b.n = append(b.class, i), append(b.n, c)
		}
		b.ordered = b.ordered || c > 0 && p.q.classes[i].ordered
	}
	for _, g := range p.groups {
		if !s.open[g.order] {
			continue
		}
		helps := make([]bool, len(b.class))
		for k, i := range b.class {
			helps[k] = s.may[i][g.order]
		}
		if !slices.Contains(helps, true) {
			continue
		}
		headroom := g.MaxSize - s.target[g.order]
		at := -1
		if !apart {
			at = slices.IndexFunc(b.types, func(t *nodeType) bool {
				return t.objective == g.objective && slices.Equal(t.groups[0].free, g.free) && slices.Equal(b.column(t.groups[0]), helps)
			})
		}
		if at >= 0 {
			b.types[at].groups = append(b.types[at].groups, g)
			b.types[at].headroom += headroom
			continue
		}
		b.types = append(b.types, &nodeType{[]*group{g}, headroom, g.objective})
	}
	b.may = make([][]bool, len(b.class))
	for k, i := range b.class {
		for _, t := range b.types {
			b.may[k] = append(b.may[k], s.may[i][t.groups[0].order])
		}
	}
	return b
}

// lowerBound is below the objective of every plan that takes the pods of the problem.
func (b *problem) lowerBound() float64 {
	out := bound.Problem{CPU: cpuSlot, Memory: memorySlot, Pods: podsSlot}
	for k, i := range b.class {
		out.Classes = append(out.Classes, bound.Class{Count: b.n[k], Demand: b.p.q.classes[i].demand, May: b.may[k]})
	}
	for _, t := range b.types {
		out.Types = append(out.Types, bound.Type{Free: t.groups[0].free, Headroom: t.headroom, Objective: t.objective})
	}
	return out.Lower()
}

// groupAt is the group of the nth new node of a type: groups are filled in order.
func (b *problem) groupAt(t, n int) *group {
	for _, g := range b.types[t].groups {
		room := g.MaxSize - b.start.target[g.order]
		if n < room {
			return g
		}
		n -= room
	}
	return b.types[t].groups[0]
}

// pods counts the pods of the problem.
func (b *problem) pods() int {
	sum := 0
	for _, n := range b.n {
		sum += n
	}
	return sum
}

func (b *problem) column(g *group) []bool {
	out := make([]bool, len(b.class))
	for k, i := range b.class {
		out[k] = b.start.may[i][g.order]
	}
	return out
}

// objective is what the nodes of a plan since the start cost. Nodes that no pod asked for are not in it.
func (p *planner) objective(s *start) float64 {
	sum := 0.0
	for _, n := range p.nodes[s.nodes:] {
		sum += n.g.objective
	}
	return sum
}
