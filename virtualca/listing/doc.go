// Package listing says in which order a loop of the autoscaler sees nodes and pods, and which pods take room on a node and which ask
// for it. Upstream's order is that of a walk of Go's maps; here it is one of the walks that are possible, by a seed.
//
// The package knows no node group and decides nothing.
package listing
