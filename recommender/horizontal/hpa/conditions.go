package hpa

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// condition writes a condition of the status. Its transition time changes with its status only.
func (s *sync) condition(kind autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus, reason, message string) {
	list := &s.hpa.Status.Conditions
	i := slices.IndexFunc(*list, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool { return c.Type == kind })
	if i < 0 {
		i = len(*list)
		*list = append(*list, autoscalingv2.HorizontalPodAutoscalerCondition{Type: kind})
	}
	c := &(*list)[i]
	if c.Status != status {
		c.LastTransitionTime = metav1.NewTime(s.now)
	}
	c.Status, c.Reason, c.Message = status, reason, message
}

// dropCondition removes a condition from the status.
func (s *sync) dropCondition(kind autoscalingv2.HorizontalPodAutoscalerConditionType) {
	s.hpa.Status.Conditions = slices.DeleteFunc(s.hpa.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == kind
	})
}

// scaledToZero says whether the autoscaler itself scaled its target to zero, which it keeps in its status.
func (s *sync) scaledToZero() bool {
	i := slices.IndexFunc(s.hpa.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == autoscalingv2.ScaledToZero
	})
	return i >= 0 && s.hpa.Status.Conditions[i].Status == corev1.ConditionTrue
}

// event records an event of the decision.
func (s *sync) event(kind, reason, format string, args ...any) {
	s.d.Events = append(s.d.Events, Event{kind, reason, fmt.Sprintf(format, args...)})
}

// warn records a warning with the words of an error.
func (s *sync) warn(reason string, err error) {
	s.event(corev1.EventTypeWarning, reason, "%v", err)
}
