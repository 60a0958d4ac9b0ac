// Package sources tells which node group a node belongs to, and what the groups of a cluster look like, from what
// every cluster shows: labels and annotations of nodes, the flags of its cluster-autoscaler, or a mapping file.
//
// What a source does not know it does not invent: a target size taken from the nodes there are, and bounds taken from
// the most nodes ever seen, are marked as such in the annotations TargetSizeFrom and BoundsFrom of the group.
//
// A source is a pure function of a State. It must not know of histories, clocks or API servers.
package sources
