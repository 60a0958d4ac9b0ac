// Package history is the SQLite store of a cluster's scaling history: one file per cluster, written by a recorder or
// an import, opened read-only by everything else.
//
// An object has versions; a version points at content-addressed JSON. A version is valid in the half-open interval
// [from, to) of observed time, so the state at an instant is one range query and A -> B -> A is three versions.
// Identity is the UID: a reused name is a new object. What is kept of an object is its scaling-relevant projection,
// see package projection.
//
//   - Recording: one uninterrupted stretch in which a recorder watched.
//   - Gap: a stretch in which some kinds were not watched.
//   - Entry: one change to write, with both the time it was seen and the object's own time.
//
// The package must not know of autoscalers, replays, API servers or the command line.
package history
