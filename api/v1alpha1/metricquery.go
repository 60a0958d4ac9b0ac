package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// MetricQuery says what a recorded metric series of its name is: the query whose values its samples are. It is a fact
// with a time, as every object is: a query that somebody changes has two versions.
type MetricQuery struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MetricQuerySpec `json:"spec"`
}

// MetricQuerySpec is a query as its author wrote it.
type MetricQuerySpec struct {
	// Query is a PromQL expression. Of a Series it is a selector.
	Query string `json:"query"`
	// Series says that its samples are those that were scraped, at their own instants, not values at intervals.
	Series bool `json:"series,omitempty"`
	// StepSeconds is the distance of the instants at which it was evaluated.
	StepSeconds int32 `json:"stepSeconds,omitempty"`
}

// DeepCopy returns a copy that shares nothing with q.
func (q *MetricQuery) DeepCopy() *MetricQuery {
	if q == nil {
		return nil
	}
	out := new(MetricQuery)
	*out = *q
	q.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

// DeepCopyObject implements runtime.Object.
func (q *MetricQuery) DeepCopyObject() runtime.Object { return q.DeepCopy() }
