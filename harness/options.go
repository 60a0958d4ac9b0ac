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
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/prices"
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
	// InForce records in the report what the engine made of Settings, if it changed them.
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
	// Started is called once the cluster is up, before the first step.
	Started func(ctx context.Context, now time.Time, plane kvcl.ControlPlane, provider *cloudprovider.Provider) error
	// Stepping is called before each step of the loop, with the instant it moves to; Stepped once it has settled;
	// Decided after each autoscaler loop.
	Stepping func(ctx context.Context, now time.Time) error
	Decided  func(ctx context.Context, d scalehist.Decision) error
	Stepped  func(ctx context.Context, now time.Time) error
	// Measured is called before Stepped in a replay with a load: what pods use is read off the meter, until it returns.
	Measured func(ctx context.Context, now time.Time, meter *load.Meter, workloads []scalehist.Workload) error
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

// options are the settings, and what no file and no command line could hold.
type options struct {
	Settings
	autoscaler  NewAutoscaler
	freeRunner  NewFreeRunner
	files       string
	controllers []NewController
	objects     []scalehist.Object
	load        load.Source
	// recordedLoad: load is what was recorded.
	recordedLoad bool
	plane        ControlPlaneFunc
	prices       *prices.Table
	observer     Observer
	progress     func(Progress)
	moments      bool
	eventReport  func(n int, r *scalehist.ReplayReport) error
}

func resolve(opts []Option) options {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.ControlPlane == "" {
		o.ControlPlane = DefaultControlPlane()
	}
	if o.freeRunner != nil && o.ControlPlane == Memory {
		o.ControlPlane, o.plane = EnvTest, nil // a program needs an API server
	}
	if o.Ties == "" {
		o.Ties = TiesUpstream
	}
	if o.NoScaleDown { // behind Flags: the last of a name wins
		o.Flags = append(slices.Clip(o.Flags), "--scale-down-enabled=false")
	}
	o.moments = o.moments || o.FullSnapshots || o.Optimal
	return o
}

func (o options) check() error {
	if err := o.checkFreeRun(); err != nil {
		return err
	}
	if o.autoscaler == nil && o.freeRunner == nil {
		return errors.New("no autoscaler: pass harness.WithAutoscaler, for example engines.ClusterAutoscaler()")
	}
	if err := o.checkPlane(); err != nil {
		return err
	}
	if o.Horizontal != "" && o.Horizontal != Recorded && len(o.controllers) == 0 {
		return fmt.Errorf("horizontal %q: pass harness.WithController, for example engines.Horizontal(%[1]q)", o.Horizontal)
	}
	if o.Vertical != "" && o.Vertical != Recorded && len(o.controllers) == 0 {
		return fmt.Errorf("vertical %q: pass harness.WithController, for example one of engines.Vertical(%[1]q)", o.Vertical)
	}
	if len(o.VerticalFlags) > 0 && o.Vertical == "" {
		return errors.New("there are flags of a vertical autoscaler, but none is chosen (vertical)")
	}
	if scalehist.Playback(o.Playback).SingleMoments() && (o.Vertical != "" || o.Horizontal != "" || len(o.controllers) > 0 || o.load != nil) {
		return fmt.Errorf("playback %s: controllers of workloads and load go with a continuous playback, in which time passes", o.Playback)
	}
	if o.Load != "" && o.load == nil || o.Objects != "" && o.objects == nil {
		return errors.New("files of load and of objects are read before a replay (engines.Controls)")
	}
	if o.Prices != nil && o.prices == nil {
		return errors.New("a price file is read before a replay (Settings.PriceTable, and WithPrices)")
	}
	return o.Settings.check()
}

// WithSettings takes all settings, in place of what options before it have set.
func WithSettings(s Settings) Option { return func(o *options) { o.Settings = s } }

// With changes settings.
func With(change func(*Settings)) Option { return func(o *options) { change(&o.Settings) } }

// WithAutoscaler sets the engine.
func WithAutoscaler(a NewAutoscaler) Option {
	return func(o *options) { o.autoscaler, o.freeRunner = a, nil }
}

// WithFreeRunner sets an engine that is a program of its own. The replay takes place in real time, against a real API server.
func WithFreeRunner(f NewFreeRunner) Option {
	return func(o *options) { o.autoscaler, o.freeRunner = nil, f }
}

// WithFiles names a directory for what programs write, such as their logs, and for the objects in which controllers keep their state
// (KeptName); it is made. Without it nothing is kept.
func WithFiles(dir string) Option { return func(o *options) { o.files = dir } }

// WithController adds a controller of workloads. Those that are due at one instant act in the order in which they were added.
func WithController(c NewController) Option {
	return func(o *options) { o.controllers = append(slices.Clip(o.controllers), c) }
}

// WithObjects adds objects that configure controllers, such as HorizontalPodAutoscalers.
func WithObjects(objects ...scalehist.Object) Option {
	return func(o *options) { o.objects = append(slices.Clip(o.objects), objects...) }
}

// WithLoad sets the work that workloads have to do. Instants are those of the recording.
func WithLoad(s load.Source) Option { return func(o *options) { o.load = s } }

// WithFlags overrides recorded autoscaler flags ("--expander=most-pods"): the last of a name wins.
func WithFlags(flags ...string) Option {
	return With(func(s *Settings) { s.Flags = append(slices.Clip(s.Flags), flags...) })
}

// WithFaults adds faults, of groups and of nodes. Their times may be offsets from the start of the window.
func WithFaults(f ...trace.Fault) Option {
	return With(func(s *Settings) { s.Faults = append(slices.Clip(s.Faults), f...) })
}

// WithBatchInterval sets Settings.BatchInterval.
func WithBatchInterval(d time.Duration) Option {
	return With(func(s *Settings) { s.BatchInterval = d })
}

// WithSeed sets Settings.Seed.
func WithSeed(seed int64) Option { return With(func(s *Settings) { s.Seed = seed }) }

// WithName sets Settings.Name, which names the scenario in reports; the default is the history's name.
func WithName(name string) Option { return With(func(s *Settings) { s.Name = name }) }

// WithProvisionDelay overrides the provision delay of one group.
func WithProvisionDelay(group string, d time.Duration) Option {
	return With(func(s *Settings) { s.SetProvisionDelay(group, d) })
}

// WithPrices adds costs to the report and lets the price expander run.
func WithPrices(p *prices.Table) Option { return func(o *options) { o.prices = p } }

// WithEventReports hands over a report of each event of ReplayEvents and ReplaySnapshots, in order, n from 1: what joined and who
// was placed, from the moment before the decision until then. An error ends the playback.
func WithEventReports(f func(n int, r *scalehist.ReplayReport) error) Option {
	return func(o *options) { o.eventReport = f }
}

// WithObserver lets the caller see the replay from inside.
func WithObserver(obs Observer) Option { return func(o *options) { o.observer = obs } }

// WithProgress reports progress after each step.
func WithProgress(f func(Progress)) Option { return func(o *options) { o.progress = f } }

// WithMoments keeps in the report the clusters about which it was decided while pods had no node, whole: for ReplaySnapshots, and for
// those who judge the decisions. Settings.FullSnapshots and Settings.Optimal keep them too.
func WithMoments() Option { return func(o *options) { o.moments = true } }
