// Package operator scales workloads of a real cluster to zero and back, as their ElastiServices say and the policy of package elasti decides.
//
// Every interval it lists the ElastiServices and looks at each (Handler.Poll). A target's replicas are read and written through its scale
// subresource, of whatever kind it is, with the resource version that was read: what somebody else changed in between is never overwritten. A
// decision is taken again on what is read under the target's lock before it is acted on. One process acts at a time (Election), and stops to
// write when it cannot be sure of that any more.
package operator
