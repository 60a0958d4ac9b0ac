// Package sources says which node group a node belongs to, and what the groups of a cluster look like, from what
// every cluster shows: labels and annotations of nodes, the flags and status of its cluster-autoscaler, the objects of Gardener,
// Cluster API and Karpenter, or a mapping file.
//
// What a source does not know it does not invent: a target size taken from the nodes there are, and bounds taken from
// the most nodes ever seen, are marked as such in the annotations TargetSizeFrom and BoundsFrom of the group.
//
// What a source says follows from the States it was given. It must not know of histories, clocks or API servers.
package sources
