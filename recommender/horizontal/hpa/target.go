package hpa

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	hpametrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

// Target is what an autoscaler scales, at the time of a sync.
type Target struct {
	// SpecReplicas and StatusReplicas are those of the scale subresource: wanted, and observed.
	SpecReplicas, StatusReplicas int32
	// Selector is status.selector of the scale subresource, as text.
	Selector string
	// Pods are those in the autoscaler's namespace that Selector matches. They are only read. An error that several pods have is reported
	// of the first.
	Pods []*corev1.Pod
	// Err is why the scale subresource could not be read: all other fields are without meaning then.
	Err error
	// Update sets the replicas of the scale subresource. It is called at most once in a sync; nil succeeds.
	Update func(replicas int32) error
}

// Metrics answers the queries of one sync, for the pods of its Target or, beyond pods, for the autoscaler's namespace. A metric that could
// not be read is an error, in the words of the metrics API's client; a pod without a sample is absent.
type Metrics interface {
	// Resource is the usage of a resource by pod name: of one container, or of all where container is empty.
	Resource(name corev1.ResourceName, container string) (hpametrics.PodMetricsInfo, error)
	// Pods is a metric of the target's pods, by pod name.
	Pods(metric autoscalingv2.MetricIdentifier) (hpametrics.PodMetricsInfo, error)
	// Object is a metric of one object, in thousandths.
	Object(described autoscalingv2.CrossVersionObjectReference, metric autoscalingv2.MetricIdentifier) (int64, error)
	// External is every value of a metric from outside the cluster, in thousandths.
	External(metric autoscalingv2.MetricIdentifier) ([]int64, error)
}
