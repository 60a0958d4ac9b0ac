package harness

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/prices"
)

// Settings are what may differ from the recording when it is replayed: the flags of 'scalehist replay', the keys of a scenario file, and what
// specs change through With. The zero value replays as recorded, with the default that each field states. The descriptions are those of
// the published schema of scenario files.
type Settings struct {
	Name     string        `yaml:"name,omitempty" jsonschema_description:"Name, unique among the scenarios that run together; its files go into gen/NAME. Default: the file's name, where it has one scenario."`
	Window   Window        `yaml:"window,omitempty" jsonschema_description:"The part of the recording to replay. Default: all of it."`
	For      time.Duration `yaml:"for,omitempty" jsonschema_description:"Virtual time to play from the start of the window; may go past its end. Default: the window."`
	Playback string        `yaml:"playback,omitempty" jsonschema:"enum=continuous,enum=per-event" jsonschema_description:"continuous (default), or per-event: each recorded scale-up decided again from the moment before it."`

	// Autoscaler is a name; which engine that is, the caller knows (WithAutoscaler).
	Autoscaler  string          `yaml:"autoscaler,omitempty" jsonschema_description:"The engine: virtualca (default), recommender, recommender:STRATEGY, the URL of a recommender, or exec:PATH, a cluster-autoscaler binary."`
	Flags       []string        `yaml:"flags,omitempty" jsonschema_description:"Autoscaler flags that override the recorded ones: --expander=most-pods. The last of a name wins."`
	NoScaleDown bool            `yaml:"noScaleDown,omitempty" jsonschema_description:"Keep the autoscaler from removing nodes, whatever was recorded or flags say. Engines that do not know --scale-down-enabled are as they were."`
	Seed        int64           `yaml:"seed,omitempty" jsonschema_description:"What the real autoscaler leaves to chance: each seed is one of its possible runs. Default: 0."`
	Ties        Ties            `yaml:"ties,omitempty" jsonschema:"enum=upstream,enum=hash,enum=creation" jsonschema_description:"How ties between equals are broken: upstream (default), hash, or creation."`
	Scheduler   profile.Scoring `yaml:"scheduler,omitempty" jsonschema:"enum=default,enum=bin-packing" jsonschema_description:"Scoring of the scheduler."`

	Speed float64 `yaml:"speed,omitempty" jsonschema:"minimum=1" jsonschema_description:"How many times faster than real time an autoscaler is played that is a program of its own (exec:PATH). Above 1 its durations are divided, which distorts what it does: docs/out-of-tree.md. Default: 1."`

	// Vertical is the name of the controller of requests, which the caller knows (WithController); it acts before that of replicas.
	Vertical      string   `yaml:"vertical,omitempty" jsonschema_description:"What sets the requests of workloads, by VerticalPodAutoscalers: vpa, another recommender with options (max-usage:margin=0.3), or recorded. Default: requests are as recorded."`
	VerticalFlags []string `yaml:"verticalFlags,omitempty" jsonschema_description:"Flags of the vertical autoscaler, as its recommender, updater and admission controller take them: --target-cpu-percentile=0.8."`
	// Horizontal is the name of the controller of replicas; Recorded is known here, others to the caller (WithController).
	Horizontal string `yaml:"horizontal,omitempty" jsonschema_description:"What sets the replicas of workloads: hpa (HorizontalPodAutoscalers), elasti (ElastiServices), keda (ScaledObjects), or recorded. Default: pods come and go as recorded."`
	Objects    string `yaml:"objects,omitempty" jsonschema_description:"File (YAML) with the objects that configure controllers: HorizontalPodAutoscalers, VerticalPodAutoscalers, their checkpoints, LimitRanges, ElastiServices. They stand for the recorded ones of their kinds."`
	Load       string `yaml:"load,omitempty" jsonschema_description:"File (YAML) with the work that workloads do over time, which controllers see as metrics."`

	ControlPlane    string         `yaml:"controlPlane,omitempty" jsonschema:"enum=envtest,enum=memory" jsonschema_description:"What the virtual cluster runs on: memory (default; the API server's registries), or envtest (a real API server). The report is the same."`
	BatchInterval   time.Duration  `yaml:"batchInterval,omitempty" jsonschema_description:"Let recorded changes enter at these boundaries: all those up to one enter at it. Default: each at its own instant."`
	ProvisionDelay  *time.Duration `yaml:"provisionDelay,omitempty" jsonschema_description:"Time from a request to the Ready node, for groups whose delay was not recorded."`
	DeletionDelay   *time.Duration `yaml:"deletionDelay,omitempty" jsonschema_description:"Time from the deletion of a node to the node being gone, its pods with it. Default: the recorded one."`
	Termination     *time.Duration `yaml:"termination,omitempty" jsonschema_description:"How long pods go on running once they are evicted or deleted. Default: as recorded."`
	GPULabel        string         `yaml:"gpuLabel,omitempty" jsonschema_description:"Node label that marks nodes with GPUs and names their type, for --gpu-total. Default: that of the provider the recording shows."`
	Signs           bool           `yaml:"signs,omitempty" jsonschema_description:"Let the autoscaler write its status ConfigMap and events into the virtual cluster, for tools that watch it."`
	SkipUnsupported bool           `yaml:"skipUnsupported,omitempty" jsonschema_description:"Replay although pods use what no control plane here has: they are left out, or stay without it."`
	FullSnapshots   bool           `yaml:"fullSnapshots,omitempty" jsonschema_description:"Keep whole objects in the report: of its start, its end and each decision about waiting pods."`
	Optimal         bool           `yaml:"optimal,omitempty" jsonschema_description:"Tell of each scale-up how far it was from the cheapest one for the same pods: the metric optimal.distance."`

	NodeGroups     map[string]GroupSettings `yaml:"nodeGroups,omitempty" jsonschema_description:"What is different about single node groups."`
	Faults         []trace.Fault            `yaml:"faults,omitempty" jsonschema_description:"What goes wrong: each a line as 'scalehist replay --fault' takes it, or the same words as fields."`
	FaultFile      string                   `yaml:"faultFile,omitempty" jsonschema_description:"File (YAML) with more faults."`
	RecordedFaults *bool                    `yaml:"recordedFaults,omitempty" jsonschema_description:"Let recorded failures to deliver nodes, and recorded losses of nodes, happen again. Default: true."`
	Prices         *Prices                  `yaml:"prices,omitempty" jsonschema_description:"What nodes cost: a price table (YAML), or public, the shipped list; with fields where a region or a price model must be chosen. Adds costs, and lets the price expander run."`
}

