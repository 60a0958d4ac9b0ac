// Package config holds the settings of the virtual cluster autoscaler by flag of upstream (cluster-autoscaler 1.36.1), what is made of
// each flag, and what follows from settings alone: which taints a fresh node has, which node groups are similar.
//
// The package knows no cluster, no provider and no loop.
package config
