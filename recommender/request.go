package recommender

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/simulator/drain"
)

// Recommender answers requests. It may be called from several goroutines at once.
type Recommender interface {
	Recommend(ctx context.Context, r *Request) (*Recommendation, error)
}

// Request is all that a recommendation rests on. Objects are read only.
type Request struct {
	// Now is the instant of the snapshot.
	Now time.Time `json:"now"`
	// Objects are the cluster's: nodes, pods, DaemonSets, storage, priorities, budgets, owners. Those of one kind are in the
	// order of their creation, which is the order in which equals are taken.
	Objects *scalehist.Objects `json:"objects"`
	// NodeGroups are the groups that may grow and shrink; their order breaks ties.
	NodeGroups []NodeGroup `json:"nodeGroups"`
	// NodeGroupOf names the group of nodes that do not say it themselves in the annotation scalehist.io/node-group.
	NodeGroupOf map[string]string `json:"nodeGroupOf,omitempty"`
	Constraints Constraints       `json:"constraints,omitzero"`
	// Prices are per hour; nil: nothing has a price. Then least-cost and weighted are errors.
	Prices *cloudprovider.PriceTable `json:"prices,omitempty"`
	// Strategy is one of Strategies; "": greedy.
	Strategy string `json:"strategy,omitempty"`
	// Scoring is one of Scorings; "": least-cost with prices, else least-waste.
	Scoring string `json:"scoring,omitempty"`
	// Weights say what a unit of each resource is worth, for weighted and for the objective without prices; nil:
	// DefaultWeights.
	Weights Weights `json:"weights,omitempty"`
	// Parallelism is how many simulations run at once; 0: as many as there are processors. It changes no answer.
	Parallelism int `json:"parallelism,omitempty"`
}

// NodeGroup is a node group with what is on its way.
type NodeGroup struct {
	scalehist.NodeGroup
	// Upcoming names the nodes that were asked for and are not among the objects yet. They count in TargetSize and take pods.
	Upcoming []string `json:"upcoming,omitempty"`
	// TemplatePods come with every fresh node, beside DaemonSet pods.
	TemplatePods []*corev1.Pod `json:"templatePods,omitempty"`
}

// Constraints bound a recommendation. The zero value bounds nothing and asks for no scale-down.
type Constraints struct {
	// Backoff names groups that may not grow now, and why.
	Backoff map[string]string `json:"backoff,omitempty"`
	// MaxNodesTotal is the most nodes in the cluster, those outside of node groups and upcoming ones included; 0: no limit.
	MaxNodesTotal int `json:"maxNodesTotal,omitempty"`
	// Cores and MemoryGiB bound the capacity of all nodes, in cores and GiB; nil: no limit.
	Cores     *Range `json:"cores,omitempty"`
	MemoryGiB *Range `json:"memoryGiB,omitempty"`
	// ExpendablePriorityCutoff: pods of a lower priority ask for nothing and take no room; nil: none are expendable.
	ExpendablePriorityCutoff *int32 `json:"expendablePriorityCutoff,omitempty"`
	// IgnoreMinSize: groups below their min size are not raised to it.
	IgnoreMinSize bool `json:"ignoreMinSize,omitempty"`
	// ScaleDown asks for nodes that could go; nil: none are looked for.
	ScaleDown *ScaleDownConstraints `json:"scaleDown,omitempty"`
}

// Range is an inclusive [Min, Max]; Max 0 is no upper bound.
type Range struct {
	Min int64 `json:"min,omitempty"`
	Max int64 `json:"max,omitempty"`
}

// ScaleDownConstraints say which nodes may be recommended to go.
type ScaleDownConstraints struct {
	// UtilizationThreshold: nodes of which a larger share of cpu or memory is asked for stay; 1 looks at all of them.
	UtilizationThreshold float64 `json:"utilizationThreshold"`
	// IgnoreDaemonSets leaves DaemonSet pods out of the utilization.
	IgnoreDaemonSets bool `json:"ignoreDaemonSets,omitempty"`
	// MaxNodes is the most nodes to go; 0: no limit.
	MaxNodes int `json:"maxNodes,omitempty"`
	// Rules are the drain rules' settings.
	Rules drain.Options `json:"rules"`
}
