package scenario

import (
	"github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/harness/trace"
)

// Scenario is one replay and what should come of it. The descriptions are those of the published schema.
type Scenario struct {
	Name        string `yaml:"name,omitempty" jsonschema_description:"Name, unique among the scenarios that run together; its files go into gen/NAME. Default: the file's name, where it has one scenario."`
	Description string `yaml:"description,omitempty" jsonschema_description:"What it is about, for readers."`
	History     string `yaml:"history" jsonschema:"required,minLength=1" jsonschema_description:"The history to replay (.db). Relative paths start at this file's directory."`
	Window      Window `yaml:"window,omitempty" jsonschema_description:"The part of the recording to replay. Default: all of it."`
	For         Span   `yaml:"for,omitempty" jsonschema_description:"Virtual time to play from the start of the window; may go past its end. Default: the window."`
	Playback    string `yaml:"playback,omitempty" jsonschema:"enum=continuous,enum=per-event" jsonschema_description:"continuous (default), or per-event: each recorded scale-up decided anew from the moment before it."`

	Autoscaler  string   `yaml:"autoscaler,omitempty" jsonschema_description:"The engine: virtualca (default), recommender, recommender:STRATEGY, or the URL of a recommender."`
	Flags       []string `yaml:"flags,omitempty" jsonschema_description:"Autoscaler flags that override the recorded ones: --expander=most-pods."`
	NoScaleDown bool     `yaml:"noScaleDown,omitempty" jsonschema_description:"Keep the autoscaler from removing nodes, whatever was recorded."`
	Seed        *int64   `yaml:"seed,omitempty" jsonschema_description:"What the real autoscaler leaves to chance: each seed is one of its possible runs."`
	Ties        string   `yaml:"ties,omitempty" jsonschema:"enum=hash,enum=creation,enum=upstream" jsonschema_description:"How ties between equals are broken: hash (default), creation, or upstream."`
	Scheduler   string   `yaml:"scheduler,omitempty" jsonschema:"enum=default,enum=bin-packing" jsonschema_description:"Scoring of the scheduler."`

	ControlPlane    string `yaml:"controlPlane,omitempty" jsonschema:"enum=envtest,enum=memory" jsonschema_description:"What the virtual cluster runs on: memory (default; the API server's registries), or envtest (a real API server). The report is the same."`
	BatchInterval   *Span  `yaml:"batchInterval,omitempty" jsonschema_description:"Feed recorded changes in at these boundaries; 0s: each at its instant. Default: the autoscaler's scan interval."`
	ProvisionDelay  *Span  `yaml:"provisionDelay,omitempty" jsonschema_description:"Time from a request to the Ready node, for groups whose delay was not recorded."`
	DeletionDelay   *Span  `yaml:"deletionDelay,omitempty" jsonschema_description:"Time from the deletion of a node to the node being gone. Default: the recorded one."`
	GPULabel        string `yaml:"gpuLabel,omitempty" jsonschema_description:"Node label that marks nodes with GPUs and names their type, for --gpu-total. Default: that of the provider the recording shows."`
	Signs           bool   `yaml:"signs,omitempty" jsonschema_description:"Let the autoscaler write its status ConfigMap and events into the virtual cluster."`
	SkipUnsupported bool   `yaml:"skipUnsupported,omitempty" jsonschema_description:"Replay although pods use what no control plane here has: they are left out, or stay without it."`
	FullSnapshots   bool   `yaml:"fullSnapshots,omitempty" jsonschema_description:"Keep whole pods, nodes and templates in the report's start and end."`
	Optimal         bool   `yaml:"optimal,omitempty" jsonschema_description:"Tell of each scale-up how far it was from the cheapest one for the same pods: the metric optimal.distance."`

	NodeGroups     map[string]NodeGroup `yaml:"nodeGroups,omitempty" jsonschema_description:"What is different about single node groups."`
	Faults         []Fault              `yaml:"faults,omitempty" jsonschema_description:"What goes wrong: each a line as 'scalehist replay --fault' takes it, or the same words as fields."`
	FaultFile      string               `yaml:"faultFile,omitempty" jsonschema_description:"File (YAML) with more faults."`
	RecordedFaults *bool                `yaml:"recordedFaults,omitempty" jsonschema_description:"Let recorded failures to deliver nodes, and recorded losses of nodes, happen again. Default: true."`
	Prices         *Prices              `yaml:"prices,omitempty" jsonschema_description:"What nodes cost: a price table (YAML), or public, the shipped list; with fields where a region or a price model must be chosen. Adds costs, and lets the price expander run."`

	Expect Expect `yaml:"expect" jsonschema:"required" jsonschema_description:"What should come of it; one thing at least."`

	// File, Line and Column are where it is written.
	File   string `yaml:"-"`
	Line   int    `yaml:"-"`
	Column int    `yaml:"-"`

	at     map[string]position // of keys, by path: "expect.scaledUp"
	rerun  string
	faults []trace.Fault // those of Faults and FaultFile
}

