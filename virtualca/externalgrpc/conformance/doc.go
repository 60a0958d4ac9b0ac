// Package conformance drives anybody's external gRPC provider as a cluster-autoscaler would, and worse, and says what of the contract it
// honours. It knows the contract and no provider.
//
// A check is named by the method that it is about and what it asks of it. Three checks are known faults of the field: nodegroup-for-node/own
// (autoscaler#6886), increase/kept-next-loop (autoscaler#5935), template/devices (autoscaler#10277).
package conformance
