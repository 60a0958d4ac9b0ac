// Package status is the status ConfigMap of a cluster-autoscaler: its words, its fields, its YAML (cluster-autoscaler, clusterstate/api).
//
// The package knows no cluster and no loop.
package status
