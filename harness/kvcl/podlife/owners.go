package podlife

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// Owners say which workload a pod belongs to. The zero value knows no ReplicaSets.
type Owners struct {
	// deployments are the owners of ReplicaSets.
	deployments map[types.NamespacedName]scalehist.WorkloadRef
}

// Note takes in a ReplicaSet, and says which Deployment owns it, if one does.
func (o *Owners) Note(rs *appsv1.ReplicaSet) (deployment scalehist.WorkloadRef, owned bool) {
	owner := metav1.GetControllerOfNoCopy(rs)
	if owner == nil || owner.Kind != "Deployment" {
		return deployment, false
	}
	if o.deployments == nil {
		o.deployments = map[types.NamespacedName]scalehist.WorkloadRef{}
	}
	deployment = scalehist.WorkloadRef{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: rs.Namespace, Name: owner.Name}
	o.deployments[scalehist.NameOf(rs)] = deployment
	return deployment, true
}

// Of is the workload of a pod: its Deployment, or what else owns it and has replicas. There is none of pods of Jobs, DaemonSets and kubelets,
// and of those that nobody owns.
func (o *Owners) Of(p *corev1.Pod) (scalehist.WorkloadRef, bool) {
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return scalehist.WorkloadRef{}, false
	}
	switch owner.Kind {
	case "DaemonSet", "Node", "Job":
		return scalehist.WorkloadRef{}, false
	case "ReplicaSet":
		return o.ofReplicaSet(p, owner), true
	}
	return scalehist.WorkloadRef{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: p.Namespace, Name: owner.Name}, true
}

// ofReplicaSet is what a ReplicaSet belongs to: the Deployment that owns it. Where the ReplicaSet itself was not recorded, the name shows it: a
// Deployment's is its own with the hash of the template behind it, and pods have that hash as a label.
func (o *Owners) ofReplicaSet(p *corev1.Pod, owner *metav1.OwnerReference) scalehist.WorkloadRef {
	if d, ok := o.deployments[types.NamespacedName{Namespace: p.Namespace, Name: owner.Name}]; ok {
		return d
	}
	out := scalehist.WorkloadRef{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: p.Namespace, Name: owner.Name}
	if hash := p.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" {
		if name, ok := strings.CutSuffix(owner.Name, "-"+hash); ok && name != "" {
			out.Kind, out.Name = "Deployment", name
		}
	}
	return out
}
