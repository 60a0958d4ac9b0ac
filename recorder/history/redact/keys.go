package redact

import "strings"

// keysOf are the keys of labels, taints and annotations that Kubernetes, the autoscaler and providers define, by domain. They
// stay: rules read them, and they say nothing of a cluster but what it is built of. Of a domain here the name of any other key
// is a pseudonym; of other domains all of the key is.
const keysOf = `
kubernetes.io: os arch hostname role metadata.name config.mirror config.source config.seen config.hash cluster-service limit-ranger
	change-cause service-account.name ingress.class bootstrapping instance-type zone region
beta.kubernetes.io: os arch instance-type fluentd-ds-ready
node.kubernetes.io: instance-type windows-build exclude-from-external-load-balancers not-ready unreachable unschedulable memory-pressure
	disk-pressure network-unavailable pid-pressure out-of-service role exclude-disruption masq-agent-ds-ready lifecycle
node.alpha.kubernetes.io: ttl
app.kubernetes.io: name instance version component part-of managed-by created-by
apps.kubernetes.io: pod-index
batch.kubernetes.io: job-completion-index job-name controller-uid job-tracking
topology.kubernetes.io: zone region
failure-domain.beta.kubernetes.io: zone region
statefulset.kubernetes.io: pod-name
controller.kubernetes.io: pod-deletion-cost
pv.kubernetes.io: bind-completed bound-by-controller provisioned-by migrated-to
volume.kubernetes.io: selected-node storage-provisioner
volume.beta.kubernetes.io: storage-provisioner storage-class
storageclass.kubernetes.io: is-default-class
storageclass.beta.kubernetes.io: is-default-class
storage.alpha.kubernetes.io: migrated-plugins
scheduling.k8s.io: group-name
scheduler.alpha.kubernetes.io: node-selector defaultTolerations tolerationsWhitelist critical-pod
service.kubernetes.io: headless
endpointslice.kubernetes.io: managed-by
pod-security.kubernetes.io: enforce audit warn enforce-version audit-version warn-version
node-role.kubernetes.io: master control-plane node worker infra etcd api-server
node-restriction.kubernetes.io:
cluster-autoscaler.kubernetes.io: safe-to-evict safe-to-evict-local-volumes scale-down-disabled scale-down-disabled-by-mcm
	pod-scale-up-delay enable-ds-eviction daemonset-pod template-node last-updated provisioning-class-name
	consume-provisioning-request
capacity.cluster-autoscaler.kubernetes.io: cpu memory ephemeral-disk maxPods gpu-type gpu-count labels taints
startup-taint.cluster-autoscaler.kubernetes.io:
status-taint.cluster-autoscaler.kubernetes.io:
delay-deletion.cluster-autoscaler.kubernetes.io:
cluster-autoscaler.k8s.io: upcoming-node
autoscaling.x-k8s.io: provisioning-class-name consume-provisioning-request
cluster.x-k8s.io: cluster-name cluster-namespace owner-kind owner-name machine deployment-name set-name interruptible
	cluster-api-autoscaler-node-group-min-size cluster-api-autoscaler-node-group-max-size
	autoscaling-options-scaledownutilizationthreshold autoscaling-options-scaledowngpuutilizationthreshold
	autoscaling-options-scaledownunneededtime autoscaling-options-scaledownunreadytime autoscaling-options-maxnodeprovisiontime
	autoscaling-options-maxnodestartuptime autoscaling-options-zeroormaxnodescaling
	autoscaling-options-ignoredaemonsetsutilization autoscaling-options-allownonatomicscaleuptomax labels-from-machine
node.cluster.x-k8s.io: deployment uninitialized
cluster.k8s.io: machine cluster-api-autoscaler-node-group-min-size cluster-api-autoscaler-node-group-max-size
node.cloudprovider.kubernetes.io: uninitialized shutdown
kwok.x-k8s.io: node
kops.k8s.io: instancegroup
scalehist.io: node-group worker-pool machine-deployment bounds-from target-size-from autoscaler-name run-for when-done termination
	terminates-after
karpenter.sh: nodepool provisioner-name capacity-type initialized registered unregistered disruption disrupted nodepool-hash
	nodepool-hash-version provisioner-hash do-not-disrupt do-not-evict do-not-consolidate managed-by nodeclaim-termination-timestamp
	nodeclaim-min-values-relaxed
karpenter.k8s.aws: instance-category instance-family instance-generation instance-size instance-cpu instance-cpu-manufacturer
	instance-memory instance-network-bandwidth instance-ebs-bandwidth instance-hypervisor instance-local-nvme instance-gpu-name
	instance-gpu-manufacturer instance-gpu-count instance-gpu-memory instance-accelerator-name instance-accelerator-count
	instance-encryption-in-transit-supported ec2nodeclass ec2nodeclass-hash ec2nodeclass-hash-version
eks.amazonaws.com: nodegroup nodegroup-image capacityType sourceLaunchTemplateId sourceLaunchTemplateVersion compute-type
	instance-category instance-family instance-generation instance-size instance-cpu instance-memory
k8s.amazonaws.com: accelerator eniConfig
alpha.eksctl.io: cluster-name nodegroup-name instance-id
cloud.google.com: gke-nodepool gke-spot gke-preemptible gke-accelerator gke-accelerator-count machine-family gke-boot-disk
	gke-container-runtime gke-cpu-scaling-level gke-logging-variant gke-max-pods-per-node gke-memory-gb-scaling-level gke-os-distribution
	gke-provisioning gke-stack-type gke-local-nvme-ssd gke-ephemeral-storage-local-ssd gke-tpu-accelerator gke-tpu-topology
	impending-node-termination private-node
kubernetes.azure.com: agentpool accelerator mode scalesetpriority cluster node-image-version nodepool-type os-sku role storageprofile
	storagetier consolidated-additional-properties kubelet-identity-client-id network-policy
worker.gardener.cloud: pool system-components image-name image-version kubernetes-version gardener-node-agent-secret-name
node.gardener.cloud: critical-components-not-ready machine-name
gardener.cloud: accelerator purpose role
autoscaler.gardener.cloud: scale-down-utilization-threshold scale-down-gpu-utilization-threshold scale-down-unneeded-time
	scale-down-unready-time max-node-provision-time
machine.sapcloud.io: node
node.machine.sapcloud.io: trigger-deletion-by-mcm not-managed-by-mcm
machinepriority.machine.sapcloud.io:
worker.garden.sapcloud.io: group
networking.gardener.cloud: node-local-dns-enabled
node-lifecycle.gardener.cloud:
doks.digitalocean.com: node-pool node-pool-id version
topology.ebs.csi.aws.com: zone
topology.gke.io: zone
topology.disk.csi.azure.com: zone
nvidia.com: gpu gpu.present gpu.count gpu.product gpu.memory
amd.com: gpu
gpu.intel.com: i915 xe
habana.ai: gaudi
`

// bareKeys are the keys without a domain that are used everywhere. By the autoscaler's taints a replay knows which nodes it
// removed, and how long that took.
const bareKeys = `app component tier k8s-app job-name controller-uid pod-template-hash pod-template-generation
	controller-revision-hash agentpool accelerator ToBeDeletedByClusterAutoscaler DeletionCandidateOfClusterAutoscaler
	machinepriority.machine.sapcloud.io metadata.name`

// openKeys are the keys that stay, openDomains the domains.
var openKeys, openDomains = func() (keys, domains map[string]bool) {
	keys, domains = words(bareKeys), map[string]bool{}
	domain := ""
	for _, w := range strings.Fields(keysOf) {
		if d, ok := strings.CutSuffix(w, ":"); ok {
			domain = d
			domains[d] = true
			continue
		}
		keys[domain+"/"+w] = true
	}
	return keys, domains
}()
