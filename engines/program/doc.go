// Package program makes an unmodified cluster-autoscaler binary the engine of a replay: it serves the node groups to it through the
// external gRPC contract, starts it with the recorded flags against the virtual cluster's API server, and reads what it decided
// from its calls and its log.
//
// What is read of the log are lines of cluster-autoscaler 1.36.1 at verbosity 5; what another version words differently is missing from
// the reasons, not from what was done: sizes, deletions and refusals are those of the calls.
package program
