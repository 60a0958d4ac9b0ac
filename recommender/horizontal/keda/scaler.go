package keda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
)

// Scaler follows one ScaledObject.
type Scaler struct {
	object *ScaledObject
	asker  elasti.Asker
	// created and lastActive are as in its status; lastActive is zero before any activity.
	created, lastActive time.Time
	// failures counts those of each trigger in a row.
	failures []int32
}

// NewScaler follows a ScaledObject that is there since created; lastActive is when a trigger was last active, zero: never.
func NewScaler(o *ScaledObject, asker elasti.Asker, created, lastActive time.Time) *Scaler {
	return &Scaler{object: o, asker: asker, created: created, lastActive: lastActive, failures: make([]int32, len(o.Spec.Triggers))}
}

// Update follows another specification; activity is remembered, and failures of as many triggers.
func (s *Scaler) Update(o *ScaledObject) {
	s.object = o
	if len(s.failures) != len(o.Spec.Triggers) {
		s.failures = make([]int32, len(o.Spec.Triggers))
	}
}

// Object is the ScaledObject.
func (s *Scaler) Object() *ScaledObject { return s.object }

// Interval is how often Poll is to be called.
func (s *Scaler) Interval() time.Duration { return s.object.Spec.polling() }

// Reading is what a trigger answered.
type Reading struct {
	Query             string
	Value, Activation float64
	Err               error
}

// Decision is what a poll does.
type Decision struct {
	From, To int32
	// Active: a trigger is. FallingBack: one has failed so often that the fallback counts.
	Active, FallingBack bool
	Message             string
	Readings            []Reading
}

// Poll looks at the triggers: it scales from zero and to zero, or to and from idleReplicaCount, and leaves the rest to the HorizontalPodAutoscaler.
func (s *Scaler) Poll(ctx context.Context, now time.Time, replicas int32) Decision {
	spec := &s.object.Spec
	d := Decision{From: replicas, To: replicas}
	if count, paused := s.object.paused(); paused {
		d.Message = "it is paused"
		if count != nil {
			d.To, d.Message = *count, fmt.Sprintf("it is paused at %d", *count)
		}
		return d
	}
	var failed error
	for i := range spec.Triggers {
		t := &spec.Triggers[i]
		if !t.external() {
			continue // the metrics API is asked by the HorizontalPodAutoscaler alone
		}
		v, err := s.ask(ctx, i, now)
		d.Readings = append(d.Readings, Reading{t.text(), v, t.activation, err})
		switch {
		case err != nil:
			failed = err
			d.FallingBack = d.FallingBack || s.fallsBack(i)
		case t.window != nil && t.window.open(now), t.window == nil && v > t.activation: // "greater than", https://keda.sh/docs/2.21/concepts/scaling-deployments/#activating-and-scaling-thresholds
			d.Active = true
		}
	}
	if d.Active || d.FallingBack {
		s.lastActive = now
	}
	low := max(spec.MinReplicaCount, 1)
	idle := spec.IdleReplicaCount
	switch {
	case d.Active || d.FallingBack:
		d.Message = "a trigger is active"
		if !d.Active {
			d.Message = "a trigger has failed more often than failureThreshold, which counts as activity: " + failed.Error()
		}
		if replicas == 0 || idle != nil && replicas < spec.MinReplicaCount {
			d.To = low
		}
	case failed != nil:
		d.Message = "no trigger is known to be active, and one failed: " + failed.Error()
	case idle != nil && replicas > *idle, spec.MinReplicaCount == 0 && replicas > 0:
		d.Message = s.cooling(now)
		if d.Message == "" {
			d.Message = fmt.Sprintf("no trigger is active, since %s or longer", spec.cooldown())
			if idle != nil {
				d.To = *idle
			} else {
				d.To = 0
			}
		}
	case idle == nil && replicas < spec.MinReplicaCount:
		d.To, d.Message = spec.MinReplicaCount, "there are fewer than minReplicaCount"
	default:
		d.Message = "no trigger is active"
	}
	switch {
	case d.To < d.From && s.object.annotated(AnnotationPausedScaleIn):
		d.To, d.Message = d.From, d.Message+"; scaling in is paused"
	case d.To > d.From && s.object.annotated(AnnotationPausedScaleOut):
		d.To, d.Message = d.From, d.Message+"; scaling out is paused"
	}
	return d
}

