// Package recommender says which node groups should grow, and which nodes could go, for one snapshot of a cluster: a
// Request in, a Recommendation out, and nothing else. Whether a pod fits a node is answered by the kube-scheduler's own
// plugins (simulator/fit).
//
// Terms:
//   - A strategy makes the plan. `greedy` adds one node at a time, that of the group which scores best. `optimal` looks for the
//     cheapest plan: it proves one for small cases, and takes the best it finds for others.
//   - A scoring policy says which group's node is best: `least-cost`, `least-waste` or `weighted` (scoring.go states each).
//   - A class are pending pods that no scheduler plugin can tell apart.
//   - The objective is what a plan costs: the price of its nodes for an hour where there is a price table, else the resources
//     of its nodes by the stated weights. The lower bound is below the objective of every plan that takes the same pods.
//   - Consolidation finds the nodes that could go, with the place where each of their pods would land.
//
// What every strategy keeps to: pods of higher priority first; expendable pods ask for nothing; pods that fit on existing or
// upcoming nodes ask for nothing; taints, affinity, spread, volumes' zones and attach limits as the plugins see them; DaemonSet
// and static pods come with every fresh node; groups stay within min and max, out of backoff, and within the limits of the
// cluster. Pods are not preempted.
//
// The same Request gives the same Recommendation, byte by byte, whatever the parallelism and whatever was asked before. There
// is no clock in here: Request.Now is the time, and the caller measures how long it took.
//
// Autoscaler puts a Recommender, in process or remote, behind scalehist.Autoscaler.
//
// The package must not know the harness, histories, or the virtual cluster autoscaler.
package recommender
