package api

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// Version is the apiVersion of every request and answer.
const Version = "recommender.scalehist.io/v1"

// The paths of the API.
const (
	PathRecommend  = "/v1/recommend"
	PathStrategies = "/v1/strategies"
	PathOpenAPI    = "/openapi.json"
)

// Request asks for a recommendation: the cluster at one instant, and what bounds the answer.
type Request struct {
	// APIVersion is recommender.scalehist.io/v1.
	APIVersion string `json:"apiVersion"`
	// Now is the instant of the snapshot. It is needed, unless Snapshot says it.
	Now time.Time `json:"now,omitzero"`
	// Objects are the cluster's: plain Kubernetes objects with apiVersion and kind, and NodeGroup objects of
	// scalehist.io/v1alpha1. Those of one kind are in the order of their creation, in which equals are taken. A List of
	// them, as kubectl prints it, is taken for its items.
	Objects []Object `json:"objects,omitempty"`
	// NodeGroups may grow and shrink; their order breaks ties. Those among Objects come after them.
	NodeGroups []NodeGroup `json:"nodeGroups,omitempty"`
	// Snapshot is a cluster as a replay report has it, made with whole objects. Objects are added to it; NodeGroups, if
	// there are any, replace its own.
	Snapshot *scalehist.ClusterSnapshot `json:"snapshot,omitempty"`
	// NodeGroupOf names the node group of nodes that do not say it in the annotation scalehist.io/node-group.
	NodeGroupOf map[string]string `json:"nodeGroupOf,omitempty"`
	Constraints Constraints       `json:"constraints,omitzero"`
	// Prices are per hour; without them nothing has a price.
	Prices *cloudprovider.PriceTable `json:"prices,omitempty"`
	// Strategy is one of GET /v1/strategies; the first is the default.
	Strategy string `json:"strategy,omitempty"`
	// Scoring is the policy by which new nodes are compared; least-cost with prices, else least-waste.
	Scoring string `json:"scoring,omitempty"`
	// Weights say what a core, a GiB and a piece of other resources are worth.
	Weights recommender.Weights `json:"weights,omitempty"`
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
	// Upcoming names nodes that were asked for and are not among the objects yet.
	Upcoming []string `json:"upcoming,omitempty"`
	// TemplatePods come with every fresh node, beside DaemonSet pods.
	TemplatePods []*corev1.Pod `json:"templatePods,omitempty"`
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
	ScaleDown *ScaleDown `json:"scaleDown,omitempty"`
}

// Range is an inclusive [min, max]; max 0 is no upper bound.
type Range struct {
	Min int64 `json:"min,omitempty"`
	Max int64 `json:"max,omitempty"`
}

// ScaleDown says which nodes may be recommended to go.
type ScaleDown struct {
	// UtilizationThreshold, 0 to 1: nodes of which a larger share of cpu or memory is asked for stay.
	UtilizationThreshold float64 `json:"utilizationThreshold"`
	// IgnoreDaemonSets leaves DaemonSet pods out of the utilization.
	IgnoreDaemonSets bool `json:"ignoreDaemonSets,omitempty"`
	// MaxNodes is the most nodes to go; 0: no limit.
	MaxNodes int        `json:"maxNodes,omitempty"`
	Rules    DrainRules `json:"rules,omitzero"`
}

// DrainRules say which pods keep their node, as the cluster-autoscaler's flags of these names do.
type DrainRules struct {
	SkipSystemPods        bool `json:"skipSystemPods,omitempty"`
	SkipLocalStorage      bool `json:"skipLocalStorage,omitempty"`
	SkipCustomControllers bool `json:"skipCustomControllers,omitempty"`
	MinReplicaCount       int  `json:"minReplicaCount,omitempty"`
	// SystemPodTimeout is the age from which a kube-system pod keeps its node no longer: "1h".
	SystemPodTimeout scalehist.Duration `json:"systemPodTimeout,omitempty"`
}

// Response answers a Request.
type Response struct {
	// APIVersion is recommender.scalehist.io/v1.
	APIVersion     string                      `json:"apiVersion"`
	Recommendation *recommender.Recommendation `json:"recommendation"`
	// Warnings say what the request lacks, and what that does to the answer.
	Warnings []string `json:"warnings,omitempty"`
	// Run differs by nature between two answers; it is not to be compared.
	Run *Run `json:"run,omitempty"`
}

// Run is what differs by nature between two answers.
type Run struct {
	// RunTime is how long the recommendation took, a Go duration: "12.5ms".
	RunTime   scalehist.Duration `json:"runTime"`
	RequestID string             `json:"requestId,omitempty"`
	// Server is what answered, with its version.
	Server string `json:"server,omitempty"`
}

// StrategyList is what a recommender can be asked for.
type StrategyList struct {
	// APIVersion is recommender.scalehist.io/v1.
	APIVersion string `json:"apiVersion"`
	// Name is what the recommender calls itself; reports of replays have it.
	Name string `json:"name"`
	// Strategies and Scorings are the names a request may have; the first strategy is the default.
	Strategies []string `json:"strategies"`
	Scorings   []string `json:"scorings,omitempty"`
	// Weights are those of a request that has none.
	Weights recommender.Weights `json:"weights,omitempty"`
}

// Problem is an error on the wire (RFC 9457, application/problem+json).
type Problem struct {
	// Type tells problems apart: a link to its description.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail says what is wrong.
	Detail string `json:"detail"`
	// Path says where in the request: "objects[3].spec.containers[0].image".
	Path string `json:"path,omitempty"`
	// Advice says what to do.
	Advice    string `json:"advice,omitempty"`
	RequestID string `json:"requestId,omitempty"`
}
