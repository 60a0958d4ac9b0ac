package projection

// autoscalerFields are the fields kept of the custom resources that say how workloads are scaled, as customFields has them.
// What an autoscaler writes with every look, whether or not something happened, is not among them: the times of a
// ScaledObject's and an ElastiService's last activity, the metrics that were measured.
var autoscalerFields = map[string][]string{
	// https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1/types.go
	"VerticalPodAutoscaler.autoscaling.k8s.io": {"spec.targetRef", "spec.updatePolicy", "spec.resourcePolicy", "spec.recommenders",
		"spec.startupBoost", "status.recommendation.containerRecommendations", "status.conditions"},
	"VerticalPodAutoscalerCheckpoint.autoscaling.k8s.io": {"spec.vpaObjectName", "spec.containerName", "status.version", "status.lastUpdateTime",
		"status.cpuHistogram", "status.memoryHistogram", "status.firstSampleStart", "status.lastSampleStart", "status.totalSamplesCount"},
	// https://keda.sh/docs/latest/reference/scaledobject-spec/
	"ScaledObject.keda.sh": append(append([]string{"spec.scaleTargetRef.apiVersion", "spec.scaleTargetRef.kind", "spec.scaleTargetRef.name",
		"spec.pollingInterval", "spec.initialCooldownPeriod", "spec.cooldownPeriod", "spec.idleReplicaCount", "spec.minReplicaCount",
		"spec.maxReplicaCount", "spec.fallback", "spec.advanced.restoreToOriginalReplicaCount", "spec.advanced.horizontalPodAutoscalerConfig",
		"spec.advanced.scalingModifiers", "status.hpaName", "status.originalReplicaCount", "status.pausedReplicaCount", "status.conditions"},
		triggerFields...), each("spec.triggers[].", "name", "metricType", "useCachedMetrics", "authenticationRef.kind", "authenticationRef.name")...),
	// https://github.com/truefoundry/KubeElasti: api/v1alpha1 of its operator
	"ElastiService.elasti.truefoundry.com": append([]string{"spec.scaleTargetRef.apiVersion", "spec.scaleTargetRef.kind", "spec.scaleTargetRef.name",
		"spec.service", "spec.minTargetReplicas", "spec.cooldownPeriod", "spec.enabledPeriod.schedule", "spec.enabledPeriod.duration",
		"spec.autoscaler.type", "spec.autoscaler.name", "status.mode"}, triggerFields...),
	// A workload of another controller, as far as the scale subresource has it: https://argo-rollouts.readthedocs.io
	"Rollout.argoproj.io": {"spec.replicas", "spec.selector"},
}

// triggerFields are those of the triggers of KEDA and Elasti.
var triggerFields = each("spec.triggers[].", "type", "metadata")
