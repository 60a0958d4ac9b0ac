package virtualca

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/simulator/drain"
	"github.com/scalehist/scalehist/virtualca/config"
)

// downState is what scale-down remembers between loops.
type downState struct {
	// unneeded are the nodes that could go, since when, by name; order lists them as the planner found them.
	unneeded map[string]*unneededNode
	order    []string
	// unremovable are nodes not to be simulated again before an instant.
	unremovable map[string]memory
	hints       *hints
	// latest is the last planning, shortest the least time between two.
	latest   time.Time
	shortest time.Duration
	// utilization is of the last planning, by node.
	utilization map[string]float64
	// copies and oldCopies are pods without their node, of this loop and the one before.
	copies, oldCopies map[*corev1.Pod]*corev1.Pod

	deletions *deletions
	cooldown  cooldown
	memo      *planMemo
	// owners are of the objects of ownersKey.
	owners    *drain.Owners
	ownersKey planKey
	// facts are by node name.
	facts map[string]*nodeFacts
}

// memory says until when and why a node is not looked at.
type memory struct {
	until  time.Time
	reason string
}

// unneededNode is a node that could go.
type unneededNode struct {
	since time.Time
	*removal
}

func newDownState(s *config.DownSettings) *downState {
	return &downState{unneeded: map[string]*unneededNode{}, unremovable: map[string]memory{}, hints: newHints(), shortest: max(s.UnneededTime, 1),
		utilization: map[string]float64{}, copies: map[*corev1.Pod]*corev1.Pod{}, deletions: newDeletions(), cooldown: newCooldown(), facts: map[string]*nodeFacts{}}
}

// clear forgets which nodes were unneeded.
func (d *downState) clear() {
	d.unneeded, d.order = map[string]*unneededNode{}, nil
}

// scaleDown plans the removal of nodes and starts it (static_autoscaler.go, core/scaledown). The plan is made in every
// loop, whatever the scale-up came to; a cooldown only keeps it from being acted on.
func (l *loop) scaleDown(ctx context.Context) error {
	candidates := l.candidates()
	if err := l.plan(ctx, candidates); err != nil {
		return fmt.Errorf("scale-down: %w", err)
	}
	l.d.Unneeded = append([]string(nil), l.a.down.order...)
	slices.Sort(l.d.Unneeded)
	switch why := l.inCooldown(); {
	case why != "":
		l.d.ScaleDown = scalehist.ScaleDownInCooldown
		if len(l.d.Unneeded) > 0 {
			l.note("scale-down waits: %s", why)
		}
	case len(candidates) == 0:
		l.d.ScaleDown = scalehist.ScaleDownNoCandidates
	default:
		empty, drained := l.nodesToDelete()
		l.startDeletions(ctx, empty, drained)
	}
	if l.d.ScaleDown != scalehist.ScaleDownNodeDeleteStarted && l.d.ScaleDown != scalehist.ScaleDownError {
		l.updateSoftTaints(ctx)
	}
	l.reportUnremovable()
	return nil
}

// plan finds the nodes that could go, by one simulation that grows with each of them, and keeps their clocks. The
// snapshot is as before when it returns.
func (l *loop) plan(ctx context.Context, candidates []*corev1.Node) error {
	d := l.a.down
	if !d.latest.IsZero() {
		d.shortest = min(d.shortest, l.now.Sub(d.latest))
	}
	d.latest = l.now
	for n, m := range d.unremovable {
		if _, ok := l.a.checker.Snapshot().Index(n); !ok || !m.until.After(l.now) {
			delete(d.unremovable, n)
		}
	}
	most := l.unneededLimit()
	key, steady := l.planKey(candidates, most)
	if steady && l.recall(&key) {
		return nil
	}
	until := l.now
	if steady {
		if until, steady = l.steadyUntil(); !steady {
			d.memo = nil
		}
	}
	key.unremovable = maps.Clone(key.unremovable)
	budgets, err := drain.NewBudgets(l.objects.PodDisruptionBudgets)
	if err != nil {
		return err
	}
	judge := &drain.Judge{Now: l.now, Options: l.a.settings.Down.Rules, Owners: d.ownersOf(l, &key), Budgets: budgets}
	d.utilization = make(map[string]float64, len(candidates))
	d.oldCopies, d.copies = d.copies, map[*corev1.Pod]*corev1.Pod{}

	snapshot := l.a.checker.Snapshot()
	snapshot.Fork()
	defer snapshot.Revert()
	sim := l.newSimulation(judge)
	var found []*removal
	atomic := 0
	eligible := l.eligible(candidates)
	if l.a.settings.Down.SimulationTimeout <= 0 {
		eligible = nil
	}
	for _, n := range eligible {
		if err := ctx.Err(); err != nil {
			return err
		}
		if most >= 0 && len(found)-atomic >= most {
			l.unremovable(n.Name, fmt.Sprintf("not looked at: %s to remove %s enough for now", plural.Of(most, "node"), plural.Verb(most, "is", "are")))
			continue
		}
		r, why, err := sim.try(ctx, n)
		if err != nil {
			return err
		}
		if r == nil {
			l.unremovable(n.Name, why)
			d.unremovable[n.Name] = memory{l.now.Add(l.a.settings.Down.RecheckTimeout), why}
			continue
		}
		r.risky = !budgets.AllAtOnce(r.move)
		budgets.Take(r.move)
		found = append(found, r)
		if l.zeroOrMax(r.group) {
			atomic++
		}
	}
	d.hints.dropOld()
	d.update(found, l.now)
	if steady {
		l.remember(key, until, found)
	}
	return nil
}

// unneededLimit is how many removable nodes are enough: with N removals at a time, 2N more than are known, and no more
// than N for each loop that fits into the unneeded time, and N. Negative: no limit. Loops at one instant come within
// moments of each other upstream, so that the second bound is out of reach then.
func (l *loop) unneededLimit() int {
	d, n := l.a.down, l.a.settings.Down.MaxParallelism
	most := len(d.unneeded) + 2*n
	if d.shortest <= 0 {
		return most
	}
	loops := max(l.a.settings.Down.UnneededTime, d.shortest) / d.shortest
	return min(most, n*int(loops)+n)
}

// update takes over what was found: a node that was unneeded before keeps its clock, any other starts one.
func (d *downState) update(found []*removal, now time.Time) {
	next := make(map[string]*unneededNode, len(found))
	d.order = d.order[:0]
	for _, r := range found {
		u := &unneededNode{since: now, removal: r}
		if old := d.unneeded[r.node.Name]; old != nil {
			u.since = old.since
		}
		next[r.node.Name] = u
		d.order = append(d.order, r.node.Name)
	}
	d.unneeded = next
}

// reportUnremovable lists why candidates are unremovable, by node name.
func (l *loop) reportUnremovable() {
	if len(l.reasons) == 0 {
		return
	}
	l.d.Unremovable = make([]scalehist.NodeReason, 0, len(l.reasons))
	for n, why := range l.reasons {
		l.d.Unremovable = append(l.d.Unremovable, scalehist.NodeReason{Node: n, Reason: why})
	}
	slices.SortFunc(l.d.Unremovable, func(a, b scalehist.NodeReason) int { return strings.Compare(a.Node, b.Node) })
}
