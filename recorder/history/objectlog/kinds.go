package objectlog

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist"
)

// KindOf is the name of an object's kind, in a history and where a recording lists what it watched: "Pod",
// and of a custom object "MachineDeployment.machine.sapcloud.io".
//
// Typed objects often have no TypeMeta: theirs is the kind of their type. Kinds that are not stored are named by their TypeMeta, else by
// their Go type.
func KindOf(o scalehist.Object) string {
	gvk := o.GetObjectKind().GroupVersionKind()
	if _, ok := o.(*unstructured.Unstructured); ok && IsCustom(gvk.GroupKind()) {
		return gvk.GroupKind().String()
	}
	if of, _, err := Scheme.ObjectKinds(o); err == nil {
		return of[0].Kind
	}
	if gvk.Kind != "" {
		return gvk.Kind
	}
	return fmt.Sprintf("%T", o)
}

// WorkloadKinds are the kinds that make pods, by the names that a history has for them.
func WorkloadKinds() []string {
	return []string{"Deployment", "ReplicaSet", "StatefulSet", "Job", "DaemonSet", "ReplicationController", "Rollout.argoproj.io"}
}

// AutoscalingKinds are the kinds that say how many pods a workload has and how large they are: what vertical and horizontal
// autoscalers are configured with, what they decided, and what bounds requests.
func AutoscalingKinds() []string {
	return []string{"LimitRange", "HorizontalPodAutoscaler", "VerticalPodAutoscaler.autoscaling.k8s.io",
		"VerticalPodAutoscalerCheckpoint.autoscaling.k8s.io", "ScaledObject.keda.sh", "ElastiService.elasti.truefoundry.com"}
}