// DefaultSeed is the seed of a replay that is not given one; none is better than another (docs/truth.md).
const DefaultSeed = 0

// Window is a part of a recording. Moments that are not set are the recording's own bounds.
type Window struct {
	From Moment `yaml:"from,omitempty" jsonschema_description:"Start: an instant (2024-05-28T10:00:00Z), or an offset from the start (+5m) or the end (-10m) of the recording."`
	To   Moment `yaml:"to,omitempty" jsonschema_description:"End, written alike."`
}

// Moment is an instant of a recording, or an offset from its start or its end.
type Moment = moment.Moment

// Between is the window between two instants; a zero one is the recording's own.
func Between(from, to time.Time) Window { return Window{From: moment.At(from), To: moment.At(to)} }

// resolve is the window of a recording with that span.
func (w Window) resolve(start, end time.Time) (out trace.Window, err error) {
	if out.From, err = w.From.Resolve(start, end, start); err != nil {
		return out, &WindowError{"from", err}
	}
	if out.To, err = w.To.Resolve(start, end, end); err != nil {
		return out, &WindowError{"to", err}
	}
	return out, nil
}

// WindowError says which bound of a window, "from" or "to", is outside of the recording.
type WindowError struct {
	Bound string
	Err   error
}

// Error implements error.
func (e *WindowError) Error() string { return "window." + e.Bound + ": " + e.Err.Error() }

// Unwrap implements errors.Unwrap.
func (e *WindowError) Unwrap() error { return e.Err }

// GroupSettings are what is different about one node group.
type GroupSettings struct {
	// MinSize and MaxSize go together.
	MinSize        *int           `yaml:"minSize,omitempty" jsonschema:"minimum=0" jsonschema_description:"Fewest nodes; goes with maxSize."`
	MaxSize        *int           `yaml:"maxSize,omitempty" jsonschema:"minimum=0" jsonschema_description:"Most nodes; goes with minSize."`
	ProvisionDelay *time.Duration `yaml:"provisionDelay,omitempty" jsonschema_description:"Time from a request to the Ready node."`
	PriceModel     string         `yaml:"priceModel,omitempty" jsonschema:"enum=on-demand,enum=spot,enum=reserved" jsonschema_description:"What its nodes cost; goes with prices."`
}

// SetGroup changes the settings of one node group.
func (s *Settings) SetGroup(name string, change func(*GroupSettings)) {
	g := s.NodeGroups[name]
	change(&g)
	groups := maps.Clone(s.NodeGroups)
	if groups == nil {
		groups = map[string]GroupSettings{}
	}
	groups[name] = g
	s.NodeGroups = groups
}

// SetBounds changes the min and max size of one node group.
func (s *Settings) SetBounds(name string, minSize, maxSize int) {
	s.SetGroup(name, func(g *GroupSettings) { g.MinSize, g.MaxSize = &minSize, &maxSize })
}

// SetProvisionDelay changes the time from a request to the Ready node of one node group.
func (s *Settings) SetProvisionDelay(name string, d time.Duration) {
	s.SetGroup(name, func(g *GroupSettings) { g.ProvisionDelay = &d })
}

// bounds are the sizes that are given, by group.
func (s *Settings) bounds() map[string][2]int {
	out := map[string][2]int{}
	for name, g := range s.NodeGroups {
		if g.MinSize != nil && g.MaxSize != nil {
			out[name] = [2]int{*g.MinSize, *g.MaxSize}
		}
	}
	return out
}

