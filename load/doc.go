// Package load is the work that workloads do in a replay: how much of each metric there is at an instant, how it divides over the replicas of
// this replay, and what becomes of it. It knows no clusters and no histories.
//
// Work is conserved: of a Series that is Divided or Queued, what came in is what was served, what was lost and what waits, at every instant
// (Balance). So an autoscaler that keeps too few replicas does not make the demand vanish, and one that keeps too many does not make more.
package load