// Window is a part of a recording: instants, or offsets from its start (+5m) or its end (-10m).
type Window struct {
	From Moment `yaml:"from,omitempty" jsonschema_description:"Start: an instant (2024-05-28T10:00:00Z), or an offset from the start (+5m) or the end (-10m) of the recording."`
	To   Moment `yaml:"to,omitempty" jsonschema_description:"End, written alike."`
}

// NodeGroup overrides what was recorded of a group.
type NodeGroup struct {
	MinSize        *int   `yaml:"minSize,omitempty" jsonschema:"minimum=0" jsonschema_description:"Fewest nodes; goes with maxSize."`
	MaxSize        *int   `yaml:"maxSize,omitempty" jsonschema:"minimum=0" jsonschema_description:"Most nodes; goes with minSize."`
	ProvisionDelay *Span  `yaml:"provisionDelay,omitempty" jsonschema_description:"Time from a request to the Ready node."`
	PriceModel     string `yaml:"priceModel,omitempty" jsonschema:"enum=on-demand,enum=spot,enum=reserved" jsonschema_description:"What its nodes cost; goes with prices."`
}

// Expect is what should come of a replay.
type Expect struct {
	ScaledUp      map[string]Count  `yaml:"scaledUp,omitempty" jsonschema_description:"Nodes each group grew by, counting each granted step. A group that is not named must not have grown; {} is no group; '*' is for all that are not named."`
	ScaledDown    map[string]Count  `yaml:"scaledDown,omitempty" jsonschema_description:"Nodes each group lost, as scaledUp."`
	FinalSizes    map[string]Count  `yaml:"finalSizes,omitempty" jsonschema_description:"Target sizes at the end of the groups that are named; '*' is for all others."`
	Unschedulable *Unschedulable    `yaml:"unschedulable,omitempty" jsonschema_description:"Pods without a node at the end: none, a count, or exactly the pods of a list ('name' in namespace default, or 'namespace/name')."`
	Recording     Recording         `yaml:"recording,omitempty" jsonschema_description:"Whether the replay does as recorded: agrees (groups grew and shrank by as many nodes, and as many pods are left), or differs. With questions: {agrees: [steps, waits]}, {differs: [scaled-up]}."`
	Truth         string            `yaml:"truth,omitempty" jsonschema_description:"File of what a real autoscaler was seen to do with this load (NAME.truth.json): the replay must be one of its runs."`
	Decisions     []Decision        `yaml:"decisions,omitempty" jsonschema_description:"Single decisions of the autoscaler."`
	KeepNodes     *KeepNodes        `yaml:"keepNodes,omitempty" jsonschema_description:"Nodes that must not be removed: a list, or each with a text of the reason."`
	Metrics       map[string]Metric `yaml:"metrics,omitempty" jsonschema_description:"Limits of metrics, in the names and words of a gate's policy: '<= 90s'. 'scalehist gate --explain-metrics' lists them."`
	Cost          *Metric           `yaml:"cost,omitempty" jsonschema_description:"Limit of the cost, in the price table's currency; goes with prices."`
	Golden        string            `yaml:"golden,omitempty" jsonschema_description:"File of the replay's timeline; 'scalehist test --update' writes it."`
}

// Decision is what one decision should have been.
type Decision struct {
	First     string `yaml:"first,omitempty" jsonschema:"enum=scale-up,enum=scale-down" jsonschema_description:"It is about the first scale-up or scale-down. Without first and last: about any decision at the time or loop given."`
	Last      string `yaml:"last,omitempty" jsonschema:"enum=scale-up,enum=scale-down" jsonschema_description:"It is about the last scale-up or scale-down."`
	At        Offset `yaml:"at,omitempty" jsonschema_description:"When: an offset from the start (+20s), or a range of them (+20s..+1m)."`
	Loop      int    `yaml:"loop,omitempty" jsonschema:"minimum=1" jsonschema_description:"The autoscaler's loop, from 1."`
	NodeGroup string `yaml:"nodeGroup,omitempty" jsonschema_description:"The group that was chosen."`
	Nodes     *Count `yaml:"nodes,omitempty" jsonschema_description:"By how many nodes the group changed; without nodeGroup, all groups."`
	Outcome   string `yaml:"outcome,omitempty" jsonschema_description:"Outcome of the scale-up part, in upstream's words."`
	Because   string `yaml:"because,omitempty" jsonschema_description:"A text that the decision's explanation holds, as 'scalehist replay' prints it."`
}

// Count is a number that is wanted, or a range.
type Count struct{ expect.Count }
