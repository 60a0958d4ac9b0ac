package trace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// Input is everything a replay feeds in: the causes. FromHistory takes it from a recording; package workload writes
// it from a script.
type Input struct {
	// Name of the scenario.
	Name string
	// Start and End are instants of the recording (UTC).
	Start, End time.Time

	// Initial is the cluster at Start: objects, nodes, and the pods that have a place, in the order they were created.
	Initial []scalehist.Change
	// Changes are the causes after Start in recorded order; pods that were pending at Start come first, with At = Start.
	Changes []scalehist.Change

	// Autoscalers are what configures controllers of workloads at Start (HorizontalPodAutoscalers, VerticalPodAutoscalers and their
	// checkpoints, LimitRanges), each kind in the order it was created, and AutoscalerChanges what of it changed later.
	Autoscalers       []scalehist.Object
	AutoscalerChanges []scalehist.Change

	// NodeGroups at Start, by name; TargetSize is the number of nodes there are, or were asked for.
	NodeGroups []scalehist.NodeGroup
	// GroupChanges are recorded changes of bounds, templates and options, and groups that come and go.
	GroupChanges []GroupChange
	// WorkerPools and MachineDeployments are the provider's objects at Start, where they were recorded.
	WorkerPools        []scalehist.WorkerPool
	MachineDeployments []scalehist.MachineDeployment
	// Settings of the autoscaler at Start and the changes after it.
	Settings        scalehist.CASettings
	SettingsChanges []scalehist.SettingsChange

	// ProvisionDelays by group, as recorded; a group that is absent takes the default.
	ProvisionDelays map[string]time.Duration
	// DeletionDelay is the time from DeleteNodes to the node being gone, as recorded; nil takes the default.
	DeletionDelay *time.Duration
	// Terminations are how long pods take to stop, as recorded.
	Terminations Terminations
	// StartUps are how long pods take to be ready, where controllers of workloads count those that are; nil: no time.
	StartUps *StartUps
	// LoopsSeen are instants around Start at which the recorded autoscaler was in a loop, in order; the loops of the replay are in
	// phase with them. AutoscalerStarted is when it started, if that was after Start; zero when it does not show.
	LoopsSeen         []time.Time
	AutoscalerStarted time.Time
	// Faults are node-side causes: stock-outs, refused requests.
	Faults []cloudprovider.Fault
	// NodeFaults are nodes that fail or are taken away.
	NodeFaults []NodeFault
	// MetricFaults are what is wrong with the source of metrics.
	MetricFaults []load.Fault
	// GroupOptions by group are autoscaling options beside those of NodeGroups, and before them. GPULabel marks nodes with GPUs
	// and names their type; empty: that of the provider that nodes and flags show. ResourceLimits are the provider's own [min,
	// max] over the cluster, as cloudprovider.Options has them. A recording gives none of the three: its groups have their
	// options with them, and the limits are flags.
	GroupOptions   map[string]cloudprovider.GroupOptions
	GPULabel       string
	ResourceLimits map[string][2]int64
	// StaticPods by group run on every node of it, new ones too.
	StaticPods map[string][]*corev1.Pod

	// RecordedNodes say, by UID, where each pod really ran, Deletions when it really went.
	RecordedNodes map[types.UID]string
	Deletions     map[types.UID]time.Time
	// Requested are, by group, when the nodes were asked for that are on their way at Start.
	Requested map[string][]time.Time
	// Truth is what really happened; nil when nobody recorded it.
	Truth *scalehist.RecordedTruth
	// Origin says what the recording is evidence of; empty without one.
	Origin scalehist.Origin

	// waits are the recorded waits of pods for a node; nil when nobody recorded them.
	waits []recordedDemand

	// Warnings say what the recording could not tell apart.
	Warnings []string
	// GivenDelays names the groups whose delay was overridden.
	GivenDelays []string
	// Hashes of the files behind it.
	Hashes []scalehist.InputHash
}

// GroupChange is a recorded change of a node group.
type GroupChange struct {
	At time.Time
	// Op is OpUpdate (also "") for new bounds, template or options; OpAdd for a group that comes, with the target size it comes
	// with; OpDelete for one that is gone from then on.
	Op    scalehist.Op
	Group scalehist.NodeGroup
	// Keep names the nodes that outlive a group that goes; all others go with it.
	Keep []string
}

// Check refuses an input no replay could make sense of.
func (in *Input) Check() error {
	if !in.Start.Before(in.End) {
		return fmt.Errorf("window is empty: it starts at %s and ends at %s",
			in.Start.Format(time.RFC3339Nano), in.End.Format(time.RFC3339Nano))
	}
	if len(in.AllGroups()) == 0 {
		return fmt.Errorf("no node groups at %s: nothing could scale; record them (scalehist record --node-groups) or import a log with kind NodeGroup",
			in.Start.Format(time.RFC3339))
	}
	if err := checkSizes(in.AllGroups()); err != nil {
		return err
	}
	for i := 1; i < len(in.Changes); i++ {
		if in.Changes[i].At.Before(in.Changes[i-1].At) {
			return fmt.Errorf("change %d is at %s, before the one in front of it", i, in.Changes[i].At.Format(time.RFC3339Nano))
		}
	}
	return nil
}

// checkSizes refuses groups of which no cluster could have the nodes: a replay makes an object for each.
func checkSizes(groups []scalehist.NodeGroup) error {
	nodes := 0
	for _, g := range groups {
		asked := max(g.TargetSize, g.MinSize)
		if asked < 0 || asked > v1alpha1.MaxNodes {
			return fmt.Errorf("node group %s: min size %d and target size %d: want 0 to %d", g.Name, g.MinSize, g.TargetSize, v1alpha1.MaxNodes)
		}
		if nodes += asked; nodes > v1alpha1.MaxNodes {
			return fmt.Errorf("the node groups up to %s ask for %d nodes: a replay has at most %d: choose another window, or cut the groups from the log",
				g.Name, nodes, v1alpha1.MaxNodes)
		}
	}
	return nil
}

// Group finds a node group by name, of the start or that comes later.
func (in *Input) Group(name string) (*scalehist.NodeGroup, error) {
	i := slices.IndexFunc(in.NodeGroups, func(g scalehist.NodeGroup) bool { return g.Name == name })
	if i < 0 {
		if c := in.groupChange(name); c != nil {
			return &c.Group, nil
		}
		return nil, fmt.Errorf("unknown node group %q: there are %s", name, strings.Join(groupNames(in.AllGroups()), ", "))
	}
	return &in.NodeGroups[i], nil
}

func groupNames(groups []scalehist.NodeGroup) []string {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.Name
	}
	slices.Sort(names)
	return names
}

// InitialNodes are the nodes at the start.
func (in *Input) InitialNodes() []*corev1.Node {
	var out []*corev1.Node
	for _, ch := range in.Initial {
		if n, ok := ch.Object.(*corev1.Node); ok {
			out = append(out, n)
		}
	}
	return out
}
