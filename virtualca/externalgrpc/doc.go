// Package externalgrpc serves node groups to an unmodified cluster-autoscaler through its external gRPC provider contract,
// `--cloud-provider=externalgrpc`. It knows the contract and no provider: what it serves is behind three interfaces of one
// to three methods, and four optional ones.
//
// Package wire below it is the contract itself. Answers carry the fields of autoscalers up to 1.34 and those of newer ones,
// requests are read in either form, so every version is served by one server.
//
// Terms are upstream's: the target size of a group is the number of nodes asked for; an instance is what the provider made
// for it, from the request on; its id is the node's spec.providerID.
//
// The package must not know node groups of any kind, clusters or replays.
package externalgrpc
