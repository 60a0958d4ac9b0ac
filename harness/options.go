package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// Env is what an engine gets to build an autoscaler with.
type Env struct {
	// Cluster and Provider are what it may see and act through.
	Cluster  scalehist.Cluster
	Provider *cloudprovider.Provider
	// Settings are the recorded ones as of the instant, with the overrides of the scenario appended to the flags.
	Settings scalehist.CASettings
	// Seed chooses among the runs an engine with chance in it could have had; each seed gives the same run every time.
	Seed int64
	// NamelessTies: what an engine leaves to chance must not depend on what names hash to (TiesByCreation).
	NamelessTies bool
	// NodesAsStored: see TiesUpstream.
	NodesAsStored bool
	// InForce tells the report what the engine made of Settings, if it changed them.
	InForce func(scalehist.CASettings)
	// Warn puts a line into the report: a flag that is not modelled, say.
	Warn func(string)
}

// NewAutoscaler builds an autoscaler. It is called at the start of a replay and again, as the real one restarts, when
// recorded settings change.
type NewAutoscaler func(Env) (scalehist.Autoscaler, error)

// Ties says how ties between equals are broken.
type Ties string

const (
	// TiesUpstream, the default, leaves nodes of equal score to the scheduler's own order, and looks at nodes for removal as Go walks
	// the map that upstream keeps them in. It is nearest to the real components.
	TiesUpstream Ties = "upstream"
	// TiesByHash breaks ties by hashes of names: pods spread over equal nodes as by chance, whatever was scheduled before.
	TiesByHash Ties = "hash"
	// TiesByCreation breaks ties by creation and by the order of names: histories that differ in names only, and sort
	// alike, replay alike.
	TiesByCreation Ties = "creation"
)

// TiesKinds lists the ways to break ties, the default first.
var TiesKinds = []Ties{TiesUpstream, TiesByHash, TiesByCreation}

// tieBreaks are what the ways to break ties mean to the scheduler.
var tieBreaks = map[Ties]profile.TieBreak{TiesByHash: profile.TiesByHash, TiesByCreation: profile.TiesByCreation, TiesUpstream: profile.TiesUpstream}

// Observer sees a replay from inside; a fixture maker records through it. Any method may be nil.
type Observer struct {
	// Started is called once the cluster stands, before the first step.
	Started func(ctx context.Context, now time.Time, plane kvcl.ControlPlane, provider *cloudprovider.Provider) error
	// Stepping is called before each step of the loop, with the instant it moves to; Stepped once it has settled;
	// Decided after each autoscaler loop.
	Stepping func(ctx context.Context, now time.Time) error
	Decided  func(ctx context.Context, d scalehist.Decision) error
	Stepped  func(ctx context.Context, now time.Time) error
}

// Progress is what a live view shows.
type Progress struct {
	// Now is virtual time, which goes from Start to End.
	Now, Start, End time.Time
	// Nodes counts the nodes there are, Pending the pods the scheduler has found no node for.
	Nodes, Pending int
	// LastDecision is the summary of the last loop that mattered.
	LastDecision string
	// LastAction is the last decision that asked anything of the cloud provider or began to remove a node, nil before there is
	// one. It is to be read only.
	LastAction *scalehist.Decision
	// Groups are the node groups with their target sizes as of Now, in name order. It may be called until the callback returns.
	Groups func() []scalehist.NodeGroup
}

// Option changes how a scenario is replayed.
type Option func(*options)

type options struct {
	name            string
	window          trace.Window
	autoscaler      NewAutoscaler
	flags           []string
	batch           *time.Duration
	scoring         profile.Scoring
	plane           ControlPlaneFunc
	planeName       string
	prices          *cloudprovider.PriceTable
	faults          []trace.Fault
	recordedFaults  bool
	defaultDelay    *time.Duration
	deletionDelay   *time.Duration
	termination     *time.Duration
	delays          map[string]time.Duration
	bounds          map[string][2]int
	gpuLabel        string
	seed            int64
	ties            Ties
	signs           bool
	observer        Observer
	progress        func(Progress)
	fullSnapshots   bool
	moments         bool
	skipUnsupported bool
	noScaleDown     bool
	eventReport     func(n int, r *scalehist.ReplayReport) error
}

