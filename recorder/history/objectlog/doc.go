// Package objectlog reads and writes object logs, the open format that histories are imported from and exported to:
// JSON lines {"at": RFC 3339, "op": "add|update|delete", "object": {...}}, plain or gzip, with plain Kubernetes objects,
// both event APIs and NodeGroup (scalehist.io/v1alpha1).
//
// A log may also hold what a history knows besides objects, as objects of scalehist.io/v1alpha1: Recording and Gap (what
// was watched when), Usage and Sample. The optional key "objectAt" is the object's own time of the change.
//
// The package must not know of SQLite or histories.
package objectlog
