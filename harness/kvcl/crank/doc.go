// Package crank turns the real kube-scheduler by hand: no goroutine of it decides when anything happens.
//
// A control plane feeds objects with [Crank.Set] and [Crank.Remove] and calls [Crank.Settle]. Settle works in rounds.
// In a round the pods that are queued now are scheduled one after the other; what the scheduler would have written
// (bindings, conditions, victims, volumes, events) is only remembered. Between rounds the control plane carries the
// writes out and feeds back what became of them. So nothing changes while pods are being scheduled, and the outcome
// is a function of the queue order, the cache and the tie-breaks, which the profile package fixes.
//
// A pod that found no node is tried again when an event may help it, as upstream's queueing hints have it, and, in case none
// did, by the clock: more than 5 minutes after its last try, at the next full or half minute of virtual time or the first
// Settle after it. Upstream does so by a 30 s ticker whose phase nobody recorded. Left out are retries that could only end
// as before, because nothing has changed since; and Settle does not list a pod that the clock brought back in vain.
//
// What the scheduler here cannot do is reported by [Unsupported]: dynamic resource allocation and pod groups.
//
// It must not know where objects are stored, nor read the wall clock.
package crank
