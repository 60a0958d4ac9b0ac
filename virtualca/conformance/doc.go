// Package conformance runs recorded cases of the upstream cluster-autoscaler's decisions on the virtual one and says
// whether they agree. A case is an input (flags, node groups, nodes, pods), the outcomes upstream came to in several
// runs, and one whole run for debugging.
//
// Terms: an outcome is the nodes asked for and removed by group and the final target sizes; a case agrees when ours is
// one of its outcomes, for upstream is not deterministic where it walks maps.
//
// The package builds the bare world of the cases (no scheduler, nodes that join at once) and nothing of it may leak
// into the autoscaler: there is no code for a single case.
package conformance
