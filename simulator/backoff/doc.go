// Package backoff keeps node groups from growing for a while after a scale-up of theirs failed, as upstream's
// utils/backoff does (cluster-autoscaler 1.36, exponential_backoff.go).
//
// The package must not know why a scale-up failed, providers, or a cluster.
package backoff
