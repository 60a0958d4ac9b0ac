package trace

import (
	"maps"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist"
	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
)

// kedaGroup is the group of ScaledObjects, which are paused by annotations.
const kedaGroup = "keda.sh"

// configures is an object that configures controllers of workloads, as they read it; nil for others.
func configures(o scalehist.Object) scalehist.Object {
	switch o := o.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler, *corev1.LimitRange:
		return o
	case *unstructured.Unstructured:
		gvk := o.GroupVersionKind()
		if gvk.Group == elastiv1alpha1.GroupVersion.Group && gvk.Kind == elastiv1alpha1.Kind || gvk.Group == kedaGroup && gvk.Kind == "ScaledObject" {
			return o
		}
		if gvk.Group != vpav1.SchemeGroupVersion.Group {
			return nil
		}
		var typed scalehist.Object
		switch gvk.Kind {
		case "VerticalPodAutoscaler":
			typed = &vpav1.VerticalPodAutoscaler{}
		case "VerticalPodAutoscalerCheckpoint":
			typed = &vpav1.VerticalPodAutoscalerCheckpoint{}
		default:
			return nil
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
			return nil // of a version with other fields
		}
		return typed
	}
	return nil
}

// sameConfiguration says whether two versions of an object configure the same: what differs is a status that a controller wrote.
func sameConfiguration(a, b scalehist.Object) bool {
	switch a := a.(type) {
	case *vpav1.VerticalPodAutoscaler:
		b, ok := b.(*vpav1.VerticalPodAutoscaler)
		return ok && equality.Semantic.DeepEqual(a.Spec, b.Spec)
	case *vpav1.VerticalPodAutoscalerCheckpoint:
		return b != nil
	case *unstructured.Unstructured:
		b, ok := b.(*unstructured.Unstructured)
		return ok && equality.Semantic.DeepEqual(a.Object["spec"], b.Object["spec"]) &&
			(a.GroupVersionKind().Group != kedaGroup || maps.Equal(a.GetAnnotations(), b.GetAnnotations()))
	}
	return false
}