func resolve(opts []Option) options {
	o := options{recordedFaults: true, seed: DefaultSeed, planeName: DefaultControlPlane(), ties: TiesUpstream, delays: map[string]time.Duration{}, bounds: map[string][2]int{}}
	for _, opt := range opts {
		opt(&o)
	}
	if o.noScaleDown { // after WithFlags, wherever it was given: the last of a name wins
		o.flags = append(o.flags, "--scale-down-enabled=false")
	}
	return o
}

func (o options) check() error {
	if o.autoscaler == nil {
		return errors.New("no autoscaler: pass harness.WithAutoscaler, for example engines.ClusterAutoscaler()")
	}
	if err := o.checkPlane(); err != nil {
		return err
	}
	if !slices.Contains(TiesKinds, o.ties) {
		return fmt.Errorf("ties %q: choose hash, creation or upstream", o.ties)
	}
	if o.batch != nil && *o.batch < 0 {
		return fmt.Errorf("batch interval %s is negative", *o.batch)
	}
	return nil
}

// WithName names the scenario in reports; the default is the history's name.
func WithName(name string) Option { return func(o *options) { o.name = name } }

// WithWindow replays only a part of the recording. Zero bounds are the recording's own.
func WithWindow(w trace.Window) Option { return func(o *options) { o.window = w } }

// WithAutoscaler sets the engine.
func WithAutoscaler(a NewAutoscaler) Option { return func(o *options) { o.autoscaler = a } }

// WithFlags overrides recorded autoscaler flags ("--expander=most-pods"): the last of a name wins.
func WithFlags(flags ...string) Option {
	return func(o *options) { o.flags = append(o.flags, flags...) }
}

// WithoutScaleDown keeps the autoscaler from removing nodes, whatever was recorded or other options say: its own setting
// --scale-down-enabled is false. Engines that do not know the setting are as they were.
func WithoutScaleDown() Option { return func(o *options) { o.noScaleDown = true } }

// WithEventReports hands over a report of each event of ReplayEvents and ReplaySnapshots, in order, n from 1: what joined and who
// was placed, from the moment before the decision until then. An error ends the playback.
func WithEventReports(f func(n int, r *scalehist.ReplayReport) error) Option {
	return func(o *options) { o.eventReport = f }
}

// WithBatchInterval rounds recorded changes up: all those up to a boundary enter at the boundary. By default each enters at its
// own instant, as 0 says.
func WithBatchInterval(d time.Duration) Option { return func(o *options) { o.batch = &d } }

// WithScoring chooses the scheduler's scoring profile.
func WithScoring(s profile.Scoring) Option { return func(o *options) { o.scoring = s } }

// WithPrices adds costs to the report and lets the price expander run.
func WithPrices(p *cloudprovider.PriceTable) Option { return func(o *options) { o.prices = p } }

// WithFaults adds faults, of groups and of nodes. Their times may be offsets from the start of the window.
func WithFaults(f ...trace.Fault) Option {
	return func(o *options) { o.faults = append(o.faults, f...) }
}

// WithRecordedFaults says whether recorded failures to deliver nodes, and recorded losses of nodes, happen again; the
// default is true.
func WithRecordedFaults(on bool) Option { return func(o *options) { o.recordedFaults = on } }

// WithDefaultProvisionDelay is the provision delay of groups whose delay was not recorded; the default is
// cloudprovider.DefaultProvisionDelay.
func WithDefaultProvisionDelay(d time.Duration) Option {
	return func(o *options) { o.defaultDelay = &d }
}

// WithProvisionDelay overrides the provision delay of one group.
func WithProvisionDelay(group string, d time.Duration) Option {
	return func(o *options) { o.delays[group] = d }
}

// WithDeletionDelay sets the time from the deletion of a node to the node being gone, its pods with it; the default is the
// recorded one, else cloudprovider.DefaultDeletionDelay.
func WithDeletionDelay(d time.Duration) Option { return func(o *options) { o.deletionDelay = &d } }

