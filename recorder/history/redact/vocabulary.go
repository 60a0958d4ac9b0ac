package redact

import "strings"

// publicWords are the words of names that Kubernetes and the cluster-autoscaler give themselves and that rules read:
// namespaces, priority classes, the autoscaler's Deployment and ConfigMaps, the default scheduler. The list is short on
// purpose: a public word stays wherever it is, so "kube-payments" keeps its "kube".
var publicWords = words(`
	kube system public node lease default cluster autoscaler critical priority expander status scheduler
	true false linux windows kubernetes io k8s`)

func words(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// plainValues are label and annotation values that reveal nothing.
var plainValues = words(`true false True False yes no enabled disabled on off exists file api master`)

// openResources are the resources of Kubernetes itself and of the devices that everybody has.
var openResources = words(`
	cpu memory storage ephemeral-storage pods services secrets configmaps replicationcontrollers resourcequotas
	persistentvolumeclaims services.loadbalancers services.nodeports hugepages-2Mi hugepages-1Gi hugepages-64Ki hugepages-32Mi
	attachable-volumes-aws-ebs attachable-volumes-gce-pd attachable-volumes-azure-disk attachable-volumes-cinder
	nvidia.com/gpu nvidia.com/gpu.shared amd.com/gpu gpu.intel.com/i915 gpu.intel.com/xe habana.ai/gaudi google.com/tpu
	aws.amazon.com/neuron aws.amazon.com/neuroncore aws.amazon.com/neurondevice vpc.amazonaws.com/efa vpc.amazonaws.com/pod-eni
	vpc.amazonaws.com/PrivateIPv4Address microsoft.com/directx alibabacloud.com/gpu-milli alibabacloud.com/gpu-count
	count/pods count/services count/secrets count/configmaps count/persistentvolumeclaims count/deployments.apps
	count/replicasets.apps count/statefulsets.apps count/jobs.batch count/cronjobs.batch`)

// openDrivers are the volume drivers that in-tree limits and migrations know.
var openDrivers = words(`
	ebs.csi.aws.com efs.csi.aws.com pd.csi.storage.gke.io filestore.csi.storage.gke.io disk.csi.azure.com
	file.csi.azure.com cinder.csi.openstack.org csi.vsphere.vmware.com hostpath.csi.k8s.io secrets-store.csi.k8s.io
	kubernetes.io/aws-ebs kubernetes.io/gce-pd kubernetes.io/azure-disk kubernetes.io/azure-file kubernetes.io/cinder
	kubernetes.io/vsphere-volume kubernetes.io/no-provisioner rancher.io/local-path k8s.io/minikube-hostpath`)

// openSeries are metrics of Kubernetes and its neighbours, and the recorder's own. The name of a series is that which somebody
// gave a query; others are names of the house.
var openSeries = words(`
	recorder_clock_skew_seconds recorder_clock_jump_seconds
	kube_pod_status_phase kube_pod_status_unschedulable kube_pod_container_resource_requests kube_node_status_allocatable
	kube_node_status_capacity kube_node_status_condition kube_node_info kube_deployment_spec_replicas kube_deployment_status_replicas
	kube_horizontalpodautoscaler_status_current_replicas kube_horizontalpodautoscaler_status_desired_replicas
	node_cpu_seconds_total node_memory_MemAvailable_bytes node_memory_MemTotal_bytes node_load1 node_load5 node_load15
	container_cpu_usage_seconds_total container_memory_working_set_bytes container_memory_usage_bytes
	cluster_autoscaler_nodes_count cluster_autoscaler_unschedulable_pods_count cluster_autoscaler_scaled_up_nodes_total
	cluster_autoscaler_scaled_down_nodes_total cluster_autoscaler_failed_scale_ups_total cluster_autoscaler_unneeded_nodes_count
	cluster_autoscaler_function_duration_seconds cluster_autoscaler_last_activity cluster_autoscaler_cluster_safe_to_autoscale
	scheduler_pending_pods scheduler_schedule_attempts_total scheduler_scheduling_attempt_duration_seconds
	karpenter_nodes_count karpenter_pods_state karpenter_nodeclaims_created_total karpenter_nodeclaims_terminated_total
	apiserver_request_total kubelet_running_pods machine_cpu_cores machine_memory_bytes mcm_machine_items`)

// openSchemes are the providers named in spec.providerID.
var openSchemes = words(`aws gce azure openstack vsphere kind k3s kwok virtual ibm digitalocean hcloud linode alicloud oci exoscale equinixmetal`)

// openKinds are the kinds an owner reference or an event may name; the kinds of others are replaced.
var openKinds = words(`
	Namespace Node Pod PodTemplate ReplicationController Service PersistentVolume PersistentVolumeClaim ConfigMap
	ResourceQuota PriorityClass DaemonSet Deployment ReplicaSet StatefulSet ControllerRevision Job CronJob
	PodDisruptionBudget StorageClass CSINode RuntimeClass NodeGroup Lease HorizontalPodAutoscaler Endpoints
	EndpointSlice Ingress Event Machine MachineClass MachineDeployment MachineSet MachinePool Worker NodeClaim NodePool
	LimitRange VerticalPodAutoscaler VerticalPodAutoscalerCheckpoint ScaledObject ScaledJob TriggerAuthentication
	ClusterTriggerAuthentication ElastiService Rollout MetricQuery ProviderCall
	VolumeAttachment Usage Sample Recording Gap`)

// openGroups are the API groups of openKinds.
var openGroups = words(`
	apps batch policy autoscaling coordination.k8s.io events.k8s.io node.k8s.io scheduling.k8s.io storage.k8s.io
	discovery.k8s.io networking.k8s.io scalehist.io machine.sapcloud.io extensions.gardener.cloud cluster.x-k8s.io
	karpenter.sh autoscaling.k8s.io keda.sh elasti.truefoundry.com argoproj.io`)

// openComponents are who writes events.
var openComponents = words(`
	cluster-autoscaler default-scheduler kubelet kube-controller-manager taint-eviction-controller node-controller
	node-lifecycle-controller replicaset-controller replication-controller deployment-controller statefulset-controller
	daemonset-controller job-controller cronjob-controller persistentvolume-controller attachdetach-controller
	endpoint-controller controllermanager disruption-controller descheduler karpenter machine-controller-manager
	horizontal-pod-autoscaler kube-scheduler kube-proxy cloud-node-controller cloud-node-lifecycle-controller`)

// openReasons are the reasons of events and conditions that Kubernetes, the cluster-autoscaler and Karpenter give.
var openReasons = words(`
	TriggeredScaleUp NotTriggerScaleUp ScaledUpGroup FailedToScaleUpGroup ScaleUpFailed ScaleUpTimedOut
	FailedToRevertScaleUp ScaleDown ScaleDownEmpty ScaleDownFailed MaxNodesTotalReached ClusterUnhealthy
	ClusterAutoscalerCleanup PriorityConfigMapNotMatchedGroup DeleteUnregistered DeleteUnregisteredFailed
	FixNodeGroupSizeDone FixNodeGroupSizeFailed
	Scheduled FailedScheduling Preempted WaitingForGates SchedulingGated Unschedulable SchedulerError
	PreemptionByScheduler EvictionByEvictionAPI DeletionByTaintManager TerminationByKubelet DeletionByPodGC
	DeletionByDeviceTaintManager TaintManagerEviction Evicted EvictionThresholdMet Killing Pulling Pulled Created Started
	BackOff Failed Unhealthy FailedMount FailedAttachVolume SuccessfulAttachVolume FailedCreatePodSandBox SandboxChanged
	PodCompleted PodFailed ContainersNotReady ContainersNotInitialized PodHasNoResources Completed OOMKilled NodeLost
	DeadlineExceeded NodeAffinity Shutdown Terminated Preempting UnexpectedAdmissionError OutOfcpu OutOfmemory OutOfpods
	SuccessfulCreate SuccessfulDelete FailedCreate FailedDelete ScalingReplicaSet SuccessfulRescale
	RegisteredNode RemovingNode DeletingNode NodeReady NodeNotReady NodeSchedulable NodeNotSchedulable Starting Rebooted
	NodeHasSufficientMemory NodeHasSufficientDisk NodeHasNoDiskPressure NodeHasSufficientPID NodeHasDiskPressure
	NodeHasInsufficientMemory NodeAllocatableEnforced KubeletReady KubeletNotReady KubeletHasSufficientMemory
	KubeletHasNoDiskPressure KubeletHasSufficientPID KubeletHasDiskPressure KubeletHasInsufficientMemory NodeStatusUnknown
	NodeStatusNeverUpdated ProvisioningSucceeded Provisioning ExternalProvisioning WaitForFirstConsumer ProvisioningFailed
	CompletionsReached BackoffLimitExceeded JobSuspended JobResumed FailedJob SuccessPolicy
	NodeClaimNotFound DisruptionBlocked Launched Registered Initialized Ready Drifted Consolidatable Unconsolidatable
	DisruptionLaunching DisruptionTerminating FailedDraining Nominated NodeRepairBlocked
	MinimumReplicasAvailable MinimumReplicasUnavailable NewReplicaSetAvailable ProgressDeadlineExceeded
	ReadyForNewScale ScaleDownStabilized ScaleUpStabilized SucceededGetScale SucceededRescale FailedGetScale FailedUpdateScale
	BackoffBoth BackoffDownscale BackoffUpscale ValidMetricFound InvalidMetricSourceType ScalingDisabled InvalidSelector AmbiguousSelector
	FailedGetResourceMetric FailedGetContainerResourceMetric FailedGetPodsMetric FailedGetObjectMetric FailedGetExternalMetric
	FailedConvertHPA FailedComputeMetricsReplicas FailedRescale FailedParseHPAMetric SucceededToScale
	DesiredWithinRange TooFewReplicas TooManyReplicas ScaleUpLimit ScaleDownLimit
	NoPodsMatched RecommendationProvided ConfigUnsupported Deferred Infeasible Error ContainerCannotRun ContainerStatusUnknown StartError
	ScaledObjectReady ScalerActive ScalerNotActive NoFallbackFound FallbackExists ScaledObjectPaused ScaledObjectUnpaused
	TriggerError PartialTriggerError ScaledObjectCheckFailed
	NewMachineSetAvailable MachineSetUpdated FoundNewMachineSet NewMachineSetReason`)

// openConditions are the types of conditions that rules know or every cluster has.
var openConditions = words(`
	PodScheduled PodReadyToStartContainers Initialized ContainersReady Ready DisruptionTarget PodResizePending
	PodResizeInProgress AllContainersRestarting MemoryPressure DiskPressure PIDPressure NetworkUnavailable Complete Failed Suspended
	FailureTarget SuccessCriteriaMet Launched Registered Drifted Empty Expired Consolidatable DisruptionReason Available
	AbleToScale ScalingActive ScalingLimited RecommendationProvided LowConfidence NoPodsMatched FetchingHistory ConfigDeprecated
	ConfigUnsupported Active Fallback Paused
	Progressing ReplicaFailure Frozen ValidationSucceeded NodeClassReady NodeRegistrationHealthy InstanceTerminating Drained
	VolumesDetached`)
