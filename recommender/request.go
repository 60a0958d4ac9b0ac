package recommender

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/simulator/drain"
)

// Recommender answers requests. It may be called from several goroutines at once.
type Recommender interface {
	Recommend(ctx context.Context, r *Request) (*Recommendation, error)
}

// Request is all that a recommendation rests on. Objects are read only.
type Request struct {
	// Now is the instant of the snapshot.
	Now time.Time
	// Objects are the cluster's: nodes, pods, DaemonSets, storage, priorities, budgets, owners. Those of one kind are in the
	// order of their creation, which is the order in which equals are taken.
	Objects *scalehist.Objects
	Terms
	// Parallelism is how many simulations run at once; 0: as many as there are processors. It changes no answer.
	Parallelism int
}

// Terms are what is asked about a cluster. In JSON they are a part of the API's Request.
type Terms struct {
	// NodeGroups may grow and shrink; their order breaks ties. Those among the objects come after them.
	NodeGroups []NodeGroup `json:"nodeGroups,omitempty"`
	// NodeGroupOf names the node group of nodes that do not say it in the annotation scalehist.io/node-group.
	NodeGroupOf map[string]string `json:"nodeGroupOf,omitempty"`
	Constraints Constraints       `json:"constraints,omitzero"`
	// Prices are per hour; without them nothing has a price, and the policies least-cost and weighted are errors.
	Prices *prices.Table `json:"prices,omitempty"`
	// Strategy is one of GET /v1/strategies; the first is the default.
	Strategy string `json:"strategy,omitempty"`
	// Scoring is the policy by which new nodes are compared; least-cost with prices, else least-waste.
	Scoring string `json:"scoring,omitempty"`
	// Weights say what a core, a GiB and a piece of other resources are worth.
	Weights Weights `json:"weights,omitempty"`
}

// NodeGroup is a set of equal nodes that may grow and shrink. Sizes are in nodes.
type NodeGroup struct {
	Name    string `json:"name"`
	MinSize int    `json:"minSize"`
	MaxSize int    `json:"maxSize"`
	// GuessedMax: the limit is not known, and maxSize is the most nodes seen at once. Texts that name the limit say so.
	GuessedMax bool `json:"guessedMax,omitempty"`
	// TargetSize is the number of nodes asked for, those that have not joined yet included.
	TargetSize  int    `json:"targetSize"`
	Zone        string `json:"zone,omitempty"`
	MachineType string `json:"machineType,omitempty"`
	// Template is the node that a scale-up from zero would bring. Where a good node of the group stands it is not read.
	Template *corev1.Node `json:"template,omitempty"`
	// Upcoming names nodes that were asked for and are not among the objects yet. They count in targetSize and take pods.
	Upcoming []string `json:"upcoming,omitempty"`
	// TemplatePods come with every fresh node, beside DaemonSet pods.
	TemplatePods []*corev1.Pod `json:"templatePods,omitempty"`
}

// GroupOf is a cluster's node group, of which a recommendation reads all but its autoscaling options.
func GroupOf(g scalehist.NodeGroup) NodeGroup {
	return NodeGroup{Name: g.Name, MinSize: g.MinSize, MaxSize: g.MaxSize, GuessedMax: g.GuessedMax, TargetSize: g.TargetSize,
		Zone: g.Zone, MachineType: g.MachineType, Template: g.Template}
}

// Constraints bound a recommendation. None bound nothing, and ask for no scale-down.
type Constraints struct {
	// Backoff names groups that may not grow now, and why.
	Backoff map[string]string `json:"backoff,omitempty"`
	// MaxNodesTotal is the most nodes in the cluster, upcoming ones and those outside of groups included; 0: no limit.
	MaxNodesTotal int `json:"maxNodesTotal,omitempty"`
	// Cores and MemoryGiB bound the capacity of all nodes.
	Cores     *Range `json:"cores,omitempty"`
	MemoryGiB *Range `json:"memoryGiB,omitempty"`
	// ExpendablePriorityCutoff: pods of a lower priority ask for nothing and take no room.
	ExpendablePriorityCutoff *int32 `json:"expendablePriorityCutoff,omitempty"`
	// IgnoreMinSize: groups below their min size are not raised to it.
	IgnoreMinSize bool `json:"ignoreMinSize,omitempty"`
	// ScaleDown asks for nodes that could go.
	ScaleDown *ScaleDownConstraints `json:"scaleDown,omitempty"`
}

// Range is an inclusive [min, max]; max 0 is no upper bound.
type Range struct {
	Min int64 `json:"min,omitempty"`
	Max int64 `json:"max,omitempty"`
}

// ScaleDownConstraints say which nodes may be recommended to go.
type ScaleDownConstraints struct {
	// UtilizationThreshold, 0 to 1: nodes of which a larger share of cpu or memory is asked for are unremovable.
	UtilizationThreshold float64 `json:"utilizationThreshold"`
	// IgnoreDaemonSets leaves DaemonSet pods out of the utilization.
	IgnoreDaemonSets bool `json:"ignoreDaemonSets,omitempty"`
	// MaxNodes is the most nodes to go; 0: no limit.
	MaxNodes int           `json:"maxNodes,omitempty"`
	Rules    drain.Options `json:"rules,omitzero"`
}
