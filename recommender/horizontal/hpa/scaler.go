package hpa

import (
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Scaler is one HorizontalPodAutoscaler and what its controller remembers of it. It is not safe for concurrent use.
type Scaler struct {
	options Options
	hpa     *autoscalingv2.HorizontalPodAutoscaler
	memory  memory
	// rivals are the autoscalers that select some of the pods of a selector, this one among them, by name. It is nil where there are no others.
	rivals func(selector labels.Selector, pods []*corev1.Pod) []string
	// selector is that of the target, parsed of selectorText.
	selector     labels.Selector
	selectorText string
}

// New gives the scaler of an object, with the conditions of its status and without any other memory: as after a restart of the controller.
// It fills in the defaults, and refuses objects that no API server stores.
func New(hpa *autoscalingv2.HorizontalPodAutoscaler, o Options) (*Scaler, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("horizontal pod autoscaler: %w", err)
	}
	object, err := stored(hpa)
	if err != nil {
		return nil, err
	}
	return &Scaler{options: o, hpa: object}, nil
}

// SetSpec gives the scaler another spec of the same object. Status, recommendations and scale events remain, as upstream keeps them by name.
func (s *Scaler) SetSpec(spec autoscalingv2.HorizontalPodAutoscalerSpec) error {
	changed := s.hpa.DeepCopy()
	changed.Spec = spec
	object, err := stored(changed)
	if err != nil {
		return err
	}
	s.hpa = object
	return nil
}

// Object is a copy of the object, with its defaults and the status that the last sync wrote.
func (s *Scaler) Object() *autoscalingv2.HorizontalPodAutoscaler { return s.hpa.DeepCopy() }

// sync is one reconciliation: what it reads, and the decision it comes to.
type sync struct {
	*Scaler
	now     time.Time
	target  Target
	metrics Metrics
	d       *Decision
}

// Reconcile is one sync. Times must not decrease from one to the next. Metrics are asked for what the spec has, in its order, and not at all
// where the size does not depend on them.
func (s *Scaler) Reconcile(now time.Time, t Target, m Metrics) Decision {
	name := types.NamespacedName{Namespace: s.hpa.Namespace, Name: s.hpa.Name}
	d := Decision{Autoscaler: name, Time: now, From: t.SpecReplicas, To: t.SpecReplicas, Decided: -1}
	run := &sync{Scaler: s, now: now, target: t, metrics: m, d: &d}
	if err := run.reconcile(); err != nil {
		d.Error = err.Error()
	}
	d.Conditions = slices.Clone(s.hpa.Status.Conditions)
	return d
}

// reconcile is reconcileAutoscaler of upstream: where the size comes from, what limits it, and what the status shows of that.
func (s *sync) reconcile() error {
	current := s.target.SpecReplicas
	ref := s.hpa.Spec.ScaleTargetRef
	reference := ref.Kind + "/" + s.hpa.Namespace + "/" + ref.Name
	if _, err := schema.ParseGroupVersion(ref.APIVersion); err != nil {
		s.noScale(err)
		return fmt.Errorf("invalid API version in scale target reference: %w", err)
	}
	if err := s.target.Err; err != nil {
		s.noScale(err)
		return fmt.Errorf("failed to query scale subresource for %s: %w", reference, err)
	}
	s.condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	s.memory.begin(current, s.now)

	minReplicas, maxReplicas := *s.hpa.Spec.MinReplicas, s.hpa.Spec.MaxReplicas
	desired := current
	var statuses []autoscalingv2.MetricStatus
	var metricErr error
	switch {
	case current == 0 && !s.scalesFromZero():
		s.condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
		if !s.options.ScaleToZero {
			s.dropCondition(autoscalingv2.ScaledToZero)
		}
	case current > maxReplicas:
		desired, s.d.Reason = maxReplicas, "Current number of replicas above Spec.MaxReplicas"
	case current != 0 && current < minReplicas:
		desired, s.d.Reason = minReplicas, "Current number of replicas below Spec.MinReplicas"
	default:
		var name string
		desired, name, statuses, metricErr = s.recommend()
		if metricErr != nil && desired == unknown {
			s.status(s.hpa.Status.DesiredReplicas, statuses)
			s.warn("FailedComputeMetricsReplicas", metricErr)
			return fmt.Errorf("failed to compute desired number of replicas based on listed metrics for %s: %w", reference, metricErr)
		}
		desired = s.limit(max(desired, 0), name, minReplicas)
	}
	s.d.To = desired
	if desired != current {
		if err := s.rescale(reference, statuses); err != nil {
			return err
		}
	}
	s.status(desired, statuses)
	return metricErr
}

// noScale records that the size of the target is not known.
func (s *sync) noScale(err error) {
	s.warn("FailedGetScale", err)
	s.condition(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedGetScale",
		fmt.Sprintf("the HPA controller was unable to get the target's current scale: %v", err))
}

// scalesFromZero says whether a target without replicas is left for the autoscaler to scale up: it must have scaled it to zero itself.
// Elsewhere zero replicas mean that somebody turned the autoscaler off. Upstream asks for a metric that has a value without pods too, which
// validation asks for already.
func (s *sync) scalesFromZero() bool { return s.options.ScaleToZero && s.scaledToZero() }

// rescale gives the target the size of the decision.
func (s *sync) rescale(reference string, statuses []autoscalingv2.MetricStatus) error {
	from, to := s.d.From, s.d.To
	if s.target.Update != nil {
		if err := s.target.Update(to); err != nil {
			s.event(corev1.EventTypeWarning, "FailedRescale", "New size: %d; reason: %s; error: %v", to, s.d.Reason, err)
			s.condition(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedUpdateScale",
				fmt.Sprintf("the HPA controller was unable to update the target scale: %v", err))
			s.status(s.hpa.Status.DesiredReplicas, statuses)
			return fmt.Errorf("failed to rescale %s: %w", reference, err)
		}
	}
	s.d.Rescaled = true
	s.condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededRescale",
		fmt.Sprintf("the HPA controller was able to update the target scale to %d", to))
	s.event(corev1.EventTypeNormal, "SuccessfulRescale", "New size: %d; reason: %s", to, s.d.Reason)
	if b := s.hpa.Spec.Behavior; b != nil {
		s.memory.rescaled(b, from, to, s.now)
	}
	switch {
	case !s.options.ScaleToZero:
		s.dropCondition(autoscalingv2.ScaledToZero)
	case to == 0:
		s.condition(autoscalingv2.ScaledToZero, corev1.ConditionTrue, "ScaledToZero", "the HPA controller scaled the workload to zero")
	default:
		s.condition(autoscalingv2.ScaledToZero, corev1.ConditionFalse, "NotScaledToZero", "the HPA controller did not scale the workload to zero")
	}
	at := metav1.NewTime(s.now)
	s.hpa.Status.LastScaleTime = &at
	return nil
}

// status writes sizes and metrics to the status.
func (s *sync) status(desired int32, metrics []autoscalingv2.MetricStatus) {
	st := &s.hpa.Status
	st.ObservedGeneration = nil // upstream writes the status without it
	st.CurrentReplicas, st.DesiredReplicas, st.CurrentMetrics = s.target.SpecReplicas, desired, metrics
}
