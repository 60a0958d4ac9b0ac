package recommender

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/scalehist/scalehist"
)

// planner grows a plan on a cluster. The first worker is the plan's own snapshot; the others follow when they are asked.
type planner struct {
	*cluster
	q       *queue
	workers []*worker
	changes []change
	// nodes are the new ones in order, size the target sizes, capacity that of all nodes, total their number.
	nodes    []*planned
	target   []int
	capacity amounts
	total    int
	next     []int
	taken    map[string]bool
	fits     []Placement
	steps    []Step
	onNode   map[string]*planned
	// score is the policy; a strategy may try others than that of the request.
	score scorer
	// start is where the strategy began.
	start *start
}

// planned is a new node with its pods.
type planned struct {
	g      *group
	name   string
	pods   []string
	counts []int
	reason string
}

// newPlanner starts with the cluster as it is.
func newPlanner(c *cluster, workers []*worker, classes []*class) *planner {
	p := &planner{cluster: c, score: c.score, q: &queue{classes, make([]int, len(classes))}, workers: workers, capacity: slices.Clone(c.capacity),
		total: len(c.nodes), next: make([]int, len(c.groups)), taken: map[string]bool{}, onNode: map[string]*planned{}}
	for _, g := range c.groups {
		p.target = append(p.target, g.TargetSize)
	}
	return p
}

// fillExisting places the pods that fit on nodes that are there, in the order of the nodes.
func (p *planner) fillExisting(ctx context.Context) {
	for i := range p.q.classes {
		p.fillClass(ctx, i)
	}
	p.reopen(ctx, p.q.classes)
}

// fillClass places pods of a class on the nodes of the snapshot, the first first. A node that has no room for one pod of
// a class has none for the next, unless the class is ordered.
func (p *planner) fillClass(ctx context.Context, i int) (placed bool) {
	c, cl := p.workers[0].c, p.q.classes[i]
	at := 0
	for len(p.q.rest(i)) > 0 && at < c.Snapshot().Len() && ctx.Err() == nil {
		pod := p.q.rest(i)[0]
		if !c.Fits(ctx, pod, at) {
			at++
			continue
		}
		node := c.Snapshot().NodeInfo(at).Node().Name
		c.Place(pod, at)
		p.place(i, 1, node)
		placed = true
		if cl.ordered {
			at = 0
		}
	}
	return placed
}

// reopen looks for places on the nodes that are there for the classes for which some classes may have made room, until
// nothing moves.
func (p *planner) reopen(ctx context.Context, by []*class) {
	for len(by) > 0 && ctx.Err() == nil {
		var next []*class
		for i, cl := range p.q.classes {
			if cl.ordered && len(p.q.rest(i)) > 0 && slices.ContainsFunc(by, cl.opens) && p.fillClass(ctx, i) {
				next = append(next, cl)
			}
		}
		by = next
	}
}

// place writes down that the next n pods of a class, placed by the first worker, are on a node.
func (p *planner) place(i, n int, node string) {
	new := p.onNode[node]
	for _, pod := range p.q.rest(i)[:n] {
		p.changes = append(p.changes, change{pod: pod, node: node})
		if new == nil {
			p.fits = append(p.fits, Placement{podName(pod), node})
			continue
		}
		new.pods = append(new.pods, podName(pod))
	}
	if new != nil {
		new.counts[i] += n
	}
	p.q.placed[i] += n
	p.workers[0].applied = len(p.changes)
}

// grow says why a group may not have one node more; "" when it may.
func (p *planner) grow(g *group) string {
	k := &p.req.Constraints
	switch {
	case g.node == nil:
		return "no template: no node of the group and nothing from its provider says what a fresh one is"
	case k.Backoff[g.Name] != "":
		return "in backoff: " + k.Backoff[g.Name]
	case p.target[g.order] >= g.MaxSize:
		return fmt.Sprintf("max size %d reached%s", g.MaxSize, scalehist.NodeGroup{MaxSize: g.MaxSize, GuessedMax: g.GuessedMax}.GuessNote())
	case k.MaxNodesTotal > 0 && p.total >= k.MaxNodesTotal:
		return fmt.Sprintf("max nodes total %d reached", k.MaxNodesTotal)
	case k.Cores != nil && k.Cores.Max > 0 && p.capacity[cpuSlot]+g.capacity[cpuSlot] > k.Cores.Max*1000:
		return fmt.Sprintf("limit of %d cores reached", k.Cores.Max)
	case k.MemoryGiB != nil && k.MemoryGiB.Max > 0 && p.capacity[memorySlot]+g.capacity[memorySlot] > k.MemoryGiB.Max<<30:
		return fmt.Sprintf("limit of %d GiB reached", k.MemoryGiB.Max)
	}
	return ""
}

