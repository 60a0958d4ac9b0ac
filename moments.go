package scalehist

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ClusterState is a cluster as an autoscaler saw it when it decided: the objects, and what its cloud provider said.
type ClusterState struct {
	// Loop is the loop of the Decision that was made about it; At is the instant of both (UTC).
	Loop int
	At   time.Time
	// Objects are read only.
	Objects *Objects
	// NodeGroups are in the provider's order, which breaks ties.
	NodeGroups []GroupState
	// Backoff are the groups that the autoscaler did not let grow.
	Backoff []GroupBackoff
}

// GroupState is a node group with what the objects do not show of it.
type GroupState struct {
	NodeGroup
	// Upcoming are the nodes that were asked for and have not joined; Failed are those of them that could not be created, of
	// which the autoscaler is about to hear. Both are in the target size.
	Upcoming []UpcomingNode `json:"upcoming,omitempty"`
	Failed   []string       `json:"failed,omitempty"`
	// Deleting are the nodes that exist and are on their way out; the target size is without them.
	Deleting []string `json:"deleting,omitempty"`
	// TemplatePods come with every fresh node, beside DaemonSet pods.
	TemplatePods []*corev1.Pod `json:"templatePods,omitempty"`
}

// UpcomingNode is a node that was asked for.
type UpcomingNode struct {
	Name        string    `json:"name"`
	RequestedAt time.Time `json:"requestedAt"`
}

// Moments are the clusters that decisions of a report were made about, whole, so that each can be decided again. What does
// not change from one to the next is in it once.
type Moments struct {
	// Objects has every version of every object there was, by kind, in the order in which they were first seen.
	Objects Objects `json:"objects"`
	// Templates are the nodes that scale-ups from zero would bring.
	Templates []*corev1.Node `json:"templates,omitempty"`
	Moments   []Moment       `json:"moments"`
}

// Moment is one ClusterState, as indices into Moments.
type Moment struct {
	Loop int       `json:"loop"`
	At   time.Time `json:"at"`
	// Objects are by kind, under the names that Moments.Objects has for them, what was there: ranges [first, last], in the order of
	// creation.
	Objects map[string][][2]int `json:"objects"`
	// NodeGroups are without templates; Templates has for each the place of its own, -1 for none.
	NodeGroups []GroupState   `json:"nodeGroups"`
	Templates  []int          `json:"templates"`
	Backoff    []GroupBackoff `json:"backoff,omitempty"`
}
