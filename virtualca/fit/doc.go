// Package fit answers whether a pod fits a node, with the kube-scheduler's own PreFilter and Filter plugins and
// nothing else. It holds one mutable cluster snapshot with an undo log, so that a what-if costs what it changes.
//
// Terms: a fork is a mark in the undo log; revert takes everything since the mark back, commit keeps it. A shape is
// what all pods that the plugins cannot tell apart have in common: namespace, labels and spec.
//
// Three things make it fast without changing an answer. One PreFilter state per shape is kept current as pods are
// placed. A yes or no is remembered for as long as the node's generation is the same, where only the node decides.
// Free cpu, memory, disk and pod slots are compared as integers first, which is exact as a no.
//
// The package must not know autoscalers, node groups or a clock.
package fit