// nextName is "<group>-<n>" with the smallest n no known node has.
func (p *planner) nextName(g *group) string {
	for n := p.next[g.order]; ; n++ {
		name := fmt.Sprintf("%s-%d", g.Name, n)
		if !p.cluster.taken[name] && !p.taken[name] {
			p.next[g.order] = n
			return name
		}
	}
}

// addNode takes a new node into the plan, with counts pods of each class, and lets ordered classes look for room again.
func (p *planner) addNode(ctx context.Context, g *group, counts []int, reason string) error {
	name := p.nextName(g)
	p.taken[name] = true
	p.target[g.order]++
	p.total++
	p.capacity.add(g.capacity, 1)
	n := &planned{g: g, name: name, counts: make([]int, len(p.q.classes)), reason: reason}
	p.nodes = append(p.nodes, n)
	p.onNode[name] = n
	p.changes = append(p.changes, change{g: g, node: name})
	var by []*class
	for i, count := range counts {
		if count > 0 {
			// The order in which pack placed them does not matter for the snapshot.
			for _, pod := range p.q.rest(i)[:count] {
				p.changes = append(p.changes, change{pod: pod, node: name})
				n.pods = append(n.pods, podName(pod))
			}
			n.counts[i] += count
			p.q.placed[i] += count
			by = append(by, p.q.classes[i])
		}
	}
	if err := p.workers[0].catchUp(p.changes); err != nil {
		return err
	}
	p.reopen(ctx, by)
	return ctx.Err()
}

// tryAll tries one node of each group that may grow, each on a worker that is free, and returns what would come of it in
// the order of the groups, with why other groups do not help.
func (p *planner) tryAll(ctx context.Context) ([]*outcome, []GroupReason, error) {
	var rejected []GroupReason
	var open []*group
	for _, g := range p.groups {
		if why := p.grow(g); why != "" {
			rejected = append(rejected, GroupReason{g.Name, why})
			continue
		}
		open = append(open, g)
	}
	outcomes, errs := make([]*outcome, len(open)), make([]error, len(open))
	names := make([]string, len(open))
	for i, g := range open {
		names[i] = p.nextName(g)
	}
	p.parallel(len(open), func(w *worker, i int) {
		if errs[i] = w.follow(ctx, p.changes, p.q); errs[i] == nil {
			outcomes[i], errs[i] = w.tryNode(ctx, open[i], names[i], p.q, p.table)
		}
	})
	waiting := p.q.waiting(p.table)
	var helpful []*outcome
	for i, o := range outcomes {
		if errs[i] != nil {
			return nil, nil, errs[i]
		}
		p.rate(o, waiting)
		if o.pods == 0 {
			rejected = append(rejected, GroupReason{o.g.Name, o.why})
			continue
		}
		helpful = append(helpful, o)
	}
	slices.SortStableFunc(rejected, func(a, b GroupReason) int { return strings.Compare(a.NodeGroup, b.NodeGroup) })
	return helpful, rejected, ctx.Err()
}

// rate sums up what a node takes, and scores it.
func (p *planner) rate(o *outcome, waiting amounts) {
	o.taken = make(amounts, len(p.table.names))
	for i, n := range o.counts {
		if n == 0 {
			continue
		}
		cl := p.q.classes[i]
		if o.pods == 0 || cl.priority > o.top {
			o.top = cl.priority
		}
		o.pods += n
		o.taken.add(cl.demand, int64(n))
	}
	o.score = p.score.score(o.g, o.taken, waiting)
}

// parallel runs n jobs on the workers; which worker has which job changes no answer.
func (p *planner) parallel(n int, job func(w *worker, i int)) {
	if len(p.workers) == 1 || n < 2 {
		for i := range n {
			job(p.workers[0], i)
		}
		return
	}
	var at atomic.Int64
	var wg sync.WaitGroup
	for _, w := range p.workers {
		wg.Go(func() {
			for i := int(at.Add(1)) - 1; i < n; i = int(at.Add(1)) - 1 {
				job(w, i)
			}
		})
	}
	wg.Wait()
}
