package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
)

const (
	// defaultScanInterval is upstream's --scan-interval, for engines that do not state theirs.
	defaultScanInterval = 10 * time.Second
	// maxLoops bounds the loops of a replay: a year of loops every ten seconds has three million. What has more is a stray
	// year, or an interval that is none.
	maxLoops = 10_000_000
	// maxLoopsAtOnce bounds the loops at one instant. Each must have acted to ask for another, so only an engine that
	// undoes its own work gets there.
	maxLoopsAtOnce = 1_000
)

// play runs the loop up to end. It may be called again to go on from there: nothing that happens depends on end.
func (r *run) play(ctx context.Context, end time.Time) error {
	defer r.watch.Time("total")()
	r.end = end
	if !r.started && r.opts.observer.Started != nil {
		if err := r.opts.observer.Started(ctx, r.now, r.plane, r.provider); err != nil {
			return err
		}
	}
	if r.free != nil && r.started {
		return errors.New("a free-running autoscaler is played once: make another replayer")
	}
	r.started = true
	if r.free != nil {
		if err := r.free.play(ctx, end); err != nil {
			return err
		}
		return r.finished(end)
	}
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		t := r.next(end)
		if t.After(end) {
			break
		}
		if err := r.step(ctx, t); err != nil {
			return err
		}
	}
	return r.finished(end)
}

// finished ends what is played at end.
func (r *run) finished(end time.Time) error {
	r.now = end
	r.ledger.Finish(end, r.plane.Objects())
	return r.balanced(end)
}

// step moves the clock to t and does everything that is due there.
func (r *run) step(ctx context.Context, t time.Time) error {
	fresh, err := r.happen(ctx, t)
	if err != nil {
		return err
	}
	// Upstream's pod observer wakes the loop early for pods that have just become unschedulable.
	if !t.Before(r.nextLoop) || fresh {
		if err := r.decide(ctx, t); err != nil {
			return err
		}
		r.nextLoop = t.Add(loopTime + r.scan)
		evicted, err := r.settleNodes(ctx, t)
		if err != nil {
			return err
		}
		// What it began to delete is drained from the same instant on.
		freed, err := r.work(ctx, t)
		if err != nil {
			return err
		}
		if evicted || freed {
			r.nextLoop = t // pods it evicted and that found no node wake it as any others do
		}
	}
	return r.stepped(ctx, t)
}

// happen moves the clock to t and lets everything happen there but loops of the autoscaler. It says whether a pod became unschedulable.
func (r *run) happen(ctx context.Context, t time.Time) (fresh bool, err error) {
	r.now = t
	r.ledger.Begin(t)
	if r.opts.observer.Stepping != nil {
		if err := r.opts.observer.Stepping(ctx, t); err != nil {
			return false, err
		}
	}
	if err := r.feed(ctx, t); err != nil {
		return false, err
	}
	if err := r.join(t); err != nil {
		return false, err
	}
	if err := r.faults.Happen(ctx, t); err != nil {
		return false, err
	}
	if fresh, err = r.settleNodes(ctx, t); err != nil {
		return fresh, err
	}
	freed, err := r.work(ctx, t)
	if err != nil {
		return fresh, err
	}
	fresh = fresh || freed
	for _, act := range []func(context.Context, time.Time) (bool, error){r.outOfMemory, r.control} {
		waits, err := act(ctx, t)
		if err != nil {
			return fresh, err
		}
		fresh = fresh || waits
	}
	return fresh, nil
}

