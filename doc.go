// Package scalehist holds the words of the project: what a cluster looked like, what an autoscaler decided, and
// what a replay showed. It does no I/O and knows neither SQLite nor an API server.
//
// Most words are the autoscaling field's own (NodeGroup, TargetSize, ScaleUp, Option, Expander, upcoming node,
// unneeded, unremovable, backoff). Ours are these:
//
//   - History: the SQLite file a recorder writes, one per cluster.
//   - Recording: one uninterrupted stretch of a History.
//   - Gap: a stretch in which some kinds were not watched.
//   - Scenario: a History, a window of it, settings, faults and an Autoscaler.
//   - Replay: running a Scenario on a virtual cluster, in virtual time.
//   - Decision: what one autoscaler loop did, and why.
//   - ReplayReport: what a Replay showed; the thing asserted on.
//   - Autoscaler: anything that decides how many nodes there should be.
//   - kvcl: the virtual cluster, a real control plane without kubelets.
package scalehist
