// Package virtual does what kubelets and controllers would have done and scaling depends on, in virtual time: bound
// pods become Running, finite pods finish, evicted and preempted pods with a controller come back pending, DaemonSet
// pods appear on nodes, pods go with their node, pods leave nodes whose NoExecute taints they do not tolerate, and
// PodDisruptionBudget status is kept. Evictions go through the real API, which enforces the budgets; a pod that
// is evicted, preempted or deleted holds its room until it has stopped, which takes as long as Options.Termination says.
//
// Workloads that somebody has taken over (TakeOver) are reconciled by simulator/workload: what it does to pods and ReplicaSets happens here, and
// what happens to pods here it sees. All others have the pods that are fed in.
//
// It exists once for every control plane: it writes through kvcl.ControlPlane and never through a client. It knows
// nothing of histories, autoscalers or reports.
package virtual
