package recommender

import "github.com/scalehist/scalehist"

// Recommendation is what should be done about a Request, and why. It explains itself without the cluster at hand.
type Recommendation struct {
	Strategy string `json:"strategy"`
	// Scoring is the policy, ScoringRule what it compares, in words.
	Scoring     string `json:"scoring"`
	ScoringRule string `json:"scoringRule"`
	// ScaleUps are the groups to grow, in the order of the request.
	ScaleUps []ScaleUp `json:"scaleUps,omitempty"`
	// ScaleDowns are the nodes that could go, all together and in this order.
	ScaleDowns []ScaleDown `json:"scaleDowns,omitempty"`
	// Fits are pending pods that need no new node: they fit on existing or upcoming ones.
	Fits []Placement `json:"fits,omitempty"`
	// Unplaced are the pods that are left, with why.
	Unplaced []UnplacedPod `json:"unplaced,omitempty"`
	// Steps are the nodes in the order in which they were added, each with what it was chosen from.
	Steps []Step `json:"steps,omitempty"`
	// Skipped are the groups that could not grow at all.
	Skipped []GroupReason `json:"skipped,omitempty"`
	// Unremovable are the nodes that were looked at and are not removed.
	Unremovable []NodeReason `json:"unremovable,omitempty"`
	// Cost is what the nodes of all groups cost in an hour; nil without prices.
	Cost *Cost `json:"cost,omitempty"`
	// Optimality says how far the scale-up is from the best there is.
	Optimality Optimality `json:"optimality"`
	// Notes say what cut or changed the plan.
	Notes []string `json:"notes,omitempty"`
}

// ScaleUp is the growth of one node group.
type ScaleUp struct {
	NodeGroup   string `json:"nodeGroup"`
	Zone        string `json:"zone,omitempty"`
	MachineType string `json:"machineType,omitempty"`
	// From and To are target sizes, Count is what lies between.
	From  int `json:"from"`
	To    int `json:"to"`
	Count int `json:"count"`
	// PricePerHour is of one node; nil without prices.
	PricePerHour *float64  `json:"pricePerHour,omitempty"`
	Nodes        []NewNode `json:"nodes"`
}

// NewNode is a node to ask for. Its name is the group's and the lowest number that no known node has.
type NewNode struct {
	Name string `json:"name"`
	// Pods are those it would take ("namespace/name"), sorted.
	Pods []string `json:"pods,omitempty"`
	// Reason says why it is there when no pod asked for it.
	Reason string `json:"reason,omitempty"`
}

// Placement is a pod with the node it would go to.
type Placement struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
}

// UnplacedPod is a pod that no plan within the constraints has a place for.
type UnplacedPod struct {
	Pod      string `json:"pod"`
	Priority int32  `json:"priority,omitempty"`
	// Message is the scheduler's, from the pod's condition.
	Message string `json:"message,omitempty"`
	// Groups say why a node of each group does not help.
	Groups []GroupReason `json:"groups,omitempty"`
}

// GroupReason says why a node group does not grow.
type GroupReason struct {
	NodeGroup string `json:"nodeGroup"`
	Reason    string `json:"reason"`
}

// NodeReason says why a node does not go.
type NodeReason struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// Step is one node added to the plan.
type Step struct {
	NodeGroup string `json:"nodeGroup"`
	Node      string `json:"node"`
	// Reason says why this group won.
	Reason string `json:"reason"`
	// Candidates are one node of each group that could grow and would have taken a pod, best first.
	Candidates []Candidate `json:"candidates,omitempty"`
	// Rejected are groups that could grow and whose node would have taken no pod, or that may not grow any further.
	Rejected []GroupReason `json:"rejected,omitempty"`
}

// Candidate is one node of a group with the pods it would take.
type Candidate struct {
	NodeGroup   string `json:"nodeGroup"`
	Zone        string `json:"zone,omitempty"`
	MachineType string `json:"machineType,omitempty"`
	Pods        int    `json:"pods"`
	// Priority is the highest of its pods.
	Priority int32 `json:"priority"`
	// Score is what the policy compares, see ScoringRule; PricePerHour is of the node.
	Score        float64  `json:"score"`
	PricePerHour *float64 `json:"pricePerHour,omitempty"`
	// Requests are what its pods ask for: cores, GiB, and other resources in their own units.
	Requests map[string]float64 `json:"requests,omitempty"`
}

// ScaleDown is a node that could go.
type ScaleDown struct {
	NodeGroup string `json:"nodeGroup"`
	Node      string `json:"node"`
	// Utilization is the larger share of its cpu and memory that is asked for.
	Utilization float64 `json:"utilization"`
	// Pods say where each of its pods would land; none: the node is empty.
	Pods []Placement `json:"pods,omitempty"`
	// PricePerHour is what is saved; nil without prices.
	PricePerHour *float64 `json:"pricePerHour,omitempty"`
}

// Cost is per hour, of the nodes in node groups, upcoming ones included.
type Cost struct {
	Currency string  `json:"currency"`
	Before   float64 `json:"before"`
	// AfterScaleUp has the new nodes, After is without those that could go as well.
	AfterScaleUp float64 `json:"afterScaleUp"`
	After        float64 `json:"after"`
}

// Optimality compares the new nodes with the best there could be for the same pods.
type Optimality = scalehist.Optimality
