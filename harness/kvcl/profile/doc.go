// Package profile is the one deterministic kube-scheduler profile of the project. The envtest control plane and the
// one in memory use it alike, so that both place pods the same way.
//
// It is the default profile of the pinned Kubernetes with every source of chance taken out:
//
//   - queue order ends in the pod's creation ordinal, then namespace and name ([QueueSort]);
//   - equal scores are broken by a hash of pod and node, so the winner does not depend on the order in which nodes
//     joined, on the informers, or on parallelism ([Wrap]);
//   - preemption looks at all candidates, compares recorded start times and breaks ties by a hash of the node name;
//   - all nodes are scored, one worker filters them, nothing backs off;
//   - volumes bind at once instead of after a poll of one second of wall clock.
//
// It must not know how a control plane stores objects: it gets callbacks.
package profile
