// Package trace reads recordings: what happened in a window of a history, worked out once, for replays and for those who judge a recording.
//
// An Input is what a replay plays: the causes (what the workload did, and what failed), without the effects (what the recorded
// autoscaler, scheduler and node lifecycle did about them): cause.go has how to distinguish them. It also has what the
// recording shows of the world beside: the truth (the steps of node groups, the waits of pods), delays, lost nodes, when
// the autoscaler looped.
//
// The package knows no replay and no autoscaler.
package trace
