package projection

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// projectAutoscaling covers what horizontal autoscalers are configured with and decided, and what bounds requests. Of an
// autoscaler's status the measured metrics are left out: they change with every sync, and the recorded usage and series
// say them better.
func projectAutoscaling(o scalehist.Object) (scalehist.Object, bool) {
	switch o := o.(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		out := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: projectMeta(o.ObjectMeta), Spec: *o.Spec.DeepCopy(),
			Status: autoscalingv2.HorizontalPodAutoscalerStatus{CurrentReplicas: o.Status.CurrentReplicas,
				DesiredReplicas: o.Status.DesiredReplicas, LastScaleTime: o.Status.LastScaleTime.DeepCopy()}}
		for _, c := range o.Status.Conditions {
			out.Status.Conditions = append(out.Status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{Type: c.Type,
				Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime})
		}
		return out, true
	case *corev1.LimitRange:
		return &corev1.LimitRange{ObjectMeta: projectMeta(o.ObjectMeta), Spec: *o.Spec.DeepCopy()}, true
	}
	return nil, false
}
