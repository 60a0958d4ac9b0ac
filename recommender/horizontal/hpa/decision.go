package hpa

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"
)

// Decision is what a sync did, and why.
type Decision struct {
	// Autoscaler is the name of the object.
	Autoscaler types.NamespacedName
	// Time is when the sync was.
	Time time.Time
	// From is spec.replicas of the target before, To what the autoscaler wants; they are equal where it leaves the target alone.
	From, To int32
	// Rescaled says that the target took another size.
	Rescaled bool
	// Reason is upstream's reason of a rescale, as in its event: "All metrics below target". Empty where metrics want the size there is; set where they
	// want another one and Limits keep it.
	Reason string

	// Metrics has each metric of the spec, in its order; it is empty where they were not read: at zero replicas, or outside of the limits.
	Metrics []Metric
	// Decided is the index in Metrics of the one whose proposal was taken, -1 if there is none.
	Decided int
	// Recommended is what the metrics want before limits; the stabilization windows remember it.
	Recommended int32
	// Limits are what changed the size between Recommended and To, in the order in which they did.
	Limits []Limit

	// Conditions are those of the status after the sync.
	Conditions []autoscalingv2.HorizontalPodAutoscalerCondition
	// Events are those that upstream would have recorded, in their order.
	Events []Event
	// Error is what upstream's reconciliation returned. A sync may rescale and have an error: of a metric that others outvoted.
	Error string
}

// Calm says whether there is nothing to say of a sync: all could be read, and the size is what the metrics want.
func (d *Decision) Calm() bool {
	return d.To == d.From && d.Reason == "" && d.Error == "" && len(d.Limits) == 0 &&
		!slices.ContainsFunc(d.Metrics, func(m Metric) bool { return m.Error != "" })
}

// Metric is what one metric of the spec said.
type Metric struct {
	// Spec is the metric with its target, and Status the value as status.currentMetrics shows it. Status is empty where there is an error.
	Spec   autoscalingv2.MetricSpec
	Status autoscalingv2.MetricStatus
	// Name is upstream's: "cpu resource utilization (percentage of request)".
	Name string
	// Proposal is how many replicas it wants.
	Proposal int32
	// Ratio is usage divided by target, as decided on: with what was assumed of pods without a usable sample.
	Ratio float64
	// Pods says which pods were counted; zero for metrics that are no sum over pods.
	Pods PodCounts
	// Kept is why it proposes the size there is although Ratio is not 1.
	Kept Kept
	// Error is why it has no proposal.
	Error string
}

// PodCounts are the pods of a target by what their samples are worth.
type PodCounts struct {
	// Ready pods are counted with their samples. Unready ones are pending or not yet ready: nothing on the way up, left out on the way down. Missing ones
	// have no sample: nothing on the way up, all of their request or target on the way down. Ignored ones are failed or being deleted.
	Ready, Unready, Missing, Ignored int
}

// Kept is a reason to propose the size there is.
type Kept string

// Reasons to propose the size there is.
const (
	// WithinTolerance means that usage is near enough to its target.
	WithinTolerance Kept = "within tolerance"
	// DirectionUnclear means that what is assumed of unready and missing pods would turn a scale-up into a scale-down, or the reverse.
	DirectionUnclear Kept = "direction unclear"
)

// Limit is something that changed a size on its way from a metric's proposal to the target.
type Limit struct {
	// By is upstream's reason, as in the conditions: ScaleDownStabilized, ScaleUpStabilized, ScaleUpLimit, ScaleDownLimit, TooManyReplicas,
	// TooFewReplicas.
	By string
	// From and To are the size before and after.
	From, To int32
	// Detail says which rule it was: "the highest of the last 5m0s".
	Detail string
}

// Event is an event that upstream would have recorded for the autoscaler.
type Event struct {
	// Type is Normal or Warning.
	Type, Reason, Message string
}
