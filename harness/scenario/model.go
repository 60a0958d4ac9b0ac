package scenario

import (
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/expect"
)

// Scenario is one replay and what should come of it. The descriptions are those of the published schema.
type Scenario struct {
	// Settings are what differs from the recording.
	harness.Settings `yaml:",inline"`

	Description string `yaml:"description,omitempty" jsonschema_description:"What it is about, for readers."`
	History     string `yaml:"history" jsonschema:"required,minLength=1" jsonschema_description:"The history to replay (.db). Relative paths start at this file's directory."`

	Expect Expect `yaml:"expect" jsonschema:"required" jsonschema_description:"What should come of it; one thing at least."`

	// File, Line and Column are where it is written.
	File   string `yaml:"-"`
	Line   int    `yaml:"-"`
	Column int    `yaml:"-"`

	at    map[string]position // of keys, by path: "expect.scaledUp"
	rerun string
}

// Expect is what should come of a replay.
type Expect struct {
	ScaledUp      map[string]Count    `yaml:"scaledUp,omitempty" jsonschema_description:"Nodes each group grew by, counting each granted step. A group that is not named must not have grown; {} is no group; '*' is for all that are not named."`
	ScaledDown    map[string]Count    `yaml:"scaledDown,omitempty" jsonschema_description:"Nodes each group lost, as scaledUp."`
	FinalSizes    map[string]Count    `yaml:"finalSizes,omitempty" jsonschema_description:"Target sizes at the end of the groups that are named; '*' is for all others."`
	Unschedulable *Unschedulable      `yaml:"unschedulable,omitempty" jsonschema_description:"Pods without a node at the end: none, a count, or exactly the pods of a list ('name' in namespace default, or 'namespace/name')."`
	Recording     Recording           `yaml:"recording,omitempty" jsonschema_description:"Whether the replay does as recorded: agrees (groups grew and shrank by as many nodes, and as many pods are left), or differs. With questions: {agrees: [steps, waits]}, {differs: [scaled-up]}."`
	Truth         string              `yaml:"truth,omitempty" jsonschema_description:"File of what a real autoscaler was seen to do with this load (NAME.truth.json): the replay must be one of its runs."`
	Workloads     map[string]Workload `yaml:"workloads,omitempty" jsonschema_description:"Replicas and requests of workloads by name: KIND/NAMESPACE/NAME, or NAMESPACE/NAME and NAME where one only is called that. Goes with vertical, horizontal or load."`
	Decisions     []Decision          `yaml:"decisions,omitempty" jsonschema_description:"Single decisions of the autoscaler, and of controllers of workloads."`
	KeepNodes     *KeepNodes          `yaml:"keepNodes,omitempty" jsonschema_description:"Nodes that must not be removed: a list, or each with a text of the reason."`
	Metrics       map[string]Metric   `yaml:"metrics,omitempty" jsonschema_description:"Limits of metrics, in the names and words of a gate's policy: '<= 90s'. 'scalehist gate --explain-metrics' lists them."`
	Cost          *Metric             `yaml:"cost,omitempty" jsonschema_description:"Limit of the cost, in the price table's currency; goes with prices."`
	Golden        string              `yaml:"golden,omitempty" jsonschema_description:"File of the replay's timeline; 'scalehist test --update' writes it."`
}

// Decision is what one decision should have been.
type Decision struct {
	First      string `yaml:"first,omitempty" jsonschema:"enum=scale-up,enum=scale-down" jsonschema_description:"It is about the first scale-up or scale-down. Without first and last: about any decision at the time or loop given."`
	Last       string `yaml:"last,omitempty" jsonschema:"enum=scale-up,enum=scale-down" jsonschema_description:"It is about the last scale-up or scale-down."`
	At         Offset `yaml:"at,omitempty" jsonschema_description:"When: an offset from the start (+20s), or a range of them (+20s..+1m)."`
	Loop       int    `yaml:"loop,omitempty" jsonschema:"minimum=1" jsonschema_description:"The autoscaler's loop, from 1."`
	NodeGroup  string `yaml:"nodeGroup,omitempty" jsonschema_description:"The group that was chosen."`
	Nodes      *Count `yaml:"nodes,omitempty" jsonschema_description:"By how many nodes the group changed; without nodeGroup, all groups."`
	Outcome    string `yaml:"outcome,omitempty" jsonschema_description:"Outcome of the scale-up part, in upstream's words."`
	Controller string `yaml:"controller,omitempty" jsonschema_description:"It is about a decision of this controller of workloads (hpa), not of the node autoscaler; first and last are then of replicas."`
	Workload   string `yaml:"workload,omitempty" jsonschema_description:"It is about a controller's decision about this workload, named as in workloads."`
	Replicas   *Count `yaml:"replicas,omitempty" jsonschema_description:"The replicas that the controller set; goes with controller or workload."`
	Because    string `yaml:"because,omitempty" jsonschema_description:"A text that the decision's explanation holds, as 'scalehist replay' prints it."`
}

// Workload is what a workload should have been: its replicas, and what they ask for.
type Workload struct {
	Final      *Count `yaml:"final,omitempty" jsonschema_description:"Replicas that are wanted at the end."`
	Peak       *Count `yaml:"peak,omitempty" jsonschema_description:"The most replicas that were wanted at any instant."`
	Ready      *Count `yaml:"ready,omitempty" jsonschema_description:"Replicas that are ready at the end."`
	ScaledUp   *Count `yaml:"scaledUp,omitempty" jsonschema_description:"Replicas by which the controller's steps grew it, together."`
	ScaledDown *Count `yaml:"scaledDown,omitempty" jsonschema_description:"Replicas by which the controller's steps shrank it, together."`
	Controller string `yaml:"controller,omitempty" jsonschema_description:"What sets its replicas: hpa."`

	SizedBy      string             `yaml:"sizedBy,omitempty" jsonschema_description:"What sets the requests of its pods: vpa."`
	Requests     map[string]Amounts `yaml:"requests,omitempty" jsonschema_description:"What its containers ask for at the end, by name: the most of any pod."`
	PeakRequests map[string]Amounts `yaml:"peakRequests,omitempty" jsonschema_description:"What its containers ask for at most, at any instant."`
	Slack        *Slack             `yaml:"slack,omitempty" jsonschema_description:"The share of what its pods asked for and did not use: '<= 30%'. Goes with usage, recorded or given by load."`
	Evicted      *Count             `yaml:"evicted,omitempty" jsonschema_description:"Pods that were evicted for other requests."`
	Resized      *Count             `yaml:"resized,omitempty" jsonschema_description:"Pods that were resized in place."`
	OOMKills     *Count             `yaml:"oomKills,omitempty" jsonschema_description:"Containers that were killed because they used more memory than their limit."`
}

// Amounts are what a container should ask for.
type Amounts struct {
	CPU    *Amount `yaml:"cpu,omitempty" jsonschema_description:"Cores: 300m."`
	Memory *Amount `yaml:"memory,omitempty" jsonschema_description:"Bytes: 512Mi."`
}

// Slack are limits of what is asked for and not used.
type Slack struct {
	CPU    Percent `yaml:"cpu,omitempty" jsonschema_description:"Of what was asked for in core-seconds."`
	Memory Percent `yaml:"memory,omitempty" jsonschema_description:"Of what was asked for in byte-seconds."`
}

// Amount is a quantity that is wanted, or a range.
type Amount struct{ expect.Amount }

// Count is a number that is wanted, or a range.
type Count struct{ expect.Count }
