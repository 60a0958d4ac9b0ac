package objectlog

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// Recording says that kinds (all if empty) were watched from the line's time to Spec.To.
type Recording struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              RecordingSpec `json:"spec"`
}

// RecordingSpec ends a Recording; a zero To means that it was still open.
type RecordingSpec struct {
	To    time.Time `json:"to,omitzero"`
	Kinds []string  `json:"kinds,omitempty"`
	// Origin says that a script played the recorded cluster; empty for all others.
	Origin scalehist.Origin `json:"origin,omitempty"`
}

// Gap says that kinds (all if empty) were not watched from the line's time to Spec.To.
type Gap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              GapSpec `json:"spec"`
}

// GapSpec ends a Gap and explains it.
type GapSpec struct {
	To    time.Time `json:"to"`
	Kinds []string  `json:"kinds,omitempty"`
	Why   string    `json:"why"`
}

// Usage is what a container of the pod in metadata used at the line's time.
type Usage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              UsageSpec `json:"spec"`
}

// UsageSpec is one container's usage.
type UsageSpec struct {
	Container   string `json:"container"`
	CPUMilli    int64  `json:"cpuMilli"`
	MemoryBytes int64  `json:"memoryBytes"`
}

// Sample is the value at the line's time of the metric series named in metadata.
type Sample struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              SampleSpec `json:"spec"`
}

// SampleSpec is one value of a series.
type SampleSpec struct {
	Labels map[string]string `json:"labels,omitempty"`
	Value  Value             `json:"value"`
}

// DeepCopyObject implements runtime.Object.
func (r *Recording) DeepCopyObject() runtime.Object {
	out := *r
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Kinds = slices.Clone(r.Spec.Kinds)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (g *Gap) DeepCopyObject() runtime.Object {
	out := *g
	g.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Kinds = slices.Clone(g.Spec.Kinds)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (u *Usage) DeepCopyObject() runtime.Object {
	out := *u
	u.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (s *Sample) DeepCopyObject() runtime.Object {
	out := *s
	s.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Labels = maps.Clone(s.Spec.Labels)
	return &out
}

// typeMeta is the TypeMeta of a record.
func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
}
