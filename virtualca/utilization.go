package virtualca

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist/simulator/drain"
)

// gpuResources are the resources upstream knows as GPUs (utils/gpu).
var gpuResources = []corev1.ResourceName{gpuResource, "amd.com/gpu", "microsoft.com/directx"}

// utilization is the share of a node's allocatable resources that its pods ask for, of the resource that counts.
type utilization struct {
	resource corev1.ResourceName
	value    float64
}

// requested is what pods ask for, in the units of the scheduler's NodeInfo: milli cores, bytes, devices.
type requested struct{ cpu, memory, gpu int64 }

func (r *requested) take(p *corev1.Pod, gpu corev1.ResourceName) {
	list := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	r.cpu += list.Cpu().MilliValue()
	r.memory += list.Memory().Value()
	if q, ok := list[gpu]; ok {
		r.gpu += q.Value()
	}
}

// utilizationOf measures a node (simulator/utilization): a GPU node by its GPUs alone, any other by the larger of cpu
// and memory. Pods that should have been gone long ago do not count. DaemonSet and mirror pods, where they are ignored,
// leave both the sum and the allocatable. It is an error when cpu or memory is not allocatable.
func (l *loop) utilizationOf(n *framework.NodeInfo, ignoreDaemonSets, ignoreMirror bool) (utilization, error) {
	node := n.Node()
	gpu, isGPU := l.gpuOf(node)
	gone, beside := l.uncounted(n, gpu, ignoreDaemonSets, ignoreMirror)
	if isGPU {
		have := node.Status.Allocatable[gpu]
		if have.IsZero() {
			return utilization{resource: gpu}, nil // the driver is not there yet
		}
		used := n.Requested.ScalarResources[gpu] - gone.gpu - beside.gpu
		return utilization{gpu, share(used, have.Value()-beside.gpu)}, nil
	}
	cpu, memory := node.Status.Allocatable.Cpu().MilliValue(), node.Status.Allocatable.Memory().Value()
	if cpu == 0 || memory == 0 {
		return utilization{}, fmt.Errorf("node %s: no allocatable cpu or memory", node.Name)
	}
	c := utilization{corev1.ResourceCPU, share(n.Requested.MilliCPU-gone.cpu-beside.cpu, cpu-beside.cpu)}
	m := utilization{corev1.ResourceMemory, share(n.Requested.Memory-gone.memory-beside.memory, memory-beside.memory)}
	if c.value > m.value {
		return c, nil
	}
	return m, nil
}

// uncounted sums up the pods of a node that do not count: gone leave the requests, beside the allocatable as well.
func (l *loop) uncounted(n *framework.NodeInfo, gpu corev1.ResourceName, ignoreDaemonSets, ignoreMirror bool) (gone, beside requested) {
	for _, info := range n.Pods {
		p := info.GetPod()
		switch {
		case ignoreDaemonSets && isDaemonSetPod(p), ignoreMirror && isMirrorPod(p):
			beside.take(p, gpu)
		case p.DeletionTimestamp != nil && drain.LongTerminating(p, l.now):
			gone.take(p, gpu)
		}
	}
	return gone, beside
}

// gpuOf names the GPU resource of a node: it has the provider's GPU label, or a known GPU resource.
func (l *loop) gpuOf(n *corev1.Node) (corev1.ResourceName, bool) {
	if l.a.provider.IgnoresGPUs() {
		return gpuResource, false
	}
	for _, r := range gpuResources {
		if q := n.Status.Allocatable[r]; !q.IsZero() {
			return r, true
		}
	}
	label := l.a.provider.GPULabel()
	_, ok := n.Labels[label]
	return gpuResource, label != "" && ok
}

func share(used, of int64) float64 { return float64(used) / float64(of) }

// thresholds are the settings of scale-down for one group, its own options before the flags.
type thresholds struct {
	utilization, gpuUtilization float64
	ignoreDaemonSets            bool
	unneeded, unready           time.Duration
}

func (a *Autoscaler) thresholds(group string) thresholds {
	d := &a.settings.Down
	t := thresholds{d.UtilizationThreshold, d.GPUUtilizationThreshold, d.IgnoreDaemonSets, d.UnneededTime, d.UnreadyTime}
	o, ok := a.provider.GroupOptions(group)
	if !ok {
		return t
	}
	override(&t.utilization, o.ScaleDownUtilizationThreshold)
	override(&t.gpuUtilization, o.ScaleDownGPUUtilizationThreshold)
	override(&t.ignoreDaemonSets, o.IgnoreDaemonSetsUtilization)
	override(&t.unneeded, o.ScaleDownUnneededTime)
	override(&t.unready, o.ScaleDownUnreadyTime)
	return t
}

func override[T any](to *T, with *T) {
	if with != nil {
		*to = *with
	}
}
