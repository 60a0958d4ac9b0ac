// Package vpa is the Vertical Pod Autoscaler in virtual time: its recommender, its updater and its admission controller as pure
// functions of objects and of instants that the caller names. Upstream's packages (k8s.io/autoscaler/vertical-pod-autoscaler v1.7.3)
// compute; this package keeps what upstream keeps in caches, clients and globals.
//
// One turn of upstream's recommender is, in this order: SetVPA and RemoveVPA, SetPod and RemovePod, Observe, OOM, Recommend,
// Checkpoints, GarbageCollect. One turn of its updater is Updater.Update. Its webhook is Admitter.Admit. They meet in the status of
// the VPA objects, which the caller writes back.
//
// Several recommenders with different flags live in one process and are all right: upstream's configuration of histograms
// (model.InitializeAggregationsConfig) and its feature gates are process globals, and neither is read or written here. No wall clock
// is read for anything that leaves the package. What upstream leaves to the order of a map or of a lister (sums of weights, VPAs,
// pods of equal priority, limit ranges, the text of annotations) follows names here.
//
// It must not know clients, replays, histories, or who asks.
package vpa
