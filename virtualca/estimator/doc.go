// Package estimator says how many new nodes some pods need, by the binpacking of upstream (cluster-autoscaler, estimator/), and which pods are so
// alike that one of them stands for all (core/scaleup/equivalence).
//
// The package knows no node group: a new node is given.
package estimator