// Prices say what nodes cost.
type Prices struct {
	Table  string `yaml:"table" jsonschema:"required,minLength=1" jsonschema_description:"The price table (YAML), or public, the shipped list."`
	Region string `yaml:"region,omitempty" jsonschema_description:"Region of the table, or provider/region; needed when it has several."`
	Model  string `yaml:"model,omitempty" jsonschema:"enum=on-demand,enum=spot,enum=reserved" jsonschema_description:"What nodes cost that are not spot nodes by their labels. Default: on-demand."`
}

// PriceTable reads the table that is asked for, nil when none is. path finds a file that the settings name.
func (s *Settings) PriceTable(path func(string) string) (*prices.Table, error) {
	if s.Prices == nil || s.Prices.Table == "" {
		return nil, nil
	}
	selection := prices.Selection{Region: s.Prices.Region}
	var err error
	if s.Prices.Model != "" {
		if selection.Model, err = prices.ParseModel(s.Prices.Model); err != nil {
			return nil, fmt.Errorf("model: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.NodeGroups)) {
		if s.NodeGroups[name].PriceModel == "" {
			continue
		}
		model, err := prices.ParseModel(s.NodeGroups[name].PriceModel)
		if err != nil {
			return nil, fmt.Errorf("price model of %s: %w", name, err)
		}
		if selection.GroupModels == nil {
			selection.GroupModels = map[string]prices.Model{}
		}
		selection.GroupModels[name] = model
	}
	file := s.Prices.Table
	if file != prices.Shipped {
		file = path(file)
	}
	data, err := prices.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%w: give a price table, or %q for the shipped list", err, prices.Shipped)
	}
	parsed, err := prices.ParseFile(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Prices.Table, err)
	}
	table, err := parsed.Select(selection)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Prices.Table, err)
	}
	return table, nil
}

// AllFaults are the faults of FaultFile and those of Faults after them. path finds the file.
func (s *Settings) AllFaults(path func(string) string) ([]trace.Fault, error) {
	if s.FaultFile == "" {
		return s.Faults, nil
	}
	data, err := os.ReadFile(path(s.FaultFile))
	if err != nil {
		return nil, err
	}
	faults, err := trace.ParseFaults(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.FaultFile, err)
	}
	return append(faults, s.Faults...), nil
}

// check refuses what no replay could do.
func (s *Settings) check() error {
	switch {
	case s.Ties != "" && !slices.Contains(TiesKinds, s.Ties):
		return fmt.Errorf("ties %q: choose hash, creation or upstream", s.Ties)
	case s.Speed != 0 && (s.Speed < 1 || s.Speed > maxSpeed || math.IsNaN(s.Speed)):
		return fmt.Errorf("speed %g: want 1 to %d", s.Speed, maxSpeed)
	case s.BatchInterval < 0:
		return fmt.Errorf("batch interval %s is negative", s.BatchInterval)
	case s.FaultFile != "":
		return errors.New("a fault file is read before a replay (Settings.AllFaults)")
	}
	return nil
}

// apply carries out what changes an input.
func (s *Settings) apply(in *trace.Input) error {
	if s.Name != "" {
		in.Name = s.Name
	}
	if s.SkipUnsupported {
		in.LeaveOutUnsupported()
	}
	if err := in.Supported(); err != nil {
		return err
	}
	if s.RecordedFaults != nil && !*s.RecordedFaults {
		in.DropRecordedFaults()
	}
	for _, f := range s.Faults {
		if err := in.AddFault(f); err != nil {
			return fmt.Errorf("fault %s: %w", f, err)
		}
	}
	if s.DeletionDelay != nil {
		in.DeletionDelay = s.DeletionDelay
	}
	if s.Termination != nil {
		in.Terminations = trace.Terminations{Median: s.Termination}
	}
	if in.ProvisionDelays == nil {
		in.ProvisionDelays = map[string]time.Duration{}
	}
	for _, name := range slices.Sorted(maps.Keys(s.NodeGroups)) {
		if err := s.NodeGroups[name].apply(in, name); err != nil {
			return err
		}
	}
	return nil
}

func (s GroupSettings) apply(in *trace.Input, name string) error {
	if s.ProvisionDelay != nil {
		if _, err := in.Group(name); err != nil {
			return fmt.Errorf("provision delay: %w", err)
		}
		in.ProvisionDelays[name] = *s.ProvisionDelay
		in.GivenDelays = append(in.GivenDelays, name)
	}
	if s.MinSize == nil || s.MaxSize == nil {
		return nil
	}
	g, err := in.Group(name)
	if err != nil {
		return fmt.Errorf("bounds: %w", err)
	}
	bound := func(g *scalehist.NodeGroup) { g.MinSize, g.MaxSize, g.GuessedMax = *s.MinSize, *s.MaxSize, false }
	bound(g)
	for i := range in.GroupChanges {
		if c := &in.GroupChanges[i].Group; c.Name == name {
			bound(c)
		}
	}
	return nil
}
