package hpa

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	conversion "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/apis/autoscaling/validation"
)

// stored is the object as an API server would have it stored: with its defaults. An error is in the words of the API server's validation,
// which lets in what an update may keep of an older object: an apiVersion of the target or of an object that is none, and minReplicas 0
// without the feature gate.
func stored(hpa *autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	out := hpa.DeepCopy()
	conversion.SetDefaults_HorizontalPodAutoscaler(out)
	var internal autoscaling.HorizontalPodAutoscaler
	if err := conversion.Convert_v2_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler(out.DeepCopy(), &internal, nil); err != nil {
		return nil, err
	}
	lenient := validation.CrossVersionObjectReferenceValidationOptions{AllowInvalidAPIVersion: true}
	if err := validation.ValidateHorizontalPodAutoscaler(&internal, validation.HorizontalPodAutoscalerSpecValidationOptions{
		ScaleTargetRefValidationOptions: lenient, ObjectMetricsValidationOptions: lenient,
	}).ToAggregate(); err != nil {
		return nil, fmt.Errorf("invalid HorizontalPodAutoscaler %s/%s: %w", hpa.Namespace, hpa.Name, err)
	}
	return out, nil
}
