package scalehist

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Autoscaler decides how many nodes there should be. RunOnce is one loop at virtual time now; it acts through the
// cluster and the cloud provider it was built with and returns what it did and why.
type Autoscaler interface {
	Name() string
	RunOnce(ctx context.Context, now time.Time) (Decision, error)
}

// Background is an Autoscaler that goes on working between its loops: the removal of a node takes minutes. What runs
// the loops calls Work at every NextWork, when the cluster shows that instant; then a node is drained and deleted when it
// would be. Without these calls RunOnce catches up, and removals advance by whole loops.
type Background interface {
	Autoscaler
	// NextWork is the instant of the next thing to do, never before the last call of RunOnce or Work; false when nothing
	// is under way.
	NextWork() (time.Time, bool)
	// Work does what is due by now and says what it did: ScaleDowns, Events and Notes of the Decision. Loop is that of
	// the last loop.
	Work(ctx context.Context, now time.Time) (Decision, error)
}

// StatusReporter is an Autoscaler that writes its state to the cluster as the upstream cluster-autoscaler does.
type StatusReporter interface {
	Autoscaler
	// Status is the ConfigMap as of the last loop; nil before the first one and when the settings turn it off.
	Status() *corev1.ConfigMap
}

// ScaleUpOutcome is the result of a loop's scale-up part, in upstream's words
// (cluster-autoscaler, processors/status.ScaleUpResult).
type ScaleUpOutcome string

// The outcomes of a loop's scale-up part.
const (
	ScaleUpSuccessful             ScaleUpOutcome = "ScaleUpSuccessful"
	ScaleUpError                  ScaleUpOutcome = "ScaleUpError"
	ScaleUpNoOptionsAvailable     ScaleUpOutcome = "ScaleUpNoOptionsAvailable"
	ScaleUpNotNeeded              ScaleUpOutcome = "ScaleUpNotNeeded"
	ScaleUpNotTried               ScaleUpOutcome = "ScaleUpNotTried"
	ScaleUpInCooldown             ScaleUpOutcome = "ScaleUpInCooldown"
	ScaleUpLimitedByMaxNodesTotal ScaleUpOutcome = "ScaleUpLimitedByMaxNodesTotal"
)

// ScaleDownOutcome is the result of a loop's scale-down part, in upstream's words (cluster-autoscaler,
// processors/status.ScaleDownResult, without the prefix "ScaleDown").
type ScaleDownOutcome string

// The outcomes of a loop's scale-down part. The zero value: it did not run.
const (
	ScaleDownError             ScaleDownOutcome = "Error"
	ScaleDownNoUnneeded        ScaleDownOutcome = "NoUnneeded"
	ScaleDownNoNodeDeleted     ScaleDownOutcome = "NoNodeDeleted"
	ScaleDownNodeDeleteStarted ScaleDownOutcome = "NodeDeleteStarted"
	ScaleDownNotTried          ScaleDownOutcome = "NotTried"
	ScaleDownInCooldown        ScaleDownOutcome = "InCooldown"
	ScaleDownInProgress        ScaleDownOutcome = "InProgress"
	ScaleDownNoCandidates      ScaleDownOutcome = "NoCandidates"
)

// Decision is what one autoscaler loop did and why. It explains itself without the cluster at hand.
type Decision struct {
	At time.Time `json:"at"`
	// Loop counts the autoscaler's loops from 1, so that two loops at one instant differ.
	Loop    int            `json:"loop"`
	Outcome ScaleUpOutcome `json:"outcome"`
	// UnschedulablePods are the pods that asked for room in this loop ("namespace/name"), sorted.
	UnschedulablePods []string `json:"unschedulablePods,omitempty"`
	// FilteredSchedulable counts the pods that fit on existing or upcoming nodes and so asked for nothing.
	FilteredSchedulable int `json:"filteredSchedulable,omitempty"`
	// Upcoming counts the nodes per group that were asked for before and have not joined yet.
	Upcoming map[string]int `json:"upcoming,omitempty"`
	// Options are the expansion options in the order they were computed. The cluster autoscaler chooses one at most, an
	// autoscaler that plans for all pods at once may choose several.
	Options []Option `json:"options,omitempty"`
	// Skipped groups could not grow at all; Rejected groups could, but no pod would have fitted.
	Skipped  []GroupReason `json:"skipped,omitempty"`
	Rejected []GroupReason `json:"rejected,omitempty"`
	// ScaleUps and ScaleDowns are what was asked of the cloud provider and granted.
	ScaleUps   []ScaleUp   `json:"scaleUps,omitempty"`
	ScaleDowns []ScaleDown `json:"scaleDowns,omitempty"`
	// Failed are the scale-ups the cloud provider refused.
	Failed []FailedScaleUp `json:"failed,omitempty"`
	// Optimality says how far ScaleUps are from the cheapest way to help the same pods; nil: nobody looked.
	Optimality *Optimality `json:"optimality,omitempty"`
	// Backoff lists groups that may not grow for a while.
	Backoff []GroupBackoff `json:"backoff,omitempty"`
	// PodsTriggered, PodsAwaiting and PodsRemaining count the pods that triggered the scale-up, that could have
	// been helped by another group, and that no group can help.
	PodsTriggered int `json:"podsTriggered,omitempty"`
	PodsAwaiting  int `json:"podsAwaiting,omitempty"`
	PodsRemaining int `json:"podsRemaining,omitempty"`
	// ScaleDown is the outcome of the scale-down part; empty when it did not run.
	ScaleDown ScaleDownOutcome `json:"scaleDown,omitempty"`
	// Unneeded and Unremovable are the scale-down planner's verdict per node.
	Unneeded    []string     `json:"unneeded,omitempty"`
	Unremovable []NodeReason `json:"unremovable,omitempty"`
	// Deleting are the nodes whose removal started in this loop, in that order; ScaleDowns say when they are removed.
	Deleting []NodeDeletion `json:"deleting,omitempty"`
	// Events are what the autoscaler would have written to the API server.
	Events []Event `json:"events,omitempty"`
	// Notes say what cut or changed the decision ("max-nodes-total 10 reached: plan cut from 4 to 2").
	Notes []string `json:"notes,omitempty"`
	// Again: the autoscaler's own trigger rules ask for another loop at once.
	Again bool `json:"-"`
}

