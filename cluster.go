package scalehist

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// NodeGroup is a set of equal nodes an autoscaler may grow and shrink, at one instant.
type NodeGroup struct {
	Name string `json:"name"`
	// MinSize, MaxSize and TargetSize are in nodes.
	MinSize    int `json:"minSize"`
	MaxSize    int `json:"maxSize"`
	TargetSize int `json:"targetSize"`
	// GuessedMax: nothing recorded names the limit, and MaxSize is the most nodes seen at once. The real limit is that or higher.
	GuessedMax bool `json:"guessedMax,omitempty"`
	// Zone and MachineType are empty when the source could not tell.
	Zone        string `json:"zone,omitempty"`
	MachineType string `json:"machineType,omitempty"`
	// Template is the node a scale-up from zero would bring; nil if unknown. It is left out of reports.
	Template *corev1.Node `json:"template,omitempty"`
	// Options are the group's own autoscaling options; nil if it has none.
	Options *NodeGroupOptions `json:"options,omitempty"`
}

// GuessNote is what belongs behind a text in which MaxSize decides something: "" unless it is a guess.
func (g NodeGroup) GuessNote() string {
	if !g.GuessedMax {
		return ""
	}
	return fmt.Sprintf(" (the limit %d is a guess: the most nodes seen)", g.MaxSize)
}

// MaxText is MaxSize as tables show it: "3", or "3?" for a guess.
func (g NodeGroup) MaxText() string {
	if g.GuessedMax {
		return fmt.Sprintf("%d?", g.MaxSize)
	}
	return strconv.Itoa(g.MaxSize)
}

// PodInfo is a pod as autoscaling sees it.
type PodInfo struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
	// DeletionTimestamp is set on a pod that terminates: when it is to be gone at the latest, as the API server has it (the
	// request to delete it and its grace period).
	DeletionTimestamp *time.Time `json:"deletionTimestamp,omitempty"`
	// NodeName is where it runs, NominatedNodeName where preemption made room for it.
	NodeName          string `json:"nodeName,omitempty"`
	NominatedNodeName string `json:"nominatedNodeName,omitempty"`
	// Owner is "Kind/name" of its controller.
	Owner    string `json:"owner,omitempty"`
	Priority int32  `json:"priority,omitempty"`
	// Requests are the scheduler's: init containers, overhead and pod-level resources included.
	Requests map[string]string `json:"requests,omitempty"`
	// Message is the scheduler's reason when the pod is unschedulable.
	Message string `json:"message,omitempty"`
	// Pod is the whole recorded object; reports leave it out unless asked for it.
	Pod *corev1.Pod `json:"pod,omitempty"`
}

// NodeInfo is a node as autoscaling sees it.
type NodeInfo struct {
	Name          string            `json:"name"`
	NodeGroup     string            `json:"nodeGroup,omitempty"`
	CreatedAt     time.Time         `json:"createdAt"`
	Ready         bool              `json:"ready"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	MachineType   string            `json:"machineType,omitempty"`
	Zone          string            `json:"zone,omitempty"`
	Capacity      map[string]string `json:"capacity,omitempty"`
	Allocatable   map[string]string `json:"allocatable,omitempty"`
	Taints        []string          `json:"taints,omitempty"`
	// Pods counts the pods on it.
	Pods int `json:"pods"`
	// Node is the whole recorded object; reports leave it out unless asked for it.
	Node *corev1.Node `json:"node,omitempty"`
}

// WorkerPool is a group of NodeGroups that a provider manages as one (a Gardener worker).
type WorkerPool struct {
	Name       string   `json:"name"`
	NodeGroups []string `json:"nodeGroups"`
}

// MachineDeployment is the provider's object behind a NodeGroup, where there is one. NodeGroup is empty for one that no known
// group belongs to. Replicas are as recorded; in a replay's snapshots they are the target size that the replay gave its NodeGroup.
type MachineDeployment struct {
	Name        string `json:"name"`
	Namespace   string `json:"namespace,omitempty"`
	NodeGroup   string `json:"nodeGroup"`
	Replicas    int    `json:"replicas"`
	MachineType string `json:"machineType,omitempty"`
}

// CASettings are the cluster-autoscaler's settings in force at an instant.
type CASettings struct {
	// Flags are the arguments of its container, as recorded: "--expander=least-waste".
	Flags []string `json:"flags,omitempty"`
	// Priorities is the `priorities` key of the cluster-autoscaler-priority-expander ConfigMap.
	Priorities string `json:"priorities,omitempty"`
}

// Equal says whether an autoscaler started with either would behave alike.
func (s CASettings) Equal(o CASettings) bool {
	if s.Priorities != o.Priorities || len(s.Flags) != len(o.Flags) {
		return false
	}
	for i := range s.Flags {
		if s.Flags[i] != o.Flags[i] {
			return false
		}
	}
	return true
}

// ClusterSnapshot is a cluster at one instant, as autoscaling sees it. Every slice is sorted: pods by namespace and
// name, the rest by name.
type ClusterSnapshot struct {
	At                 time.Time           `json:"at"`
	UnscheduledPods    []PodInfo           `json:"unscheduledPods"`
	ScheduledPods      []PodInfo           `json:"scheduledPods"`
	NominatedPods      []PodInfo           `json:"nominatedPods,omitempty"`
	Nodes              []NodeInfo          `json:"nodes"`
	NodeGroups         []NodeGroup         `json:"nodeGroups"`
	WorkerPools        []WorkerPool        `json:"workerPools,omitempty"`
	MachineDeployments []MachineDeployment `json:"machineDeployments,omitempty"`
	CASettings         CASettings          `json:"caSettings"`
	// Objects are all recorded objects behind the lists above; never written.
	Objects *Objects `json:"-"`
}

// Cluster is what an autoscaler may see of a cluster and do to it besides asking for nodes.
type Cluster interface {
	// Objects lists them as they are now. Lists that it returned, and objects in them, stay as they were.
	Objects() *Objects
	// Evict asks for an eviction through the API: a PodDisruptionBudget may refuse it, which is an error and worth
	// another try. A pod that does not exist is an error for which apierrors.IsNotFound is true. After a nil error the
	// pod is on its way: it is gone from its node at once or later, whatever terminating takes in this cluster, and
	// Cluster says when.
	Evict(ctx context.Context, namespace, name string) error
	// SetTaints replaces the taints of a node.
	SetTaints(ctx context.Context, node string, taints []corev1.Taint) error
	// Cordon sets or clears spec.unschedulable of a node. Setting what is set already changes nothing.
	Cordon(ctx context.Context, node string, unschedulable bool) error
}
