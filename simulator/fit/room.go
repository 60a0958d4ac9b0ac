package fit

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// room is what a node has left, beside each other for all nodes: most questions are answered by it.
type room struct {
	cpu, memory, disk int64
	pods              int
	closed            bool
}

func roomOf(n *framework.NodeInfo) room {
	return room{
		cpu:    n.Allocatable.MilliCPU - n.Requested.MilliCPU,
		memory: n.Allocatable.Memory - n.Requested.Memory,
		disk:   n.Allocatable.EphemeralStorage - n.Requested.EphemeralStorage,
		pods:   n.Allocatable.AllowedPodNumber - len(n.Pods),
		closed: n.Node().Spec.Unschedulable,
	}
}

// demand is what a pod asks for: cpu (milli), memory and disk (bytes), and other resources by name.
type demand struct {
	cpu, memory, disk int64
	others            []other
}

type other struct {
	name   corev1.ResourceName
	amount int64
}

func demandOf(pod *corev1.Pod) demand {
	var r framework.Resource
	r.SetMaxResource(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}))
	d := demand{cpu: r.MilliCPU, memory: r.Memory, disk: r.EphemeralStorage}
	for name, amount := range r.ScalarResources {
		if amount > 0 {
			d.others = append(d.others, other{name, amount})
		}
	}
	return d
}

// exceeds says no by integers alone: what NodeResourcesFit compares, so a true is exact as long as no device class
// stands for an extended resource, of which there are none here.
func (d *demand) exceeds(r *room) bool {
	return r.pods < 1 || (d.cpu > 0 && d.cpu > r.cpu) || (d.memory > 0 && d.memory > r.memory) || (d.disk > 0 && d.disk > r.disk)
}

// exceedsOthers is exceeds for the resources that are not in a room.
func (d *demand) exceedsOthers(n *framework.NodeInfo) bool {
	for i := range d.others {
		o := &d.others[i]
		if o.amount > n.Allocatable.ScalarResources[o.name]-n.Requested.ScalarResources[o.name] {
			return true
		}
	}
	return false
}