// cooling says why a workload without activity is not scaled to zero yet; empty: it is. The cooldown applies after a trigger was active; before, only
// initialCooldownPeriod does: https://keda.sh/docs/2.21/reference/scaledobject-spec/#cooldownperiod.
func (s *Scaler) cooling(now time.Time) string {
	spec := &s.object.Spec
	if initial := time.Duration(spec.InitialCooldownPeriod) * time.Second; now.Before(s.created.Add(initial)) {
		return fmt.Sprintf("no trigger is active, in the initialCooldownPeriod of %s", initial)
	}
	if s.lastActive.IsZero() || s.lastActive.Add(spec.cooldown()).Before(now) {
		return ""
	}
	return fmt.Sprintf("no trigger is active, for %s of %s", now.Sub(s.lastActive), spec.cooldown())
}

// Metric answers the HorizontalPodAutoscaler about a trigger: its value, or while it falls back the one that asks for so many replicas.
func (s *Scaler) Metric(ctx context.Context, trigger int, now time.Time, replicas int32) (float64, error) {
	v, err := s.ask(ctx, trigger, now)
	if err == nil || !s.fallsBack(trigger) {
		return v, err
	}
	return s.object.Spec.Triggers[trigger].threshold * float64(s.fallback(replicas)), nil
}

// ask evaluates a trigger, and counts its failures: https://keda.sh/docs/2.21/scalers/prometheus/.
func (s *Scaler) ask(ctx context.Context, trigger int, now time.Time) (float64, error) {
	t := &s.object.Spec.Triggers[trigger]
	if t.window != nil {
		if t.window.open(now) {
			return float64(t.replicas), nil
		}
		return 1, nil // of AverageValue 1: the least that an autoscaler keeps
	}
	values, err := s.asker.Ask(ctx, t.Metadata["query"], now)
	var v float64
	switch {
	case err != nil:
	case len(values) > 1:
		err = fmt.Errorf("query %s has %d series: aggregate them", t.Metadata["query"], len(values))
	case len(values) == 0 && !t.ignoreNull:
		err = fmt.Errorf("query %s has no series, and ignoreNullValues is false", t.Metadata["query"])
	case len(values) == 1 && (math.IsInf(values[0], 0) || math.IsNaN(values[0])):
		if !t.ignoreNull {
			err = fmt.Errorf("query %s is %v, and ignoreNullValues is false", t.Metadata["query"], values[0])
		}
	case len(values) == 1:
		v = values[0]
	}
	if err != nil {
		s.failures[trigger]++
		return 0, err
	}
	s.failures[trigger] = 0
	return v, nil
}

// fallsBack says whether a trigger has failed more often in a row than failureThreshold. Triggers of Value have no fallback.
func (s *Scaler) fallsBack(trigger int) bool {
	f := s.object.Spec.Fallback
	return f != nil && s.object.Spec.Triggers[trigger].MetricType == string(autoscalingv2.AverageValueMetricType) && s.failures[trigger] > f.FailureThreshold
}

// fallback is how many replicas the fallback asks for.
func (s *Scaler) fallback(current int32) int32 {
	f := s.object.Spec.Fallback
	switch f.Behavior {
	case behaviorCurrent:
		return current
	case behaviorHigher:
		return max(current, f.Replicas)
	case behaviorLower:
		return min(current, f.Replicas)
	}
	return f.Replicas
}

// TriggerOf is the trigger behind the name of an external metric; an error if it is none of the ScaledObject's.
func (s *Scaler) TriggerOf(metric string) (int, error) {
	for i := range s.object.Spec.Triggers {
		if t := &s.object.Spec.Triggers[i]; t.external() && metricName(i, t.Type) == metric {
			return i, nil
		}
	}
	return 0, errors.New("no trigger has the metric " + metric)
}