// stepped ends a step: it measures, and writes down.
func (r *run) stepped(ctx context.Context, t time.Time) error {
	// A list of all pods is not made in a step that has nothing to measure, as most.
	if n := r.cluster.NodePods(); n != r.nodePods || r.ledger.Unmeasured() {
		r.nodePods = n
		r.ledger.Measure(r.plane.Objects())
	}
	r.ledger.Commit(r.pending)
	if r.opts.observer.Measured != nil && len(r.load) > 0 {
		if err := r.opts.observer.Measured(ctx, t, r.meter, r.cluster.Targets()); err != nil {
			return err
		}
	}
	if r.opts.observer.Stepped != nil {
		if err := r.opts.observer.Stepped(ctx, t); err != nil {
			return err
		}
	}
	if r.opts.progress != nil {
		r.opts.progress(Progress{
			Now: t, Start: r.in.Start, End: r.end,
			Nodes: r.ledger.Standing(), Pending: len(r.pending), LastDecision: r.ledger.LastSummary(),
			LastAction: r.ledger.LastAction(), Groups: r.provider.Groups,
		})
	}
	return nil
}

// feed applies the recorded causes whose batch ends here.
func (r *run) feed(ctx context.Context, t time.Time) error {
	due := func(at time.Time) bool { return !r.boundary(at).After(t) }
	for len(r.groups) > 0 && due(r.groups[0].At) {
		if err := r.regroup(t, r.groups[0]); err != nil {
			return err
		}
		r.groups = r.groups[1:]
	}
	for len(r.settings) > 0 && due(r.settings[0].At) {
		if err := r.newEngine(r.settings[0].Settings); err != nil {
			return err
		}
		r.settings = r.settings[1:]
	}
	n := 0
	for n < len(r.changes) && due(r.changes[n].At) {
		n++
	}
	if n == 0 {
		return nil
	}
	batch := r.cluster.Withhold(r.changes[:n])
	r.changes = r.changes[n:]
	defer r.watch.Time("apply")()
	if err := r.cluster.Apply(ctx, batch); err != nil {
		return err
	}
	r.fed(batch)
	return nil
}

// fed follows what came in.
func (r *run) fed(changes []scalehist.Change) {
	for _, ch := range changes {
		if p, ok := ch.Object.(*corev1.Pod); ok && ch.Op != scalehist.OpUpdate {
			delete(r.pending, scalehist.NameOf(p)) // gone, or another pod of that name
		}
	}
	r.ledger.Fed(changes)
}

// settleNodes lets nodes come and go that are due, and settles, until nothing is left to happen at t. It reports whether
// a pod became unschedulable that was not before.
func (r *run) settleNodes(ctx context.Context, t time.Time) (fresh bool, err error) {
	for {
		if ctx.Err() != nil {
			return fresh, context.Cause(ctx)
		}
		events := r.provider.Advance(t)
		if err := r.nodes(ctx, t, events); err != nil {
			return fresh, err
		}
		f, err := r.settle(ctx, t)
		if err != nil {
			return fresh, err
		}
		fresh = fresh || f
		if at, ok := r.provider.Next(); !ok || at.After(t) {
			return fresh, nil
		}
	}
}

// nodes applies what the cloud provider brought.
func (r *run) nodes(ctx context.Context, t time.Time, events []cloudprovider.Event) error {
	var changes []scalehist.Change
	for _, e := range events {
		switch e.Type {
		case cloudprovider.NodeJoined:
			changes = append(changes, scalehist.Change{At: t, Op: scalehist.OpAdd, Object: e.Node})
			for _, p := range r.provider.TemplatePods(e.Group) {
				changes = append(changes, scalehist.Change{At: t, Op: scalehist.OpAdd, Object: nodetemplate.StaticPod(p, e.NodeName)})
			}
		case cloudprovider.NodeGone:
			changes = append(changes, scalehist.Change{At: t, Op: scalehist.OpDelete, Object: namedNode(e.NodeName)})
		}
	}
	r.ledger.NodeEvents(events)
	if len(changes) == 0 {
		return nil
	}
	defer r.watch.Time("apply")()
	return r.cluster.Apply(ctx, changes)
}

