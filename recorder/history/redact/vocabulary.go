package redact

import "strings"

// publicWords are the words of names that Kubernetes and the cluster-autoscaler give themselves and that rules read:
// namespaces, priority classes, the autoscaler's Deployment and ConfigMaps, the default scheduler. The list is short on
// purpose: a public word stays wherever it stands, so "kube-payments" keeps its "kube".
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

// plainValues are label and annotation values that tell nothing.
var plainValues = words(`true false True False yes no enabled disabled on off exists file api master`)

// openValues are the label keys whose values stay: what kind of machine it is. Prices and templates go by them.
var openValues = words(`
	kubernetes.io/os beta.kubernetes.io/os kubernetes.io/arch beta.kubernetes.io/arch
	node.kubernetes.io/instance-type beta.kubernetes.io/instance-type node.kubernetes.io/windows-build
	karpenter.sh/capacity-type eks.amazonaws.com/capacityType cloud.google.com/gke-spot cloud.google.com/gke-preemptible
	cloud.google.com/gke-accelerator cloud.google.com/machine-family kubernetes.azure.com/scalesetpriority
	kubernetes.azure.com/accelerator k8s.amazonaws.com/accelerator`)

// bareKeys are the label and taint keys without a domain that are used everywhere. By the autoscaler's taints a replay knows
// which nodes it removed, and how long that took.
var bareKeys = words(`
	app component tier k8s-app job-name controller-uid pod-template-hash pod-template-generation
	controller-revision-hash agentpool accelerator ToBeDeletedByClusterAutoscaler DeletionCandidateOfClusterAutoscaler`)

// openDomains are the domains whose keys stay as they are: they belong to Kubernetes and to providers, and rules read
// their keys. Domains are compared whole: "payments.k8s.io" is none of them.
var openDomains = words(`
	kubernetes.io beta.kubernetes.io node.kubernetes.io app.kubernetes.io apps.kubernetes.io batch.kubernetes.io
	topology.kubernetes.io failure-domain.beta.kubernetes.io statefulset.kubernetes.io controller.kubernetes.io
	pv.kubernetes.io volume.kubernetes.io volume.beta.kubernetes.io storageclass.kubernetes.io
	storageclass.beta.kubernetes.io storage.alpha.kubernetes.io scheduling.k8s.io scheduler.alpha.kubernetes.io
	cluster-autoscaler.kubernetes.io capacity.cluster-autoscaler.kubernetes.io autoscaling.x-k8s.io cluster.x-k8s.io
	node.cluster.x-k8s.io cluster.k8s.io node.cloudprovider.kubernetes.io kwok.x-k8s.io kops.k8s.io scalehist.io
	karpenter.sh karpenter.k8s.aws eks.amazonaws.com k8s.amazonaws.com alpha.eksctl.io cloud.google.com
	kubernetes.azure.com worker.gardener.cloud node.gardener.cloud autoscaler.gardener.cloud machine.sapcloud.io
	node.machine.sapcloud.io machinepriority.machine.sapcloud.io worker.garden.sapcloud.io networking.gardener.cloud
	node-lifecycle.gardener.cloud topology.ebs.csi.aws.com topology.gke.io topology.disk.csi.azure.com
	nvidia.com amd.com gpu.intel.com habana.ai`)

// halfOpenDomains are domains of Kubernetes whose keys users make up.
var halfOpenDomains = words(`node-role.kubernetes.io node-restriction.kubernetes.io`)

// openRoles are the names that Kubernetes and its installers put behind node-role.kubernetes.io.
var openRoles = words(`master control-plane node worker infra etcd api-server`)

// openKeys are bare annotation keys and keys of no open domain that stay.
var openKeys = words(`machinepriority.machine.sapcloud.io metadata.name`)

// openResources are the resources of Kubernetes itself; those of openDomains stay too.
var openResources = words(`
	cpu memory storage ephemeral-storage pods services secrets configmaps replicationcontrollers resourcequotas
	persistentvolumeclaims services.loadbalancers services.nodeports`)

// openDrivers are the volume drivers that in-tree limits and migrations know.
var openDrivers = words(`
	ebs.csi.aws.com efs.csi.aws.com pd.csi.storage.gke.io filestore.csi.storage.gke.io disk.csi.azure.com
	file.csi.azure.com cinder.csi.openstack.org csi.vsphere.vmware.com hostpath.csi.k8s.io secrets-store.csi.k8s.io
	kubernetes.io/aws-ebs kubernetes.io/gce-pd kubernetes.io/azure-disk kubernetes.io/azure-file kubernetes.io/cinder
	kubernetes.io/vsphere-volume kubernetes.io/no-provisioner rancher.io/local-path k8s.io/minikube-hostpath`)

// openSchemes are the providers named in spec.providerID.
var openSchemes = words(`aws gce azure openstack vsphere kind k3s kwok virtual ibm digitalocean hcloud linode alicloud oci exoscale equinixmetal`)

// openKinds are the kinds an owner reference or an event may name; the kinds of others are replaced.
var openKinds = words(`
	Namespace Node Pod PodTemplate ReplicationController Service PersistentVolume PersistentVolumeClaim ConfigMap
	ResourceQuota PriorityClass DaemonSet Deployment ReplicaSet StatefulSet ControllerRevision Job CronJob
	PodDisruptionBudget StorageClass CSINode RuntimeClass NodeGroup Lease HorizontalPodAutoscaler Endpoints
	EndpointSlice Ingress Event Machine MachineClass MachineDeployment MachineSet MachinePool Worker NodeClaim NodePool
	VolumeAttachment Usage Sample Recording Gap`)

// openGroups are the API groups of openKinds.
var openGroups = words(`
	apps batch policy autoscaling coordination.k8s.io events.k8s.io node.k8s.io scheduling.k8s.io storage.k8s.io
	discovery.k8s.io networking.k8s.io scalehist.io machine.sapcloud.io extensions.gardener.cloud cluster.x-k8s.io
	karpenter.sh`)

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
	NewMachineSetAvailable MachineSetUpdated FoundNewMachineSet NewMachineSetReason`)

// openConditions are the types of conditions that rules know or every cluster has.
var openConditions = words(`
	PodScheduled PodReadyToStartContainers Initialized ContainersReady Ready DisruptionTarget PodResizePending
	PodResizeInProgress AllContainersRestarting MemoryPressure DiskPressure PIDPressure NetworkUnavailable Complete Failed Suspended
	FailureTarget SuccessCriteriaMet Launched Registered Drifted Empty Expired Consolidatable DisruptionReason Available
	Progressing ReplicaFailure Frozen ValidationSucceeded NodeClassReady NodeRegistrationHealthy InstanceTerminating Drained
	VolumesDetached`)
