// Package workload says what the controllers of workloads do to pods: Deployments through ReplicaSets, StatefulSets, Jobs, and any
// scalable custom resource that makes pods of a template. It follows kube-controller-manager 1.36 (k8s.io/kubernetes v1.36.3,
// pkg/controller/{replicaset,deployment,statefulset,job}), whose exported functions it uses where there are any; its tests compare it
// with the real controllers.
//
// A State holds workloads and pods. Who owns it applies what users write (Apply, Delete), reports what kubelets and the scheduler did
// (SetPod, RemovePod), and calls Reconcile, which does what is due at that instant and says what it did. Next says when time alone will
// make something due.
//
// Order. Reconcile works off Deployments, ReplicaSets that no Deployment owns, StatefulSets and Jobs, in this order and each by
// namespace and name. The ReplicaSets of a Deployment settle first, those that it changed last in the order of these changes and then
// the others in order of creation, then the Deployment acts once, and so on until neither has anything to do. A Job acts once: at once
// when its spec changed, else a second after it or its pods changed first. The real controllers run side by side: this is one of the
// orders they can take, the one in which a Deployment sees the result of all it did before.
//
// Terms: a root is a workload that nothing in the State owns; a family is the pods of one controller; a fixed name is one that rules
// give (ReplicaSets, pods of StatefulSets), unlike the drawn names of other pods.
//
// What is not modelled: podFailurePolicy, successPolicy and backoffLimitPerIndex of Jobs (refused), adoption and release by labels
// (pods and ReplicaSets belong to their controller reference), the rollback annotation of extensions/v1beta1, claims of StatefulSets
// beyond the volumes of pods, and errors of an API server.
//
// The package must not know API servers, clocks, node groups, histories or replays. It starts no goroutine.
package workload
