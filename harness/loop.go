package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
	"github.com/scalehist/scalehist/harness/ledger"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

const (
	// defaultScanInterval is upstream's --scan-interval, for engines that do not tell theirs.
	defaultScanInterval = 10 * time.Second
	// maxLoops bounds the loops of a replay: a year of loops every ten seconds has three million. What has more is a stray
	// year, or an interval that is none.
	maxLoops = 10_000_000
	// maxLoopsAtOnce bounds the loops at one instant. Each must have acted to ask for another, so only an engine that
	// undoes its own work gets there.
	maxLoopsAtOnce = 1_000
)

// run is one replay: the clock, the cluster, the node groups and the autoscaler.
type run struct {
	in       *trace.Input
	opts     options
	plane    kvcl.ControlPlane
	cluster  *virtual.Cluster
	provider *cloudprovider.Provider
	engine   scalehist.Autoscaler
	ledger   *ledger.Ledger
	watch    *stopwatch

	now      time.Time
	batch    time.Duration
	scan     time.Duration
	nextLoop time.Time
	end      time.Time // of what is being played: more may be played after it
	started  bool

	changes  []scalehist.Change // still to come
	groups   []trace.GroupChange
	arrived  []string // groups that came in this step
	settings []scalehist.SettingsChange
	pending  map[types.NamespacedName]bool
	faults   *nodeFaults
	// controllers act on workloads, whose work the meter has.
	controllers []scalehist.Controller
	configured  []scalehist.Change // changes of their configuration, still to come
	load        []load.Series
	meter       *load.Meter
	nodePods    int64  // what Cluster.NodePods was at the last measure
	signs       *signs // nil: none
	// backoff is what the last loop said of groups that may not grow.
	backoff []scalehist.GroupBackoff
	free    *freeRun // nil: the loops of the autoscaler are ours to run
}

func newRun(ctx context.Context, in *trace.Input, o options) (_ *run, err error) {
	r := &run{
		in: in, opts: o, now: in.Start, watch: newStopwatch(), pending: map[types.NamespacedName]bool{},
		changes: in.Changes, groups: in.GroupChanges, settings: in.SettingsChanges,
	}
	if o.freeRunner != nil {
		r.free = newFreeRun(r)
	}
	if r.provider, err = r.newProvider(); err != nil {
		return nil, err
	}
	if err := r.checkPrices(); err != nil {
		return nil, err
	}
	done := r.watch.time("boot")
	r.plane, err = r.bootPlane(ctx)
	done()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = r.close() // the first error is the one to tell
		}
	}()
	r.cluster = virtual.New(r.plane, r.lives())
	done = r.watch.time("apply")
	err = r.cluster.Apply(ctx, in.Initial)
	done()
	if err != nil {
		return nil, fmt.Errorf("set up the cluster at %s: %w", moment.Stamp(in.Start), err)
	}
	if err := r.adopt(); err != nil {
		return nil, err
	}
	if _, err := r.settle(ctx, in.Start); err != nil {
		return nil, err
	}
	r.ledger = ledger.New(in, r.provider, r.plane.Cluster())
	r.warnOfGPUs()
	r.ledger.CompareUntil = func() time.Time { return r.boundary(r.in.End) }
	r.faults = newNodeFaults(r)
	if r.opts.Signs {
		r.signs = newSigns(r)
	}
	if err := r.newControllers(); err != nil {
		return nil, err
	}
	return r, r.newEngine(in.Settings)
}

func (r *run) newProvider() (*cloudprovider.Provider, error) {
	gpus := r.gpus()
	return cloudprovider.New(r.in.NodeGroups, cloudprovider.Options{
		Start:          r.in.Start,
		ProvisionDelay: r.in.ProvisionDelays,
		DefaultDelay:   r.opts.ProvisionDelay,
		DeletionDelay:  r.in.DeletionDelay,
		Faults:         r.in.Faults,
		Prices:         r.opts.prices,
		TemplatePods:   r.in.StaticPods,
		GroupOptions:   r.in.GroupOptions,
		GPULabel:       gpus.label,
		IgnoreGPUs:     gpus.ignored,
		ResourceLimits: r.in.ResourceLimits,
		Later:          r.in.LaterGroups(),
	})
}

