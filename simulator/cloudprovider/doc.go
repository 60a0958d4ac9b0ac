// Package cloudprovider holds virtual node groups and their instances in virtual time: target sizes, provision and
// deletion delays, faults and prices. It has no clock and no API server. Every call that changes something carries
// the instant it happens at; Next says when something will happen by itself, Advance makes it happen.
//
// Terms: an instance is a machine the provider made for a node group; it is creating until its node joins, then
// running, and deleting from DeleteNodes until its node is gone. A creating instance may carry an error instead of
// ever joining. The target size is the number of instances asked for.
//
// Everything is deterministic: groups keep their input order, instances the order they were asked for, and names
// are indexes. The package must not know the autoscaler, the harness or any Kubernetes client.
package cloudprovider
