package v1alpha1

const (
	// WorkerPoolAnnotation on a NodeGroup names the provider's worker pool it belongs to.
	WorkerPoolAnnotation = GroupName + "/worker-pool"
	// MachineDeploymentAnnotation on a NodeGroup names the provider's object behind it: "namespace/name" or "name".
	MachineDeploymentAnnotation = GroupName + "/machine-deployment"
	// BoundsFromAnnotation on a NodeGroup says where its bounds come from; BoundsFromNodes: nobody said, and they are 0 and the most
	// nodes seen at once.
	BoundsFromAnnotation = GroupName + "/bounds-from"
	BoundsFromNodes      = "nodes"
)

// GuessedMax says whether MaxSize is only the most nodes seen at once, because nothing named the group's real limit.
func (g *NodeGroup) GuessedMax() bool {
	return g.Annotations[BoundsFromAnnotation] == BoundsFromNodes
}
