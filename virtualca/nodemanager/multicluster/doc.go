// Package multicluster is a back-end of the node manager whose nodes are shares of other clusters.
//
// Terms:
//   - An offer is what a cluster of the list shares, less what was borrowed from it: a node, to the scheduler's plugins.
//   - A share is what one node of a group borrows: at least the group's minimum, at most its maximum, as much as the offer has. The template of a
//     group is its minimum, so a node is never less than what the autoscaler expected.
//   - A policy orders the offers that fit. Which fit, the scheduler's plugins say: resources, labels, regions, taints.
//   - A Peering makes a share a node of this cluster.
//
// What was asked for is on the disk before it is answered. Peering is tried again after a restart. The package must not know HTTP or how clusters
// are peered.
package multicluster
