package v1alpha1

const (
	// WorkerPoolAnnotation on a NodeGroup names the provider's worker pool it belongs to.
	WorkerPoolAnnotation = GroupName + "/worker-pool"
	// MachineDeploymentAnnotation on a NodeGroup names the provider's object behind it: "namespace/name" or "name".
	MachineDeploymentAnnotation = GroupName + "/machine-deployment"
)
