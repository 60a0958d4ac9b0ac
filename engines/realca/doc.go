// Package realca runs an unmodified cluster-autoscaler binary over a load, in real time, several times, and writes what it did: the first run as a
// history, a truth file of all of them, and the autoscaler's own log of each.
//
// The world around the binary: a plain kube-apiserver and etcd, the real kube-scheduler with its default profile in this
// process, node groups behind package externalgrpc. Nodes and kubelets are virtual, and live in real time:
//
//   - a node registers NotReady, with the taint that says so, and is Ready a second later, its provision delay after the
//     request; its DaemonSet pods are bound to it directly; it is removed 3 s after DeleteNodes, its pods after it
//   - a bound pod is Running at once, succeeds after its time, and when its deletion is asked for ends after its
//     termination time (none unless the load says so); evicted and preempted pods of a ReplicaSet or Job come back under a new name
//   - the status of PodDisruptionBudgets is kept
//
// A load is the causes of a recording (package harness/trace), a scenario made from a seed, or a scripted one. All processes die with this one.
//
// It must not know how the virtual autoscaler decides: that is judged by what comes of it.
package realca