// adopt hands the nodes that stand at the start to their groups and asks for those that were on their way.
func (r *run) adopt() error {
	for _, ch := range r.in.Initial {
		n, ok := ch.Object.(*corev1.Node)
		if !ok {
			continue
		}
		if _, grouped := r.provider.GroupForNode(n); !grouped {
			continue
		}
		if err := r.provider.Adopt(n); err != nil {
			return err
		}
	}
	r.provider.Resume(r.in.Start, r.in.Requested)
	return nil
}

// resumer is an engine that can be told of requests an earlier one made, so that it counts their nodes as upcoming.
type resumer interface {
	Resume(at time.Time, group string, delta int)
}

// tellUpcoming tells an engine that wants to know which nodes are on their way.
func tellUpcoming(engine scalehist.Autoscaler, provider *cloudprovider.Provider, now time.Time) {
	e, ok := engine.(resumer)
	if !ok {
		return
	}
	for _, g := range provider.Groups() {
		creating := 0
		for _, i := range provider.Instances(g.Name) {
			if i.State == cloudprovider.InstanceCreating && i.Error == nil {
				creating++
			}
		}
		if creating > 0 {
			e.Resume(now, g.Name, creating)
		}
	}
}

// CheckLoops says whether a replay would have more loops than are played, with one every scan interval.
func CheckLoops(window, scan time.Duration) error {
	if window/scan > maxLoops {
		return fmt.Errorf("a window of %s with a loop every %s has more than %d loops: choose a shorter window, or a longer --scan-interval", window, scan, maxLoops)
	}
	return nil
}

// newEngine builds the autoscaler with settings; a real one restarts when its Deployment changes.
func (r *run) newEngine(s scalehist.CASettings) error {
	s.Flags = append(append([]string(nil), s.Flags...), r.opts.Flags...)
	if r.free != nil {
		return r.free.configure(s)
	}
	inForce := s
	engine, err := r.opts.autoscaler(Env{
		Cluster: r.cluster, Provider: r.provider, Settings: s, Seed: r.opts.Seed, NamelessTies: r.opts.Ties == TiesByCreation, NodesAsStored: r.opts.Ties == TiesUpstream, Warn: r.ledger.Warn,
		InForce: func(changed scalehist.CASettings) { inForce = changed },
	})
	if err != nil {
		return fmt.Errorf("build the autoscaler: %w", err)
	}
	r.engine = engine
	tellUpcoming(engine, r.provider, r.now)
	r.scan = defaultScanInterval
	if p, ok := engine.(interface{ ScanInterval() time.Duration }); ok && p.ScanInterval() > 0 {
		r.scan = p.ScanInterval()
	}
	if err := CheckLoops(r.in.End.Sub(r.in.Start), r.scan); err != nil {
		return err
	}
	if r.opts.BatchInterval > 0 {
		r.batch = r.opts.BatchInterval
	}
	r.nextLoop = r.now.Add(r.scan)
	if r.now.Equal(r.in.Start) {
		r.nextLoop = r.in.FirstLoop(r.scan)
	}
	r.ledger.Settings(r.now, inForce)
	return nil
}

// play runs the loop up to end. It may be called again to go on from there: nothing that happens depends on end.
func (r *run) play(ctx context.Context, end time.Time) error {
	defer r.watch.time("total")()
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
	r.ledger.Finish(end, r.plane.Cluster())
	return r.balanced(end)
}

