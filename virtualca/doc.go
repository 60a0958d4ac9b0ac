// Package virtualca is the virtual cluster autoscaler: the decisions of the upstream cluster-autoscaler (1.36) in
// virtual time, on any Cluster and CloudProvider, without an API server.
//
// One RunOnce is one loop, in upstream's order: list, snapshot, cluster state, fix sizes, upcoming nodes, filter
// pods, scale up, enforce min sizes. Whether a pod fits a node is only ever decided by the kube-scheduler's own
// filter plugins (package fit).
//
// Where upstream is random or walks a map, this is one of its outcomes by a stated rule: pods in a fixed shuffle
// (listingOrder), nodes in creation order, node groups in the provider's order, ties to the first. Another
// Settings.Seed is another of upstream's possible runs.
//
// The package must not know the harness, a history or an API server.
package virtualca
