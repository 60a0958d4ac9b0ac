// Package bound computes a lower bound on what new nodes for some pods cost, from a linear program: no plan that takes the pods costs
// less.
//
// The package knows amounts and prices, and no pod, no node and no group.
package bound