func (r *run) settle(ctx context.Context, t time.Time) (fresh bool, err error) {
	defer r.watch.Time("schedule")()
	st, err := r.cluster.Settle(ctx, t)
	if err != nil {
		return false, err
	}
	if len(st.Fed) > 0 {
		r.fed(st.Fed)
	}
	for _, e := range st.Events {
		delete(r.pending, e.Pod) // bound, gone, or pending again
	}
	for _, u := range st.Unschedulable {
		fresh = fresh || !r.pending[u.Pod]
		r.pending[u.Pod] = true
	}
	if r.ledger != nil {
		r.ledger.Settled(t, st)
		r.follow(t)
	}
	return fresh, nil
}

// work lets an autoscaler that goes on between its loops (it drains and deletes nodes) do what is due at t, and settles
// after each piece of it, so that the next sees what the last one did. It says whether a pod became unschedulable.
func (r *run) work(ctx context.Context, t time.Time) (fresh bool, err error) {
	b, ok := r.engine.(scalehist.Background)
	if !ok {
		return false, nil
	}
	for range maxLoopsAtOnce {
		if ctx.Err() != nil {
			return fresh, context.Cause(ctx)
		}
		if at, ok := b.NextWork(); !ok || at.After(t) {
			return fresh, nil
		}
		done := r.watch.Time("decide")
		d, err := b.Work(ctx, t)
		done()
		if err != nil {
			return fresh, fmt.Errorf("%s: %w", r.engine.Name(), err)
		}
		if err := r.worked(ctx, t, d); err != nil {
			return fresh, err
		}
		f, err := r.settleNodes(ctx, t)
		if err != nil {
			return fresh, err
		}
		fresh = fresh || f
	}
	return fresh, fmt.Errorf("%s had something to do %d times at one instant between two loops: it undoes its own work", r.engine.Name(), maxLoopsAtOnce)
}

// writeSigns writes what the autoscaler reports of itself, if somebody wants that.
func (r *run) writeSigns(ctx context.Context, d scalehist.Decision) error {
	if r.signs == nil {
		return nil
	}
	defer r.watch.Time("apply")()
	return r.signs.Write(ctx, r.engine, d)
}

// worked keeps what an autoscaler did between its loops.
func (r *run) worked(ctx context.Context, t time.Time, d scalehist.Decision) error {
	r.ledger.Worked(d)
	if err := r.writeSigns(ctx, d); err != nil {
		return err
	}
	if d.Acted() {
		klog.FromContext(ctx).Info("Removed", "offset", t.Sub(r.in.Start), "loop", d.Loop, "decision", d.Summary())
	}
	if r.opts.observer.Decided == nil {
		return nil
	}
	return r.opts.observer.Decided(ctx, d)
}

// decide runs the autoscaler, again at once while its own trigger rules say so.
func (r *run) decide(ctx context.Context, t time.Time) error {
	for range maxLoopsAtOnce {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		before := r.state(t)
		done := r.watch.Time("decide")
		d, err := r.engine.RunOnce(ctx, t)
		done()
		if err != nil {
			return fmt.Errorf("%s: %w", r.engine.Name(), err)
		}
		if err := r.noted(ctx, before, d); err != nil {
			return err
		}
		if !d.Again {
			return nil
		}
		// The next loop must see what this one did to the cluster: evictions, taints, nodes that came at once.
		if _, err := r.settleNodes(ctx, t); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s asked for another loop %d times at one instant: it undoes its own work", r.engine.Name(), maxLoopsAtOnce)
}

// noted keeps a decision about the cluster as it was before, nil where nobody keeps that.
func (r *run) noted(ctx context.Context, before *scalehist.ClusterState, d scalehist.Decision) error {
	if r.ledger.Decided(d) && before != nil && asksForRoom(d) {
		decided(before, d)
		r.ledger.Moments.Add(*before)
	}
	r.backoff = d.Backoff
	if err := r.writeSigns(ctx, d); err != nil {
		return err
	}
	if d.Acted() {
		klog.FromContext(ctx).Info("Decided", "offset", d.At.Sub(r.in.Start), "loop", d.Loop, "decision", d.Summary())
	}
	if r.opts.observer.Decided == nil {
		return nil
	}
	return r.opts.observer.Decided(ctx, d)
}
