package v1alpha1

import (
	_ "embed"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group and Version are those of the API.
	Group, Version = "elasti.truefoundry.com", "v1alpha1"
	// Kind and Resource name the one kind.
	Kind, Resource = "ElastiService", "elastiservices"
)

var (
	// GroupVersion is elasti.truefoundry.com/v1alpha1.
	GroupVersion = schema.GroupVersion{Group: Group, Version: Version}
	// GroupVersionResource is what clients ask for.
	GroupVersionResource = GroupVersion.WithResource(Resource)
)

// Definition is the CustomResourceDefinition, as YAML.
//
//go:embed crd.yaml
var Definition []byte

const (
	// DefaultCooldownSeconds, MaxCooldownSeconds bound CooldownPeriod: a quarter of an hour, a week.
	DefaultCooldownSeconds, MaxCooldownSeconds = 900, 604800
	// DefaultSchedule and DefaultDuration are an enabled period that is always open.
	DefaultSchedule, DefaultDuration = "0 0 * * *", "24h"
)

// ElastiService scales one workload to zero while its triggers say that nobody needs it, and back.
type ElastiService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ElastiServiceSpec   `json:"spec"`
	Status ElastiServiceStatus `json:"status,omitempty"`
}

// ElastiServiceSpec is what is scaled, and when.
type ElastiServiceSpec struct {
	// ScaleTargetRef is the workload, in the namespace of the ElastiService.
	ScaleTargetRef ScaleTargetRef `json:"scaleTargetRef"`
	// Service is the Service in front of the workload. Only KubeElasti's resolver reads it.
	Service string `json:"service"`
	// MinTargetReplicas is the number of replicas that it is given when it is needed; 1 where it is not set.
	MinTargetReplicas int32 `json:"minTargetReplicas,omitempty"`
	// CooldownPeriod is how many seconds it must have been without need before it is scaled to zero; DefaultCooldownSeconds where it is nil.
	CooldownPeriod *int32 `json:"cooldownPeriod,omitempty"`
	// Triggers say whether it is needed: one is enough.
	Triggers []ScaleTrigger `json:"triggers,omitempty"`
	// Autoscaler is who scales the workload between one and many.
	Autoscaler *AutoscalerSpec `json:"autoscaler,omitempty"`
	// EnabledPeriod is when it may be scaled to zero; always where it is nil.
	EnabledPeriod *EnabledPeriod `json:"enabledPeriod,omitempty"`
	// ProbeResponse is what KubeElasti's resolver answers while there are no replicas. Nothing here reads it.
	ProbeResponse json.RawMessage `json:"probeResponse,omitempty"`
}

// ScaleTargetRef names a workload with a scale subresource.
type ScaleTargetRef struct {
	APIVersion string `json:"apiVersion"`
	// Kind is a kind. The plurals "deployments" and "rollouts" are taken too, as in old objects.
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// GroupKind is the group and the kind, of the plurals that are taken too the kind that they mean.
func (r ScaleTargetRef) GroupKind() (schema.GroupKind, string, error) {
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	kind := r.Kind
	switch kind {
	case "deployments":
		kind = "Deployment"
	case "rollouts":
		kind = "Rollout"
	}
	return schema.GroupKind{Group: gv.Group, Kind: kind}, gv.Version, err
}

// ScaleTrigger is one condition.
type ScaleTrigger struct {
	// Type is how it is asked: "prometheus".
	Type string `json:"type"`
	// Metadata are the settings of the type: an object.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

const (
	// AutoscalerHPA is a HorizontalPodAutoscaler, which does nothing at zero replicas by itself.
	AutoscalerHPA = "hpa"
	// AutoscalerKEDA is a ScaledObject, which must be paused.
	AutoscalerKEDA = "keda"
)

// AutoscalerSpec names another autoscaler of the workload, in the same namespace.
type AutoscalerSpec struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// EnabledPeriod opens at each time of a schedule, for a duration.
type EnabledPeriod struct {
	// Schedule is a cron expression of five fields, in UTC; DefaultSchedule where it is empty.
	Schedule string `json:"schedule,omitempty"`
	// Duration is as Go writes durations ("8h"); DefaultDuration where it is empty.
	Duration string `json:"duration,omitempty"`
}

const (
	// ModeServe is of a workload with a pod that is ready, ModeProxy of one without.
	ModeServe, ModeProxy = "serve", "proxy"
	// ConditionReady says whether the last look could decide; its reason and message are what it decided, or why it could not.
	ConditionReady = "Ready"
)

// ElastiServiceStatus is what the last look found.
type ElastiServiceStatus struct {
	// LastReconciledTime is when its status was last written.
	LastReconciledTime *metav1.Time `json:"lastReconciledTime,omitempty"`
	// LastScaledUpTime is when the workload was last found to be needed: the cooldown counts from it.
	LastScaledUpTime *metav1.Time `json:"lastScaledUpTime,omitempty"`
	// Mode is ModeServe or ModeProxy.
	Mode string `json:"mode,omitempty"`
	// Conditions has ConditionReady.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DeepCopy returns a copy that shares nothing with s.
func (s *ElastiServiceStatus) DeepCopy() *ElastiServiceStatus {
	out := *s
	out.LastReconciledTime, out.LastScaledUpTime = s.LastReconciledTime.DeepCopy(), s.LastScaledUpTime.DeepCopy()
	out.Conditions = slices.Clone(s.Conditions) // they hold no references
	return &out
}

// Equal says whether two statuses say the same.
func (s *ElastiServiceStatus) Equal(o *ElastiServiceStatus) bool {
	return s.LastReconciledTime.Equal(o.LastReconciledTime) && s.LastScaledUpTime.Equal(o.LastScaledUpTime) && s.Mode == o.Mode && slices.Equal(s.Conditions, o.Conditions)
}
