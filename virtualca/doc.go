// Package virtualca is the virtual cluster autoscaler: the decisions of the upstream cluster-autoscaler (1.36) in
// virtual time, on any Cluster and CloudProvider, without an API server.
//
// One RunOnce is one loop, in upstream's order: list, snapshot, cluster state, fix sizes, upcoming nodes, filter
// pods, scale up, scale down, enforce min sizes. Whether a pod fits a node is only ever decided by the kube-scheduler's
// own filter plugins (package fit), which pods of a node move or forbid that it goes by package drain.
//
// The removal of a node takes minutes: taint, drain, deletion. Upstream does it in the background; here it is a state
// machine per node that Work moves on between loops (scalehist.Background).
//
// Where upstream is random or walks a map, this is one of its outcomes by a stated rule: pods in a fixed circle
// that each loop begins elsewhere (package listing), places for pods from a random node on (fit), nodes in circles like pods, unneeded nodes in the planner's, node groups in the provider's order, ties to
// the first. Another config.Settings.Seed is another of upstream's possible runs.
//
// config.Flags has what is made of each flag of upstream. Not modelled, and named in warnings or notes when they would matter: ProvisioningRequests, proactive scale-up, dynamic
// resource allocation and CSI-aware scheduling, the grpc expander, auto-provisioning, custom scheduler configurations,
// fast-path binpacking and salvo scale-up, capacity buffers and quotas. Bounds by wall clock (the time a binpacking, a
// simulation or a round of soft taints may take) are never reached.
//
// The package must not know the harness, a history or an API server.
package virtualca
