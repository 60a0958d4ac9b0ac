package workload

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// Verb is what a controller did.
type Verb string

const (
	CreatePod        Verb = "create pod"
	DeletePod        Verb = "delete pod"
	CreateReplicaSet Verb = "create replicaset"
	// UpdateReplicaSet is a change of scale, annotations or minReadySeconds.
	UpdateReplicaSet Verb = "update replicaset"
	DeleteReplicaSet Verb = "delete replicaset"
	// UpdateStatus is a change of a workload's status; of a Deployment, its revision annotation may have changed with it.
	UpdateStatus Verb = "update status"
	// ReleasePod takes the finalizer off a pod that its Job has counted.
	ReleasePod Verb = "release pod"
	// DeleteJob is the end of a finished Job by its ttlSecondsAfterFinished.
	DeleteJob Verb = "delete job"
)

// Action is one thing that a controller did. The State shows its result already.
type Action struct {
	Verb Verb
	// Object is the object as it was left; of what was deleted, as it was before. It is not changed later, and must not be.
	Object runtime.Object
	// From and To are replicas before and after, of CreateReplicaSet and UpdateReplicaSet.
	From, To int32
}
