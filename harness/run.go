package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/gpu"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/virtual"
	"github.com/scalehist/scalehist/harness/ledger"
	"github.com/scalehist/scalehist/harness/nodefaults"
	"github.com/scalehist/scalehist/harness/runinfo"
	"github.com/scalehist/scalehist/harness/signs"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
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
	watch    *runinfo.Stopwatch

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
	faults   *nodefaults.Faults
	// controllers act on workloads, whose work the meter has.
	controllers []scalehist.Controller
	configured  []scalehist.Change // changes of their configuration, still to come
	load        []load.Series
	meter       *load.Meter
	nodePods    int64         // what Cluster.NodePods was at the last measure
	signs       *signs.Writer // nil: none
	// backoff is what the last loop said of groups that may not grow.
	backoff []scalehist.GroupBackoff
	free    *freeRun // nil: the loops of the autoscaler are ours to run
}

func newRun(ctx context.Context, in *trace.Input, o options) (_ *run, err error) {
	r := &run{
		in: in, opts: o, now: in.Start, watch: runinfo.Start(), pending: map[types.NamespacedName]bool{},
		changes: in.Changes, groups: in.GroupChanges, settings: in.SettingsChanges,
	}
	if o.freeRunner != nil {
		r.free = newFreeRun(r)
	}
	gpus := gpu.RuleOf(cmp.Or(o.GPULabel, in.GPULabel), in.Settings.Flags, in.AllGroups(), in.InitialNodes())
	if r.provider, err = r.newProvider(gpus); err != nil {
		return nil, err
	}
	if err := r.checkPrices(); err != nil {
		return nil, err
	}
	done := r.watch.Time("boot")
	r.plane, err = r.bootPlane(ctx)
	done()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = r.close() // the first error is the one to report
		}
	}()
	r.cluster = virtual.New(r.plane, r.lives())
	done = r.watch.Time("apply")
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
	r.ledger = ledger.New(in, r.provider, r.plane.Objects())
	r.warnOfGPUs(gpus)
	r.ledger.CompareUntil = func() time.Time { return r.boundary(r.in.End) }
	r.faults = nodefaults.New(in.NodeFaults, r.cluster, r.provider, r.ledger)
	if r.opts.Signs {
		client, _ := r.plane.Client()
		r.signs = signs.New(client, r.cluster)
	}
	if err := r.newControllers(); err != nil {
		return nil, err
	}
	return r, r.newEngine(in.Settings)
}

func (r *run) newProvider(gpus gpu.Rule) (*cloudprovider.Provider, error) {
	return cloudprovider.New(r.in.NodeGroups, cloudprovider.Options{
		Start:          r.in.Start,
		ProvisionDelay: r.in.ProvisionDelays,
		DefaultDelay:   r.opts.ProvisionDelay,
		DeletionDelay:  r.in.DeletionDelay,
		Faults:         r.in.Faults,
		Prices:         r.opts.prices,
		TemplatePods:   r.in.StaticPods,
		GroupOptions:   r.in.GroupOptions,
		GPULabel:       gpus.Label,
		IgnoreGPUs:     gpus.Ignored,
		ResourceLimits: r.in.ResourceLimits,
		Later:          r.in.LaterGroups(),
	})
}

// warnOfGPUs puts into the report which limits of GPUs bind nothing.
func (r *run) warnOfGPUs(rule gpu.Rule) {
	flags := slices.Concat(r.in.Settings.Flags, r.opts.Flags)
	for _, c := range r.in.SettingsChanges {
		flags = append(flags, c.Settings.Flags...)
	}
	for _, w := range gpu.Unbound(rule, flags, r.in.AllGroups(), r.in.InitialNodes()) {
		r.ledger.Warn(w)
	}
}

// adopt hands the nodes that exist at the start to their groups and asks for those that were on their way.
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

// resumer is an engine that can take over requests an earlier one made, so that it counts their nodes as upcoming.
type resumer interface {
	Resume(at time.Time, group string, delta int)
}

// resumeUpcoming gives an engine that wants to know the nodes that are on their way.
func resumeUpcoming(engine scalehist.Autoscaler, provider *cloudprovider.Provider, now time.Time) {
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
	resumeUpcoming(engine, r.provider, r.now)
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
