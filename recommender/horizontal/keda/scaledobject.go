package keda

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// APIVersion and Kind are those of ScaledObjects.
const (
	APIVersion = "keda.sh/v1alpha1"
	Kind       = "ScaledObject"
)

// The annotations that pause: https://keda.sh/docs/2.21/concepts/scaling-deployments/#pause-autoscaling.
const (
	AnnotationPaused         = "autoscaling.keda.sh/paused"
	AnnotationPausedReplicas = "autoscaling.keda.sh/paused-replicas"
	AnnotationPausedScaleIn  = "autoscaling.keda.sh/paused-scale-in"
	AnnotationPausedScaleOut = "autoscaling.keda.sh/paused-scale-out"
)

// Defaults of the specification.
const (
	defaultPolling  = 30 * time.Second
	defaultCooldown = 300 * time.Second
	defaultMax      = 100
)

// QueryTimeout is how long KEDA waits for an answer (KEDA_HTTP_DEFAULT_TIMEOUT).
const QueryTimeout = 3 * time.Second

// ScaledObject is what people write.
type ScaledObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec            `json:"spec"`
	Status            json.RawMessage `json:"status,omitempty"`
}

// Spec is its specification.
type Spec struct {
	ScaleTargetRef struct {
		APIVersion             string `json:"apiVersion,omitempty"`
		Kind                   string `json:"kind,omitempty"`
		Name                   string `json:"name"`
		EnvSourceContainerName string `json:"envSourceContainerName,omitempty"`
	} `json:"scaleTargetRef"`
	PollingInterval       *int32    `json:"pollingInterval,omitempty"`
	CooldownPeriod        *int32    `json:"cooldownPeriod,omitempty"`
	InitialCooldownPeriod int32     `json:"initialCooldownPeriod,omitempty"`
	IdleReplicaCount      *int32    `json:"idleReplicaCount,omitempty"`
	MinReplicaCount       int32     `json:"minReplicaCount,omitempty"`
	MaxReplicaCount       *int32    `json:"maxReplicaCount,omitempty"`
	Fallback              *Fallback `json:"fallback,omitempty"`
	Advanced              struct {
		RestoreToOriginalReplicaCount bool `json:"restoreToOriginalReplicaCount,omitempty"`
		HorizontalPodAutoscalerConfig struct {
			Name     string                                         `json:"name,omitempty"`
			Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
		} `json:"horizontalPodAutoscalerConfig,omitempty"`
		ScalingModifiers map[string]any `json:"scalingModifiers,omitempty"`
	} `json:"advanced,omitempty"`
	Triggers []Trigger `json:"triggers"`
}

// Fallback is what becomes of a workload whose triggers fail.
type Fallback struct {
	FailureThreshold int32  `json:"failureThreshold"`
	Replicas         int32  `json:"replicas"`
	Behavior         string `json:"behavior,omitempty"`
}

// Trigger is a source of metrics.
type Trigger struct {
	Type              string            `json:"type"`
	Name              string            `json:"name,omitempty"`
	MetricType        string            `json:"metricType,omitempty"`
	UseCachedMetrics  bool              `json:"useCachedMetrics,omitempty"`
	Metadata          map[string]string `json:"metadata"`
	AuthenticationRef map[string]string `json:"authenticationRef,omitempty"`

	threshold, activation float64
	ignoreNull            bool
	window                *window // of cron
	replicas              int64   // of cron, in its window
}

// external says whether KEDA answers the HorizontalPodAutoscaler about the trigger; the metrics API does about others.
func (t *Trigger) external() bool { return t.Type == triggerPrometheus || t.Type == triggerCron }

// text is what the trigger looks at.
func (t *Trigger) text() string {
	if t.window != nil {
		return fmt.Sprintf("cron %s to %s %s", t.Metadata["start"], t.Metadata["end"], t.Metadata["timezone"])
	}
	return t.Metadata["query"]
}

// The types of triggers and of fallbacks that are modelled.
const (
	triggerPrometheus = "prometheus"
	triggerCPU        = "cpu"
	triggerMemory     = "memory"
	triggerCron       = "cron"

	behaviorStatic  = "static"
	behaviorCurrent = "currentReplicas"
	behaviorHigher  = "currentReplicasIfHigher"
	behaviorLower   = "currentReplicasIfLower"
)

