// Package drain says which pods must move before a node can be removed, and which pods forbid it: the drain rules of
// the upstream cluster-autoscaler (1.36, simulator/drainability/rules), in their order, and the PodDisruptionBudgets as
// far as one loop has used them up.
//
// Terms: a verdict is what the first rule that has an opinion says of a pod; a blocking pod keeps its node; a pod to
// move needs a place elsewhere; a pod that stays goes with its node.
//
// The package must not know node groups, the fit of pods on nodes, or a cluster: it judges objects at an instant.
package drain