// Option is one way to help pods: NodeCount new nodes of NodeGroup would take Pods.
type Option struct {
	NodeGroup string `json:"nodeGroup"`
	NodeCount int    `json:"nodeCount"`
	// Pods counts the pods placed on the new nodes, PodNames names them (at most 20, sorted).
	Pods     int      `json:"pods"`
	PodNames []string `json:"podNames,omitempty"`
	// SimilarNodeGroups share the new nodes when balancing is on.
	SimilarNodeGroups []string `json:"similarNodeGroups,omitempty"`
	// Scores are what each expander of the chain compared, by expander name, in the expander's own unit.
	Scores map[string]float64 `json:"scores,omitempty"`
	// Chosen is set on the expander's choice; Reason says why it won or lost.
	Chosen bool   `json:"chosen,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// GroupReason says why a node group was left out.
type GroupReason struct {
	NodeGroup string `json:"nodeGroup"`
	Reason    string `json:"reason"`
}

// NodeReason says why a node cannot go.
type NodeReason struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// NodeDeletion is the start of a node's removal.
type NodeDeletion struct {
	NodeGroup string `json:"nodeGroup"`
	Node      string `json:"node"`
	// UnneededSince is when the node began to be unneeded without a break.
	UnneededSince time.Time `json:"unneededSince"`
	// Utilization is the share of the node's resources that was asked for, as the decision saw it.
	Utilization float64 `json:"utilization"`
	// Pods are the pods to move away ("namespace/name"); none: the node is empty.
	Pods []string `json:"pods,omitempty"`
}

// ScaleUp is a granted growth of one node group, in nodes.
type ScaleUp struct {
	NodeGroup string `json:"nodeGroup"`
	From      int    `json:"from"`
	To        int    `json:"to"`
	Max       int    `json:"max"`
}

// String prints upstream's notation: "{ng 1->3 (max: 5)}".
func (s ScaleUp) String() string {
	return fmt.Sprintf("{%s %d->%d (max: %d)}", s.NodeGroup, s.From, s.To, s.Max)
}

// ScaleDown is the removal of one node, or of target size that never became a node (Node empty).
type ScaleDown struct {
	NodeGroup string `json:"nodeGroup"`
	Node      string `json:"node,omitempty"`
	From      int    `json:"from"`
	To        int    `json:"to"`
	Reason    string `json:"reason,omitempty"`
}

// FailedScaleUp is a growth the cloud provider refused or could not deliver.
type FailedScaleUp struct {
	NodeGroup string `json:"nodeGroup"`
	Delta     int    `json:"delta"`
	Reason    string `json:"reason"`
}

// GroupBackoff says until when a group may not grow, and why.
type GroupBackoff struct {
	NodeGroup string    `json:"nodeGroup"`
	Until     time.Time `json:"until"`
	Reason    string    `json:"reason"`
}

// Event is a Kubernetes event an autoscaler emits: reason, the object it is about ("Pod/default/web-1") and text.
type Event struct {
	Reason  string `json:"reason"`
	Object  string `json:"object"`
	Message string `json:"message"`
}

// Acted says whether the loop asked anything of the cloud provider, with or without success.
func (d Decision) Acted() bool {
	return len(d.ScaleUps) > 0 || len(d.ScaleDowns) > 0 || len(d.Failed) > 0
}

// Title is the outcome of the scale-up part, or "ScaleDown" for work between loops that took nodes away: nobody thought of a
// scale-up in it. Empty where an autoscaler says nothing of it.
func (d Decision) Title() string {
	if d.Outcome == ScaleUpNotTried && len(d.ScaleUps)+len(d.Failed) == 0 && len(d.ScaleDowns)+len(d.Deleting) > 0 {
		return "ScaleDown"
	}
	return string(d.Outcome)
}

// Summary is one line: "ScaleUpSuccessful {p3 1->3 (max: 3)}", "ScaleUpNotNeeded {p3 removing p3-0} {p1 2->1}". Work between loops,
// in which nobody thought of a scale-up, is "ScaleDown {p1 2->1}".
func (d Decision) Summary() string {
	var parts []string
	if title := d.Title(); title != "" {
		parts = append(parts, title)
	}
	for _, s := range d.ScaleUps {
		parts = append(parts, s.String())
	}
	for _, f := range d.Failed {
		parts = append(parts, fmt.Sprintf("{%s +%d failed: %s}", f.NodeGroup, f.Delta, f.Reason))
	}
	for _, x := range d.Deleting {
		parts = append(parts, fmt.Sprintf("{%s removing %s}", x.NodeGroup, x.Node))
	}
	for _, s := range d.ScaleDowns {
		parts = append(parts, fmt.Sprintf("{%s %d->%d}", s.NodeGroup, s.From, s.To))
	}
	return strings.Join(parts, " ")
}
