package redact

import (
	"reflect"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// typeRules are those of string types that hold more than the API's own words.
var typeRules = map[reflect.Type]stringRule{
	reflect.TypeFor[types.UID]():                                          func(w walk, s string) string { return string(w.uid(types.UID(s))) },
	reflect.TypeFor[types.NodeName]():                                     named("node"),
	reflect.TypeFor[corev1.ResourceName]():                                func(w walk, s string) string { return w.resource(s) },
	reflect.TypeFor[corev1.PodConditionType]():                            either("condition", openConditions),
	reflect.TypeFor[autoscalingv2.HorizontalPodAutoscalerConditionType](): either("condition", openConditions),
	reflect.TypeFor[corev1.NodeConditionType]():                           either("condition", openConditions),
	reflect.TypeFor[corev1.PersistentVolumeClaimConditionType]():          either("condition", openConditions),
	reflect.TypeFor[corev1.FinalizerName]():                               func(w walk, s string) string { return w.text(s) },
}

// fieldRules say what is in a string, or a list of strings.
var fieldRules = map[string]stringRule{
	"PodSpec.NodeName":                            named("node"),
	"PodSpec.SchedulerName":                       named("scheduler"),
	"PodSpec.PriorityClassName":                   named("priorityclass"),
	"PodSpec.RuntimeClassName":                    named("runtimeclass"),
	"PodSpec.ServiceAccountName":                  named("serviceaccount"),
	"PodSpec.Hostname":                            named("pod"),
	"PodSpec.Subdomain":                           named("service"),
	"PodStatus.NominatedNodeName":                 named("node"),
	"PodStatus.Reason":                            either("reason", openReasons),
	"PodStatus.Message":                           func(w walk, s string) string { return w.message(s) },
	"PodCondition.Reason":                         either("reason", openReasons),
	"PodCondition.Message":                        func(w walk, s string) string { return w.message(s) },
	"NodeCondition.Reason":                        either("reason", openReasons),
	"JobCondition.Reason":                         either("reason", openReasons),
	"HorizontalPodAutoscalerCondition.Reason":     either("reason", openReasons),
	"ContainerStatus.Name":                        named("container"),
	"ContainerStateTerminated.Reason":             either("reason", openReasons),
	"ContainerResourceMetricSource.Container":     named("container"),
	"MetricIdentifier.Name":                       either("series", openSeries),
	"MetricQuerySpec.Query":                       func(w walk, s string) string { return w.text(s) },
	"ProviderCallSpec.Method":                     either("method", openMethods),
	"ProviderCallSpec.Code":                       either("code", openGRPCCodes),
	"PodSchedulingGate.Name":                      func(w walk, s string) string { return w.labelKey(s) },
	"PodResourceClaim.Name":                       named("claim"),
	"PodResourceClaim.ResourceClaimName":          named("claim"),
	"PodResourceClaim.ResourceClaimTemplateName":  named("claim"),
	"ResourceClaim.Name":                          named("claim"),
	"ResourceClaim.Request":                       named("claim"),
	"PodSchedulingGroup.PodGroupName":             named("podgroup"),
	"WorkloadReference.Name":                      named("podgroup"),
	"WorkloadReference.PodGroup":                  named("podgroup"),
	"WorkloadReference.PodGroupReplicaKey":        named("podgroup"),
	"Volume.Name":                                 named("volume"),
	"PersistentVolumeClaimVolumeSource.ClaimName": named("persistentvolumeclaim"),
	"CSIVolumeSource.Driver":                      either("driver", openDrivers),
	"GCEPersistentDiskVolumeSource.PDName":        named("disk"),
	"GCEPersistentDiskVolumeSource.FSType":        either("file system", openFiles),
	"AWSElasticBlockStoreVolumeSource.VolumeID":   named("disk"),
	"AWSElasticBlockStoreVolumeSource.FSType":     either("file system", openFiles),
	"AzureDiskVolumeSource.DiskName":              named("disk"),
	"AzureDiskVolumeSource.DataDiskURI":           func(w walk, s string) string { return w.diskURI(s) },
	"AzureDiskVolumeSource.FSType":                either("file system", openFiles),
	"HostPathVolumeSource.Path":                   keptPath,
	"LocalVolumeSource.Path":                      keptPath,
	"CSIPersistentVolumeSource.Driver":            either("driver", openDrivers),
	"CSIPersistentVolumeSource.VolumeHandle":      named("disk"),
	"PersistentVolumeSpec.StorageClassName":       named("storageclass"),
	"PersistentVolumeClaimSpec.StorageClassName":  named("storageclass"),
	"PersistentVolumeClaimSpec.VolumeName":        named("persistentvolume"),
	"StorageClass.Provisioner":                    either("driver", openDrivers),
	"CSINodeDriver.Name":                          either("driver", openDrivers),
	"CSINodeDriver.NodeID":                        func(w walk, s string) string { return w.providerID(s) },
	"CSINodeDriver.TopologyKeys":                  func(w walk, s string) string { return w.labelKey(s) },
	"RuntimeClass.Handler":                        named("runtimeclass"),
	"StatefulSetSpec.ServiceName":                 named("service"),
	"TopologySpreadConstraint.TopologyKey":        func(w walk, s string) string { return w.labelKey(s) },
	"TopologySpreadConstraint.MatchLabelKeys":     func(w walk, s string) string { return w.labelKey(s) },
	"PodAffinityTerm.TopologyKey":                 func(w walk, s string) string { return w.labelKey(s) },
	"PodAffinityTerm.MatchLabelKeys":              func(w walk, s string) string { return w.labelKey(s) },
	"PodAffinityTerm.MismatchLabelKeys":           func(w walk, s string) string { return w.labelKey(s) },
	"PodAffinityTerm.Namespaces":                  func(w walk, s string) string { return w.namespace(s) },
	"ScopedResourceSelectorRequirement.Values":    named("priorityclass"),
	"NodeSpec.ProviderID":                         func(w walk, s string) string { return w.providerID(s) },
	"NodeStatus.DeclaredFeatures":                 either("feature", openFeatures),
	"NodeGroupSpec.Zone":                          func(w walk, s string) string { return w.labelValue(corev1.LabelTopologyZone, s) },
	"NodeGroupSpec.MachineType":                   func(w walk, s string) string { return w.labelValue(corev1.LabelInstanceTypeStable, s) },
	"Event.Reason":                                either("reason", openReasons),
	"Event.Action":                                either("reason", openActions),
	"Event.Type":                                  either("reason", openTypes),
	"Event.Message":                               keep, // done before
	"Event.Note":                                  keep, // done before
	"Event.ReportingController":                   func(w walk, s string) string { return w.component(s) },
	"Event.ReportingInstance":                     func(w walk, s string) string { return w.component(s) },
	"EventSource.Component":                       func(w walk, s string) string { return w.component(s) },
	"EventSource.Host":                            named("node"),
}

var openTypes = words(`Normal Warning`)

// openActions are what the scheduler and the node lifecycle write into an event's action.
var openActions = words(`Binding Scheduling Preempting Evicting Deleting None Reporting Started Killing ScaleUp ScaleDown`)

// openMethods are those of the external gRPC provider contract; what is in messages is replaced whole.
var openMethods = words(`NodeGroups NodeGroupForNode PricingNodePrice PricingPodPrice GPULabel GetAvailableGPUTypes Cleanup Refresh NodeGroupTargetSize
	NodeGroupIncreaseSize NodeGroupDeleteNodes NodeGroupDecreaseTargetSize NodeGroupNodes NodeGroupTemplateNodeInfo NodeGroupGetOptions`)

var openGRPCCodes = words(`Canceled Unknown InvalidArgument DeadlineExceeded NotFound AlreadyExists PermissionDenied ResourceExhausted FailedPrecondition
	Aborted OutOfRange Unimplemented Internal Unavailable DataLoss Unauthenticated`)

func keptPath(w walk, s string) string {
	if s == "/kept" { // what a history writes for every path
		return s
	}
	return w.text(s)
}
