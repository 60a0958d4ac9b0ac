// Package nodegroups serves the node groups of a simulator/cloudprovider through the external gRPC contract of package externalgrpc: to
// a real cluster-autoscaler beside a replay, or beside any API server.
//
// A cloudprovider.Provider belongs to one goroutine. Every call takes a turn: the caller of New says how that is had, and what instant it is.
//
// The package must not know replays, API servers or processes.
package nodegroups
