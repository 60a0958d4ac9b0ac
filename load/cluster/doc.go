// Package cluster makes up a cluster around pods of which only their load is known: one node group, whose nodes join when a pod finds no room
// and stay, workloads, and the pods on the nodes, as an object log that can be imported and replayed. The same pods make the same lines.
//
// It must not know where pods come from, stores, commands, or autoscalers.
package cluster
