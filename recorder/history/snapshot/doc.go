// Package snapshot turns the objects of one instant, as a history has them, into the domain's snapshot of a cluster: node groups with their
// options, the settings of its autoscaler, and what a provider has node groups in (worker pools, machine deployments).
//
// The package must not know how objects are stored, nor of autoscalers and replays.
package snapshot
