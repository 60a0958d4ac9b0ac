package stored

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/projection"
)

// State is the part of an object that changes often while its content stays: it is content-addressed too, because a
// thousand pods go through the same few states. Times are not in it.
type State struct {
	Phase         string         `json:"phase,omitempty"`
	Reason        string         `json:"reason,omitempty"`
	NominatedNode string         `json:"nominatedNodeName,omitempty"`
	Conditions    []condition    `json:"conditions,omitempty"`
	Taints        []corev1.Taint `json:"taints,omitempty"`
	Unschedulable bool           `json:"unschedulable,omitempty"`
	Replicas      *int32         `json:"replicas,omitempty"`
	TargetSize    *int32         `json:"targetSize,omitempty"`
	Disruptions   *disruptions   `json:"disruptions,omitempty"`
	// Unbound: the node beside the state is the one a DaemonSet's pod is for, not one it is bound to.
	Unbound bool `json:"unbound,omitempty"`
	// Used is what counts against a ResourceQuota.
	Used corev1.ResourceList `json:"used,omitempty"`
	// Scale is what a HorizontalPodAutoscaler decided; its lastScaleTime is the start among the times.
	Scale *scale `json:"scale,omitempty"`
	// Containers are those of a pod that have more to say than its conditions do.
	Containers []container `json:"containers,omitempty"`
	// Resize is the status.resize of pods before Kubernetes 1.33, where conditions say it now.
	Resize string `json:"resize,omitempty"`
	// Status is that of a custom object, projected, its times included.
	Status json.RawMessage `json:"status,omitempty"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

type scale struct {
	Current int32 `json:"current"`
	Desired int32 `json:"desired"`
}

type disruptions struct {
	Allowed        int32 `json:"allowed"`
	CurrentHealthy int32 `json:"currentHealthy"`
	DesiredHealthy int32 `json:"desiredHealthy"`
	ExpectedPods   int32 `json:"expectedPods"`
}

// Times are the moments that go with a state, beside it. transitions are those of the conditions, then when each
// container's last termination began and ended.
type times struct {
	start, deletion metav1.Time
	transitions     []metav1.Time
}

// takeState moves the state out of a projected object, which is changed.
func takeState(o scalehist.Object) (s State, node string, t times, has bool, err error) {
	if d := o.GetDeletionTimestamp(); d != nil {
		t.deletion = *d
		o.SetDeletionTimestamp(nil)
	}
	has = true
	switch o := o.(type) {
	case *corev1.Pod:
		s.Phase, s.Reason, s.NominatedNode = string(o.Status.Phase), o.Status.Reason, o.Status.NominatedNodeName
		for _, c := range o.Status.Conditions {
			s.Conditions = append(s.Conditions, condition{string(c.Type), string(c.Status), c.Reason, c.Message})
			t.transitions = append(t.transitions, c.LastTransitionTime)
		}
		if o.Status.StartTime != nil {
			t.start = *o.Status.StartTime
		}
		s.Resize = string(o.Status.Resize) // of clusters before 1.33
		s.Containers = takeContainers(&o.Status, &t)
		node = o.Spec.NodeName
		if target := takeTarget(&o.Spec); target != "" {
			s.Unbound, node = node == "", target
		}
		o.Spec.NodeName = ""
		o.Status = corev1.PodStatus{}
	case *corev1.Node:
		s.Taints, s.Unschedulable = o.Spec.Taints, o.Spec.Unschedulable
		for _, c := range o.Status.Conditions {
			s.Conditions = append(s.Conditions, condition{string(c.Type), string(c.Status), c.Reason, ""})
			t.transitions = append(t.transitions, c.LastTransitionTime)
		}
		o.Spec.Taints, o.Spec.Unschedulable, o.Status.Conditions = nil, false, nil
	case *batchv1.Job:
		for _, c := range o.Status.Conditions {
			s.Conditions = append(s.Conditions, condition{string(c.Type), string(c.Status), c.Reason, ""})
			t.transitions = append(t.transitions, c.LastTransitionTime)
		}
		o.Status = batchv1.JobStatus{}
	case *v1alpha1.NodeGroup:
		s.TargetSize = projection.Clone(&o.Spec.TargetSize)
		o.Spec.TargetSize = 0
	case *autoscalingv2.HorizontalPodAutoscaler:
		s.Scale = &scale{o.Status.CurrentReplicas, o.Status.DesiredReplicas}
		for _, c := range o.Status.Conditions {
			s.Conditions = append(s.Conditions, condition{string(c.Type), string(c.Status), c.Reason, ""})
			t.transitions = append(t.transitions, c.LastTransitionTime)
		}
		if o.Status.LastScaleTime != nil {
			t.start = *o.Status.LastScaleTime
		}
		o.Status = autoscalingv2.HorizontalPodAutoscalerStatus{}
	case *appsv1.Deployment:
		s.Replicas, o.Spec.Replicas = o.Spec.Replicas, nil
	case *appsv1.ReplicaSet:
		s.Replicas, o.Spec.Replicas = o.Spec.Replicas, nil
	case *appsv1.StatefulSet:
		s.Replicas, o.Spec.Replicas = o.Spec.Replicas, nil
	case *corev1.ReplicationController:
		s.Replicas, o.Spec.Replicas = o.Spec.Replicas, nil
	case *policyv1.PodDisruptionBudget:
		s.Disruptions = &disruptions{o.Status.DisruptionsAllowed, o.Status.CurrentHealthy, o.Status.DesiredHealthy, o.Status.ExpectedPods}
		o.Status = policyv1.PodDisruptionBudgetStatus{}
	case *corev1.ResourceQuota:
		s.Used = o.Status.Used
		o.Status = corev1.ResourceQuotaStatus{}
	case *unstructured.Unstructured:
		err = takeCustomState(o, &s)
	default:
		has = false
	}
	return s, node, t, has, err
}

// putState is the inverse of takeState. o is the caller's own.
func putState(o scalehist.Object, s *State, node string, t times) error {
	if !t.deletion.IsZero() {
		o.SetDeletionTimestamp(projection.Clone(&t.deletion))
	}
	if s == nil {
		return nil
	}
	at := func(i int) metav1.Time {
		if i < len(t.transitions) {
			return t.transitions[i]
		}
		return metav1.Time{}
	}
	switch o := o.(type) {
	case *corev1.Pod:
		if putTarget(&o.Spec, node); !s.Unbound {
			o.Spec.NodeName = node
		}
		o.Status.Phase, o.Status.Reason = corev1.PodPhase(s.Phase), s.Reason
		o.Status.NominatedNodeName = s.NominatedNode
		for i, c := range s.Conditions {
			o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(c.Type),
				Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, LastTransitionTime: at(i)})
		}
		if !t.start.IsZero() {
			o.Status.StartTime = projection.Clone(&t.start)
		}
		o.Status.Resize = corev1.PodResizeStatus(s.Resize) //nolint:staticcheck // of clusters before 1.33
		putContainers(&o.Status, s.Containers, func(i int) metav1.Time { return at(len(s.Conditions) + i) })
	case *corev1.Node:
		o.Spec.Unschedulable = s.Unschedulable
		for i := range s.Taints {
			o.Spec.Taints = append(o.Spec.Taints, *s.Taints[i].DeepCopy())
		}
		for i, c := range s.Conditions {
			o.Status.Conditions = append(o.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeConditionType(c.Type),
				Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, LastTransitionTime: at(i)})
		}
	case *batchv1.Job:
		for i, c := range s.Conditions {
			o.Status.Conditions = append(o.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobConditionType(c.Type),
				Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, LastTransitionTime: at(i)})
		}
	case *v1alpha1.NodeGroup:
		if s.TargetSize != nil {
			o.Spec.TargetSize = *s.TargetSize
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		if s.Scale != nil {
			o.Status.CurrentReplicas, o.Status.DesiredReplicas = s.Scale.Current, s.Scale.Desired
		}
		for i, c := range s.Conditions {
			o.Status.Conditions = append(o.Status.Conditions, autoscalingv2.HorizontalPodAutoscalerCondition{
				Type:   autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type),
				Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, LastTransitionTime: at(i)})
		}
		if !t.start.IsZero() {
			o.Status.LastScaleTime = projection.Clone(&t.start)
		}
	case *appsv1.Deployment:
		o.Spec.Replicas = projection.Clone(s.Replicas)
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = projection.Clone(s.Replicas)
	case *appsv1.StatefulSet:
		o.Spec.Replicas = projection.Clone(s.Replicas)
	case *corev1.ReplicationController:
		o.Spec.Replicas = projection.Clone(s.Replicas)
	case *policyv1.PodDisruptionBudget:
		if d := s.Disruptions; d != nil {
			o.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: d.Allowed, CurrentHealthy: d.CurrentHealthy,
				DesiredHealthy: d.DesiredHealthy, ExpectedPods: d.ExpectedPods}
		}
	case *corev1.ResourceQuota:
		o.Status = corev1.ResourceQuotaStatus{Hard: o.Spec.Hard.DeepCopy(), Used: s.Used.DeepCopy()}
	case *unstructured.Unstructured:
		return putCustomState(o, s)
	}
	return nil
}

// format writes the times as offsets in whole seconds after base, the precision the API server keeps; "" for none.
func (t times) format(base time.Time) string {
	if t.start.IsZero() && t.deletion.IsZero() && len(t.transitions) == 0 {
		return ""
	}
	var b strings.Builder
	for i, v := range append([]metav1.Time{t.start, t.deletion}, t.transitions...) {
		if i > 0 {
			b.WriteByte(',')
		}
		if !v.IsZero() {
			b.WriteString(strconv.FormatInt(v.Unix()-base.Unix(), 10))
		}
	}
	return b.String()
}

func parseTimes(s string, base time.Time) (times, error) {
	var t times
	if s == "" {
		return t, nil
	}
	for i, f := range strings.Split(s, ",") {
		var v metav1.Time
		if f != "" {
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return t, fmt.Errorf("column times %q: %w", s, err)
			}
			v = metav1.NewTime(time.Unix(base.Unix()+n, 0).UTC())
		}
		switch i {
		case 0:
			t.start = v
		case 1:
			t.deletion = v
		default:
			t.transitions = append(t.transitions, v)
		}
	}
	return t, nil
}
