package recall

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist/harness/kvcl/profile"
)

// candidate is a node that takes the pod.
type candidate struct {
	*node
	*answer
	total int64
}

// recall schedules a pod as stock would, or says why stock must do it.
func (r *Recall) recall(ctx context.Context, f framework.Framework, state fwk.CycleState, info *framework.QueuedPodInfo) (result scheduler.ScheduleResult, why string, err error) {
	pod := info.Pod
	if why = notPlain(pod); why != "" {
		return result, why, nil
	}
	if state.IsPodGroupSchedulingCycle() {
		return result, "scheduling group", nil
	}
	lister := f.SnapshotSharedLister().NodeInfos()
	list, err := lister.List()
	if err != nil {
		return result, "no list of nodes", nil //nolint:nilerr // stock runs into it as well, and says so
	}
	if len(list) == 0 {
		return result, "no nodes", nil
	}
	if !r.nodes.sync(list) {
		return result, "unknown snapshot", nil
	}
	pre, status, unschedulable := f.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return result, "refused by PreFilter", nil
	}
	if !pre.AllNodes() {
		return result, "nodes by name", nil
	}
	skipped := state.GetSkipFilterPlugins()
	for _, name := range r.plugins.foreign {
		if !skipped.Has(name) {
			return result, "filter " + name, nil
		}
	}
	sh := r.shapes.of(ctx, r.plugins, pod, r.nodes.slots)
	if sh == nil {
		return result, "not signed", nil
	}
	c := cycle{Recall: r, ctx: ctx, f: f, state: state, pod: pod, shape: sh, order: r.nodes.byName}
	if r.opts.TieBreak == profile.TiesUpstream {
		if c.order = r.searchOrder(); c.order == nil {
			return result, "search begins past the nodes", nil
		}
	}
	if why = c.filter(); why != "" {
		return result, why, nil
	}
	switch len(r.fit) {
	case 0:
		r.refused = c.unnominated
		return result, "", c.fitError(unschedulable)
	case 1:
		return scheduler.ScheduleResult{SuggestedHost: r.fit[0].name, EvaluatedNodes: len(list), FeasibleNodes: 1}, "", nil
	}
	if why = c.score(lister); why != "" {
		return result, why, nil
	}
	host, ok := c.winner()
	if !ok {
		return result, "equal hashes", nil
	}
	return scheduler.ScheduleResult{SuggestedHost: host, EvaluatedNodes: len(list), FeasibleNodes: len(r.fit)}, "", nil
}

// cycle is the scheduling of one pod.
type cycle struct {
	*Recall
	ctx   context.Context
	f     framework.Framework
	state fwk.CycleState
	pod   *corev1.Pod
	shape *shape
	// order is that of the search.
	order []*node
	// differ are the bits in which raw scores differ among the candidates: what is the same for all moves nobody.
	differ [compared]int64
	// refused is the status of nodes that would take the pod but for pods nominated to them.
	refused map[string]*fwk.Status
	// unnominated: no pod is nominated to a node.
	unnominated bool
}

// filter fills fit, in the order of the search.
func (c *cycle) filter() (why string) {
	nominated := c.nominations(c.f)
	c.unnominated = len(nominated) == 0
	fit, asked := c.fit[:0], 0
	for _, n := range c.order {
		g := n.info.Generation
		if n.generation != g {
			c.nodes.look(n)
		}
		a := &c.shape.answers[n.slot]
		if a.generation != g {
			asked++
			if why := c.ask(n, a); why != "" {
				return why
			}
		}
		if a.status != nil && len(nominated) == 0 {
			continue
		}
		if len(nominated) != 0 && nominated[n.name] {
			// The pods nominated to a node count as placed there unless they are less important: that is asked again.
			st := c.f.RunFilterPluginsWithNominatedPods(c.ctx, c.state, c.pod, n.info)
			if st.Code() == fwk.Error {
				return "filter failed"
			}
			if !st.IsSuccess() {
				if c.refused == nil {
					c.refused = map[string]*fwk.Status{}
				}
				c.refused[n.name] = st
				continue
			}
		}
		if a.status != nil {
			continue
		}
		if len(fit) > 0 {
			for k := range c.differ {
				c.differ[k] |= a.raw[k] ^ fit[0].raw[k]
			}
		}
		fit = append(fit, candidate{node: n, answer: a})
	}
	c.fit = fit
	c.stats.Asked += asked
	c.stats.Known += len(c.order) - asked
	return ""
}

// ask asks the local plugins about a node.
func (c *cycle) ask(n *node, a *answer) (why string) {
	status := c.f.RunFilterPlugins(c.ctx, c.state, c.pod, n.info)
	if !status.IsSuccess() && !status.IsRejected() {
		return "filter failed"
	}
	*a = answer{selected: true}
	if c.shape.required != nil {
		a.selected, _ = c.shape.required.Match(n.info.Node()) // upstream counts what does not parse as no match
	}
	if status.IsSuccess() {
		for i, sc := range c.plugins.scorers {
			if c.shape.silent[i] {
				continue
			}
			score, st := sc.Score(c.ctx, c.shape.scored, c.pod, n.info)
			switch {
			case !st.IsSuccess():
				return "score failed"
			case sc.slot >= 0:
				a.raw[sc.slot] = score
			case !valid(score):
				return "score failed"
			default:
				a.fixed += score * sc.weight
			}
		}
	} else {
		a.status = status
	}
	a.generation = n.info.Generation
	return ""
}

func valid(score int64) bool { return score >= fwk.MinScore && score <= fwk.MaxScore }

// fitError is upstream's: why each node does not take the pod.
func (c *cycle) fitError(unschedulable sets.Set[string]) error {
	nodes := c.nodes.byName
	statuses := make(map[string]*fwk.Status, len(nodes))
	d := framework.Diagnosis{UnschedulablePlugins: unschedulable}
	var last *fwk.Status
	for _, n := range nodes {
		st := c.refused[n.name]
		if st == nil {
			st = c.shape.answers[n.slot].status
		}
		statuses[n.name] = st
		if last == nil || last.Plugin() != st.Plugin() || last.Code() != st.Code() {
			d.AddPluginStatus(st)
			last = st
		}
	}
	d.NodeToStatus = framework.NewNodeToStatus(statuses, fwk.NewStatus(fwk.UnschedulableAndUnresolvable))
	return &framework.FitError{Pod: c.pod, NumAllNodes: len(nodes), Diagnosis: d}
}
