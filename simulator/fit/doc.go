// Package fit answers whether a pod fits a node, with the kube-scheduler's own PreFilter and Filter plugins and
// nothing else. It holds one mutable cluster snapshot with an undo log, so that a what-if costs what it changes.
//
// Terms: a fork is a mark in the undo log; revert takes everything since the mark back, commit keeps it. A shape is
// what all pods that the plugins cannot tell apart have in common: namespace, labels and spec. A plugin is local when
// it looks at the node and its pods, wide when it looks at pods on other nodes (topology spread, pod affinity).
//
// Five things make it fast without changing an answer.
//   - Free cpu, memory, disk and pod slots, then other resources, are compared as integers first (room.go).
//   - One PreFilter state per shape follows pods and nodes that come and go; wide plugins are asked on it (prefilter.go,
//     spread.go). A shape without wide plugins has one state until a pod comes that keeps it away from its topology.
//   - What local plugins said of a node is remembered: any answer while the node is as it was, a no also while it only
//     gained pods, and what rests on the Node object alone as long as that is the same (memory.go).
//   - That no node could take a shape's pod is remembered until something may have made room.
//   - Pods of a shape share what is computed of them: keys, requests, affinity terms (shape.go).
//
// The tests have a plain checker without any of it, and compare every answer in random programs.
//
// The package must not know autoscalers, node groups or a clock.
package fit