// next is the instant of the next step: a batch boundary with something to feed in, a loop of the autoscaler, a node
// that comes or goes, a pod that finishes. Idle stretches cost nothing but the autoscaler's own timers.
func (r *run) next(end time.Time) time.Time {
	t := r.nextLoop
	sooner := func(o time.Time) {
		if o.Before(r.now) {
			o = r.now
		}
		if o.Before(t) {
			t = o
		}
	}
	if at, ok := r.nextInput(end); ok {
		sooner(r.boundary(at))
	}
	if at, ok := r.provider.Next(); ok {
		sooner(at)
	}
	if at, ok := r.cluster.Next(); ok {
		sooner(at)
	}
	if at, ok := r.faults.next(); ok {
		sooner(at)
	}
	if at, ok := r.nextControl(); ok {
		sooner(at)
	}
	if over, ok := r.meter.NextOver(); ok {
		sooner(over.At)
	}
	if b, ok := r.engine.(scalehist.Background); ok {
		if at, ok := b.NextWork(); ok {
			sooner(at)
		}
	}
	return t
}

// nextInput is the instant of the next recorded change of any sort.
func (r *run) nextInput(end time.Time) (time.Time, bool) {
	var at time.Time
	for _, c := range []time.Time{firstAt(r.changes), groupAt(r.groups), settingsAt(r.settings)} {
		if !c.IsZero() && !c.After(end) && (at.IsZero() || c.Before(at)) {
			at = c
		}
	}
	return at, !at.IsZero()
}

func firstAt(c []scalehist.Change) time.Time {
	if len(c) == 0 {
		return time.Time{}
	}
	return c[0].At
}

func groupAt(c []trace.GroupChange) time.Time {
	if len(c) == 0 {
		return time.Time{}
	}
	return c[0].At
}

func settingsAt(c []scalehist.SettingsChange) time.Time {
	if len(c) == 0 {
		return time.Time{}
	}
	return c[0].At
}

// boundary is the end of the batch that an instant falls into; the recording's last batch may be short.
func (r *run) boundary(at time.Time) time.Time {
	if r.batch <= 0 {
		return at
	}
	into := at.Sub(r.in.Start)
	n := (into + r.batch - 1) / r.batch
	b := r.in.Start.Add(n * r.batch)
	if b.After(r.in.End) && !at.After(r.in.End) {
		return r.in.End
	}
	return b
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
	if err := r.faults.happen(ctx, t); err != nil {
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
		r.ledger.Measure(r.plane.Cluster())
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
	defer r.watch.time("apply")()
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

// settleNodes lets nodes come and go that are due, and settles, until nothing is left to happen at t. It tells whether
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
				changes = append(changes, scalehist.Change{At: t, Op: scalehist.OpAdd, Object: staticPodOn(p, e.NodeName)})
			}
		case cloudprovider.NodeGone:
			changes = append(changes, scalehist.Change{At: t, Op: scalehist.OpDelete, Object: namedNode(e.NodeName)})
		}
	}
	r.ledger.NodeEvents(events)
	if len(changes) == 0 {
		return nil
	}
	defer r.watch.time("apply")()
	return r.cluster.Apply(ctx, changes)
}

func (r *run) settle(ctx context.Context, t time.Time) (fresh bool, err error) {
	defer r.watch.time("schedule")()
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
// after each piece of it, so that the next sees what the last one did. It tells whether a pod became unschedulable.
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
		done := r.watch.time("decide")
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

// worked keeps what an autoscaler did between its loops.
func (r *run) worked(ctx context.Context, t time.Time, d scalehist.Decision) error {
	r.ledger.Worked(d)
	if err := r.signs.write(ctx, d); err != nil {
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
		done := r.watch.time("decide")
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
	if err := r.signs.write(ctx, d); err != nil {
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

func (r *run) close() error {
	r.free.close()
	var errs []error
	for _, c := range r.controllers {
		if closer, ok := c.(io.Closer); ok {
			errs = append(errs, closer.Close())
		}
	}
	if r.plane != nil {
		errs = append(errs, r.plane.Close())
	}
	return errors.Join(errs...)
}

// loopTime is how long a loop of the autoscaler takes: the timer to the next one runs from its end (upstream: loop/trigger.go), so
// loops are a little more than a scan interval apart, and a node that must have been unneeded for more than four intervals is
// removed in the fourth loop after the first, not in the fifth. Loops of upstream 1.36.1 took 10 to 120 ms on small clusters; any
// time shorter than the scan interval comes to the same.
const loopTime = 20 * time.Millisecond