// Parse reads a ScaledObject, and says what of it is wrong, or is not modelled.
func Parse(data []byte) (*ScaledObject, error) {
	o := &ScaledObject{}
	if err := json.Unmarshal(data, o); err != nil {
		return nil, fmt.Errorf("%s: %w", Kind, err)
	}
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	s := &o.Spec
	s.ScaleTargetRef.APIVersion = cmp.Or(s.ScaleTargetRef.APIVersion, "apps/v1")
	s.ScaleTargetRef.Kind = cmp.Or(s.ScaleTargetRef.Kind, "Deployment")
	switch {
	case s.ScaleTargetRef.Name == "":
		wrong("spec.scaleTargetRef.name is not set")
	case len(s.Triggers) == 0:
		wrong("spec.triggers: there are none")
	case len(s.Advanced.ScalingModifiers) > 0:
		wrong("spec.advanced.scalingModifiers (formula %q) are not modelled: write the formula as the query of one prometheus trigger", fmt.Sprint(s.Advanced.ScalingModifiers["formula"]))
	case s.polling() <= 0 || s.cooldown() < 0 || s.InitialCooldownPeriod < 0:
		wrong("pollingInterval must be positive, cooldowns must not be negative")
	case s.MinReplicaCount < 0 || s.max() < max(s.MinReplicaCount, 1):
		wrong("minReplicaCount %d, maxReplicaCount %d: want 0 <= min <= max", s.MinReplicaCount, s.max())
	case s.IdleReplicaCount != nil && (*s.IdleReplicaCount < 0 || *s.IdleReplicaCount >= s.MinReplicaCount):
		wrong("idleReplicaCount %d must be less than minReplicaCount %d", *s.IdleReplicaCount, s.MinReplicaCount)
	}
	if f := s.Fallback; f != nil {
		f.Behavior = cmp.Or(f.Behavior, behaviorStatic)
		if f.FailureThreshold < 0 || f.Replicas < 0 || !slices.Contains([]string{behaviorStatic, behaviorCurrent, behaviorHigher, behaviorLower}, f.Behavior) {
			wrong("fallback: failureThreshold %d, replicas %d, behavior %s: want none negative, and static, currentReplicas, currentReplicasIfHigher or currentReplicasIfLower", f.FailureThreshold, f.Replicas, f.Behavior)
		}
	}
	external := false
	for i := range s.Triggers {
		if err := s.Triggers[i].parse(); err != nil {
			wrong("triggers[%d]: %w", i, err)
		}
		external = external || s.Triggers[i].external()
	}
	if !external && s.MinReplicaCount == 0 && len(errs) == 0 {
		wrong("minReplicaCount 0 with triggers of cpu and memory alone: nothing would ever scale it from zero")
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s/%s/%s: %w", Kind, o.Namespace, o.Name, errors.Join(errs...))
	}
	return o, nil
}

func (t *Trigger) parse() (err error) {
	number := func(key string, fallback float64) float64 {
		text, has := t.Metadata[key]
		if !has {
			return fallback
		}
		v, parseErr := strconv.ParseFloat(text, 64)
		if parseErr != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			err = errors.Join(err, fmt.Errorf("metadata.%s %q: want a number", key, text))
		}
		return v
	}
	switch t.Type {
	case triggerPrometheus:
		t.threshold, t.activation = number("threshold", math.NaN()), number("activationThreshold", 0)
		t.ignoreNull = t.Metadata["ignoreNullValues"] != "false"
		t.MetricType = cmp.Or(t.MetricType, string(autoscalingv2.AverageValueMetricType))
		switch {
		case t.Metadata["query"] == "":
			err = errors.Join(err, errors.New("metadata.query is not set"))
		case !(t.threshold > 0) && err == nil:
			err = errors.New("metadata.threshold is not set, or not above 0")
		case t.MetricType == string(autoscalingv2.UtilizationMetricType):
			err = errors.Join(err, errors.New("metricType Utilization is for cpu and memory"))
		}
	case triggerCron:
		t.threshold, t.MetricType = 1, cmp.Or(t.MetricType, string(autoscalingv2.AverageValueMetricType))
		t.window, err = parseWindow(t.Metadata)
		n, parseErr := strconv.ParseInt(t.Metadata["desiredReplicas"], 10, 32)
		if t.replicas = n; parseErr != nil || n < 0 {
			err = errors.Join(err, fmt.Errorf("metadata.desiredReplicas %q: want a number of replicas", t.Metadata["desiredReplicas"]))
		}
		if t.MetricType == string(autoscalingv2.UtilizationMetricType) {
			err = errors.Join(err, errors.New("metricType Utilization is for cpu and memory"))
		}
	case triggerCPU, triggerMemory:
		t.MetricType = cmp.Or(t.MetricType, string(autoscalingv2.UtilizationMetricType))
		if _, parseErr := resource.ParseQuantity(t.Metadata["value"]); parseErr != nil {
			err = fmt.Errorf("metadata.value %q: want a quantity", t.Metadata["value"])
		}
	default:
		err = fmt.Errorf("type %q is not modelled: prometheus, cron, cpu and memory are; what another source says can be a query of prometheus", t.Type)
	}
	return err
}

