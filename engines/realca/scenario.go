package realca

import (
	"slices"
	"time"

	"github.com/scalehist/scalehist"
)

// Scenario is a load and the node groups it falls on.
type Scenario struct {
	Name, What string
	// Flags of the autoscaler that decide something, and its priority expander's configuration.
	Flags      []string
	Priorities string
	Groups     []Group
	// Initial is there before the autoscaler starts: owners, settings, then nodes, then pods that have a place.
	Initial []scalehist.Object
	// Changes come at offsets from the workload's start, in order.
	Changes []Change
	// Duration is how long to run, from the workload's start.
	Duration time.Duration
	// Idle is the time from the first loop to the workload's start.
	Idle time.Duration
}

// Group is a node group; TargetSize is its initial size.
type Group struct {
	scalehist.NodeGroup
	// Delay is the time from a request to the Ready node.
	Delay time.Duration
	// StockOuts are windows, from the workload's start, in which instances come with an error.
	StockOuts [][2]time.Duration
}

// Change is something the workload does.
type Change struct {
	After  time.Duration
	Op     scalehist.Op
	Object scalehist.Object
}

// Cut ends the scenario some time after the workload began.
func (s *Scenario) Cut(after time.Duration) {
	s.Duration = after
	s.Changes = slices.DeleteFunc(s.Changes, func(c Change) bool { return c.After > after })
}

const (
	// firstLoopToWorkload keeps the load away from the first loop.
	firstLoopToWorkload = 6 * time.Second
	// terminatesAnnotation on a pod of a scenario is how long it runs on after its deletion was asked for.
	// It is taken off before the pod is created.
	terminatesAnnotation = "scalehist.io/terminates-after"
)
