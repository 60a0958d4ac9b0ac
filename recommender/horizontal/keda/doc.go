// Package keda decides as KEDA does: what a ScaledObject does to a workload at zero, what it leaves to a HorizontalPodAutoscaler, and what that one is
// answered.
//
// The rules are those of the documentation, https://keda.sh/docs/2.21/reference/scaledobject-spec/ and …/concepts/scaling-deployments/, each named where
// it is; KEDA's module is not linked, because it brings the clients of every event source. A ScaledObject is looked at every pollingInterval (Poll).
// Between one replica and more the HorizontalPodAutoscaler of HPA decides, whose external metrics are answered by Metric.
//
// Modelled are triggers of prometheus, cpu and memory, activation, cooldowns, idle replicas, fallback with its behaviors, and pauses. Others, and
// scalingModifiers, are refused by Parse.
//
// The package must not know of clusters, clocks and replays.
package keda
