package crank

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What a pod can ask of the scheduler that no control plane has. Both would go wrong in silence: a pod in a group would be
// placed alone (the API server drops the field, its feature is alpha), and a claim that nobody allocates waits for ever.
const (
	// DynamicResources is spec.resourceClaims: devices the scheduler allocates from ResourceSlices, which are not recorded.
	DynamicResources = "dynamic resource allocation (spec.resourceClaims)"
	// PodGroups is spec.schedulingGroup: pods that are placed all together or not at all.
	PodGroups = "pod groups (spec.schedulingGroup)"
)

// UnsupportedError says that a control plane cannot schedule a pod as a real one would.
type UnsupportedError struct {
	Pod types.NamespacedName
	// Feature is DynamicResources or PodGroups.
	Feature string
	// Advice says what to do.
	Advice string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("pod %s uses %s, which no control plane here supports: %s", e.Pod, e.Feature, e.Advice)
}

// Unsupported returns an *UnsupportedError for a pod that uses a feature the control planes do not have, nil for others and
// for pods that have ended. A control plane asks it about each pod that is added or updated, so that all of them refuse the
// same pods with the same words.
//
// Extended resources that a DeviceClass serves are not among them: without DeviceClasses, which are not recorded, the
// scheduler takes them for plain extended resources, and such a pod says that it lacks them.
func Unsupported(pod *corev1.Pod) error {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	e := &UnsupportedError{Pod: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}}
	switch {
	case len(pod.Spec.ResourceClaims) > 0:
		e.Feature, e.Advice = DynamicResources, "leave the pod out, or drop its claims and give it the node's other resources only"
	case pod.Spec.SchedulingGroup != nil:
		e.Feature, e.Advice = PodGroups, "leave the pod out, or drop the field and let it be placed alone"
	default:
		return nil
	}
	return e
}