func seconds(p *int32, fallback time.Duration) time.Duration {
	if p == nil {
		return fallback
	}
	return time.Duration(*p) * time.Second
}

func (s *Spec) polling() time.Duration  { return seconds(s.PollingInterval, defaultPolling) }
func (s *Spec) cooldown() time.Duration { return seconds(s.CooldownPeriod, defaultCooldown) }
func (s *Spec) max() int32 {
	if s.MaxReplicaCount == nil {
		return defaultMax
	}
	return *s.MaxReplicaCount
}

// metricName is the external metric of a trigger for the HorizontalPodAutoscaler, as KEDA names it; of cron KEDA's has the times too.
func metricName(i int, kind string) string { return fmt.Sprintf("s%d-%s", i, kind) }

// HPA is the HorizontalPodAutoscaler that KEDA makes for a ScaledObject (https://keda.sh/docs/2.21/concepts/scaling-deployments/): it never has less than one
// replica; pausing in one direction takes that one's policies away. Nil while it is paused.
func (o *ScaledObject) HPA() *autoscalingv2.HorizontalPodAutoscaler {
	if _, paused := o.paused(); paused {
		return nil
	}
	s := &o.Spec
	minimum := max(s.MinReplicaCount, 1)
	h := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: cmp.Or(s.Advanced.HorizontalPodAutoscalerConfig.Name, "keda-hpa-"+o.Name)},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: s.ScaleTargetRef.APIVersion, Kind: s.ScaleTargetRef.Kind, Name: s.ScaleTargetRef.Name},
			MinReplicas:    &minimum, MaxReplicas: s.max(), Behavior: s.Advanced.HorizontalPodAutoscalerConfig.Behavior.DeepCopy(),
		},
	}
	for i := range s.Triggers {
		h.Spec.Metrics = append(h.Spec.Metrics, s.Triggers[i].metric(i, o.Name))
	}
	disabled := autoscalingv2.DisabledPolicySelect
	if o.annotated(AnnotationPausedScaleIn) || o.annotated(AnnotationPausedScaleOut) {
		if h.Spec.Behavior == nil {
			h.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
		}
		if h.Spec.Behavior.ScaleDown == nil {
			h.Spec.Behavior.ScaleDown = &autoscalingv2.HPAScalingRules{}
		}
		if h.Spec.Behavior.ScaleUp == nil {
			h.Spec.Behavior.ScaleUp = &autoscalingv2.HPAScalingRules{}
		}
	}
	if o.annotated(AnnotationPausedScaleIn) {
		h.Spec.Behavior.ScaleDown.SelectPolicy = &disabled
	}
	if o.annotated(AnnotationPausedScaleOut) {
		h.Spec.Behavior.ScaleUp.SelectPolicy = &disabled
	}
	return h
}

// metric is what a HorizontalPodAutoscaler asks for about a trigger; KEDA's metrics server finds the ScaledObject by the label.
func (t *Trigger) metric(i int, object string) autoscalingv2.MetricSpec {
	target := autoscalingv2.MetricTarget{Type: autoscalingv2.MetricTargetType(t.MetricType)}
	if t.external() {
		q := resource.NewMilliQuantity(int64(math.Round(t.threshold*1000)), resource.DecimalSI)
		if target.Type == autoscalingv2.ValueMetricType {
			target.Value = q
		} else {
			target.AverageValue = q
		}
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: metricName(i, t.Type), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"scaledobject.keda.sh/name": object}}}, Target: target}}
	}
	q := resource.MustParse(t.Metadata["value"]) // Parse has read it
	if target.Type == autoscalingv2.UtilizationMetricType {
		percent := int32(q.Value())
		target.AverageUtilization = &percent
	} else {
		target.AverageValue = &q
	}
	if c := t.Metadata["containerName"]; c != "" {
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ContainerResourceMetricSourceType, ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
			Name: corev1.ResourceName(t.Type), Container: c, Target: target}}
	}
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceName(t.Type), Target: target}}
}

func (o *ScaledObject) annotated(key string) bool { return o.Annotations[key] == "true" }

// paused says whether everything stands still, and at how many replicas; nil: at those that there are.
func (o *ScaledObject) paused() (replicas *int32, paused bool) {
	if text, has := o.Annotations[AnnotationPausedReplicas]; has {
		if n, err := strconv.ParseInt(text, 10, 32); err == nil && n >= 0 {
			count := int32(n)
			return &count, true
		}
	}
	return nil, o.annotated(AnnotationPaused)
}
