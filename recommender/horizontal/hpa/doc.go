// Package hpa decides as the horizontal pod autoscaler of kube-controller-manager does, in virtual time: a Scaler holds one
// HorizontalPodAutoscaler and what its controller remembers of it, Reconcile is one of its syncs, a Controller runs many at the times
// at which upstream's queue would.
//
// The rules are those of k8s.io/kubernetes/pkg/controller/podautoscaler in version 1.36.3, which reads the wall clock, an API server and
// its metrics APIs. Here the time, the target with its pods and the metrics are arguments. The tests run the real controller over the same
// random curves and compare status, events and sizes at every sync.
//
// A Decision says why there are that many replicas: what each metric proposed, which one decided, and what changed its proposal since.
// Conditions and events are in upstream's words.
package hpa
