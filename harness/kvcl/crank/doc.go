// Package crank turns the real kube-scheduler by hand: no goroutine of it decides when anything happens.
//
// A control plane feeds objects with [Crank.Set] and [Crank.Remove] and calls [Crank.Settle]. Settle works in rounds.
// In a round the pods that are queued now are scheduled one after the other; what the scheduler would have written
// (bindings, conditions, victims, volumes, events) is only remembered. Between rounds the control plane carries the
// writes out and feeds back what became of them. So nothing changes while pods are being scheduled, and the outcome
// is a function of the queue order, the cache and the tie-breaks, which the profile package fixes.
//
// It must not know where objects are stored, nor read the wall clock.
package crank
