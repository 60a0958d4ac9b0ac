// Package nodetemplate says what a fresh node of a node group looks like: made from a real node or from the provider's
// template, without what only that node has, with the DaemonSet pods that would run on it. Autoscalers share it.
//
// Terms: a template is a node and the pods that come with it; a condition taint is one the node lifecycle puts on a node
// for a state that passes.
//
// The package must not know autoscalers, settings or a clock.
package nodetemplate
