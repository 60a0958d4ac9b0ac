// Package expander chooses among the options of a scale-up, as the expanders of upstream do (cluster-autoscaler, expander/): each of a chain
// narrows the options down, by the pods they help, the nodes they need, what they waste, their price or their priority.
//
// The package knows no loop: the options and what it may look at are given.
package expander
