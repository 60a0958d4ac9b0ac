package redact

import (
	"regexp"

	"k8s.io/component-helpers/nodedeclaredfeatures/features"
)

// apiWords are the values of the enumerations of Kubernetes' API, of Cluster API, Gardener and Karpenter. A value of an
// enumeration that is not among them is replaced: an object log can hold any text.
var apiWords = words(`
	Active Terminating Pending Running Succeeded Failed Unknown Terminated Available Bound Released Lost True False
	Always OnFailure Never PreemptLowerPriority ClusterFirst ClusterFirstWithHostNet Default None IfNotPresent
	NoSchedule PreferNoSchedule NoExecute Exists Equal Gt Lt In NotIn DoesNotExist Honor Ignore DoNotSchedule ScheduleAnyway
	linux windows TCP UDP SCTP ClusterIP NodePort LoadBalancer ExternalName
	ReadWriteOnce ReadOnlyMany ReadWriteMany ReadWriteOncePod Delete Retain Recycle Block Filesystem Immediate WaitForFirstConsumer
	Memory HugePages HugePages-2Mi HugePages-1Gi Directory DirectoryOrCreate File FileOrCreate Socket CharDevice BlockDevice
	Dedicated Managed Shared ReadOnly ReadWrite OrderedReady Parallel RollingUpdate OnDelete Recreate Indexed NonIndexed
	Utilization Value AverageValue Resource ContainerResource Object Pods External Percent Max Min Disabled
	Pod Container PersistentVolumeClaim Proposed InProgress Deferred Infeasible
	Off Initial Recreate InPlaceOrRecreate InPlace Auto RequestsOnly RequestsAndLimits Factor Quantity TargetHigherThanRequests
	TargetLowerThanRequests static currentReplicas currentReplicasIfHigher currentReplicasIfLower proxy serve hpa keda prometheus cron cpu memory
	kubernetes-workload metrics-api
	BestEffort NotBestEffort NotTerminating PriorityClass CrossNamespacePodAffinity VolumeAttributesClass
	IfHealthyBudget AlwaysAllow Normal Warning NotRequired RestartContainer Guaranteed Burstable

	Creating Updating Deleting CrashLoopBackOff Error Warn Info Processing Successful Create Update HealthCheck
	Provisioning Provisioned ScalingUp ScalingDown Scaling InPlaceUpdate AutoInPlaceUpdate ManualInPlaceUpdate AutoRollingUpdate
	WhenEmpty WhenUnderutilized WhenEmptyOrUnderutilized Empty Drifted Underutilized amd64 arm64 arm x86_64
	LatestUpdate Automatic Manual least-waste random
	gp2 gp3 io1 io2 st1 sc1 standard pd-standard pd-ssd pd-balanced pd-extreme hyperdisk-balanced StandardSSD_LRS StandardSSD_ZRS
	Premium_LRS Premium_ZRS PremiumV2_LRS Standard_LRS UltraSSD_LRS cloud_essd cloud_ssd cloud_efficiency`)

// enumeration keeps the words of APIs.
func (r *rewriter) enumeration(s string) string { return r.open("enumeration", s, apiWords) }

// effects are those of taints.
var effects = words(`NoSchedule PreferNoSchedule NoExecute`)

func (r *rewriter) effect(s string) string { return r.open("effect", s, effects) }

// openFiles are the file systems of volumes.
var openFiles = words(`ext2 ext3 ext4 xfs btrfs ntfs NTFS`)

// openFeatures are what kubelets declare, of this version of Kubernetes and earlier ones.
var openFeatures = func() map[string]bool {
	out := words(`GuaranteedQoSPodCPUResize`)
	for _, f := range features.AllFeatures {
		out[f.Name()] = true
	}
	return out
}()

// openFailures are the classes of errors with which a provider fails to make nodes.
var openFailures = words(`OutOfResources OutOfResource Other`)

// openCodes are codes of such errors: upstream's own, and providers'.
var openCodes = words(`OUT_OF_RESOURCES QUOTA_EXCEEDED OTHER PERMISSIONS_ERROR IP_SPACE_EXHAUSTED INVALID_RESERVATION stockout quota
	RESOURCE_POOL_EXHAUSTED ZONE_RESOURCE_POOL_EXHAUSTED ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS cloudProviderError ResourceExhausted
	QuotaExceeded OutOfResources InsufficientInstanceCapacity placeholder-cannot-be-fulfilled timeout AllocationFailed
	ZonalAllocationFailed OutOfStock SkuNotAvailable OverconstrainedAllocationRequest Internal Unavailable DeadlineExceeded NotFound
	VcpuLimitExceeded MaxSpotInstanceCountExceeded InstanceLimitExceeded`)

func (r *rewriter) code(s string) string { return r.open("error code", s, openCodes) }

// plugins are the scheduler's.
var plugins = words(`PrioritySort DefaultPreemption NodeName NodeAffinity NodePorts NodeUnschedulable NodeResourcesFit
	NodeResourcesBalancedAllocation ImageLocality InterPodAffinity PodTopologySpread TaintToleration VolumeBinding VolumeRestrictions
	VolumeZone NodeVolumeLimits DefaultBinder SchedulingGates DynamicResources NodeDeclaredFeatures GangScheduling DefaultQueueSort`)

// apiVersionForm is how Kubernetes names versions of an API.
var apiVersionForm = regexp.MustCompile(`^v\d{1,2}((alpha|beta)\d{1,2})?$`)

// versionForm is how programs number their versions, and what may follow.
var versionForm = regexp.MustCompile(`^(v?\d{1,4}(?:\.\d{1,5}){1,3})(?:([-+.])(.*))?$`)

// release keeps the number of a version; what a builder puts behind it is a name.
func (r *rewriter) release(class, s string) string {
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return r.name(class, s)
	}
	return m[1] + m[2] + r.name(class, m[3])
}