// WithTermination sets how long pods go on running once they are evicted or deleted; the default is as recorded, else
// virtual.AssumedTermination.
func WithTermination(d time.Duration) Option { return func(o *options) { o.termination = &d } }

// WithNodeGroupBounds overrides the min and max size of one group.
func WithNodeGroupBounds(group string, minSize, maxSize int) Option {
	return func(o *options) { o.bounds[group] = [2]int{minSize, maxSize} }
}

// WithGPULabel names the node label that marks nodes with GPUs and names their type, by which --gpu-total counts; the default is
// that of the provider the recording shows.
func WithGPULabel(label string) Option { return func(o *options) { o.gpuLabel = label } }

// DefaultSeed is the seed of a replay that is not given one; none is better than another (docs/truth.md).
const DefaultSeed = 0

// WithSeed chooses what an autoscaler leaves to chance, the order in which it lists pods for one. The default is DefaultSeed.
func WithSeed(seed int64) Option { return func(o *options) { o.seed = seed } }

// WithTies says how the scheduler and the autoscaler break ties between equals; the default is TiesUpstream.
func WithTies(t Ties) Option { return func(o *options) { o.ties = t } }

// WithSigns lets the autoscaler write into the virtual cluster what tools that watch a cluster-autoscaler look at: the
// status ConfigMap (kube-system/cluster-autoscaler-status) whenever it says something new, and events with upstream's texts,
// in virtual time. Nothing decides by them, and they cost writes, so the default is none; recordings of fixtures have them.
func WithSigns() Option { return func(o *options) { o.signs = true } }

// WithObserver lets the caller see the replay from inside.
func WithObserver(obs Observer) Option { return func(o *options) { o.observer = obs } }

// WithProgress reports progress after each step.
func WithProgress(f func(Progress)) Option { return func(o *options) { o.progress = f } }

// WithFullSnapshots keeps whole pods and nodes in the report's start and end snapshots, and the moments of WithMoments.
func WithFullSnapshots() Option {
	return func(o *options) { o.fullSnapshots, o.moments = true, true }
}

// WithMoments keeps in the report the clusters about which it was decided while pods had no node, whole: for ReplaySnapshots, and for
// whoever judges the decisions.
func WithMoments() Option { return func(o *options) { o.moments = true } }

// WithoutUnsupported replays a window although pods in it use what no control plane here has (trace.UnsupportedError): those that
// have a node stay there without it, the others are left out. The report warns of them. The default is an error.
func WithoutUnsupported() Option { return func(o *options) { o.skipUnsupported = true } }

// apply carries the options that change an input over to it.
func (o options) apply(in *trace.Input) error {
	if o.name != "" {
		in.Name = o.name
	}
	if o.skipUnsupported {
		in.LeaveOutUnsupported()
	}
	if err := in.Supported(); err != nil {
		return err
	}
	if !o.recordedFaults {
		in.DropRecordedFaults()
	}
	for _, f := range o.faults {
		if err := in.AddFault(f); err != nil {
			return fmt.Errorf("fault %s: %w", f, err)
		}
	}
	if o.deletionDelay != nil {
		in.DeletionDelay = o.deletionDelay
	}
	if o.termination != nil {
		in.Terminations = trace.Terminations{Median: o.termination}
	}
	if in.ProvisionDelays == nil {
		in.ProvisionDelays = map[string]time.Duration{}
	}
	for name, d := range o.delays {
		if _, err := in.Group(name); err != nil {
			return fmt.Errorf("provision delay: %w", err)
		}
		in.ProvisionDelays[name] = d
		in.GivenDelays = append(in.GivenDelays, name)
	}
	for name, b := range o.bounds {
		g, err := in.Group(name)
		if err != nil {
			return fmt.Errorf("bounds: %w", err)
		}
		g.MinSize, g.MaxSize, g.GuessedMax = b[0], b[1], false
		for i := range in.GroupChanges {
			if c := &in.GroupChanges[i].Group; c.Name == name {
				c.MinSize, c.MaxSize, c.GuessedMax = b[0], b[1], false
			}
		}
	}
	return nil
}
