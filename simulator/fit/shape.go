package fit

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// shape is what all pods that the filter plugins cannot tell apart have in common.
type shape struct {
	id int
	// key is that of keyWriter; "" for a pod that has none.
	key string
	// pod is one of them; it stands for all.
	pod *corev1.Pod
	// info is pod's, with its requests computed; good for all of them as far as their status says nothing of resources.
	info *framework.PodInfo
	demand
	// volatile shapes have volumes or claims whose state lies outside the nodes: nothing is remembered for them.
	volatile bool
	// monotone: what does not fit a node for reasons of the node alone does not fit it with more pods. A volume that a
	// pod already there has attached may make room, so shapes with volumes of that kind are not.
	monotone bool
	// simple: of the pods on a node only their requests matter, as far as other nodes do not.
	simple bool
	// local is a PreFilter state without a plugin that looks at pods on other nodes; nil when there was none.
	local *state
	// states are other PreFilter states, one per fork level at most, the newest last.
	states []state
	past
}

// podEntry is what is computed once per pod object.
type podEntry struct {
	shape *shape
	info  *framework.PodInfo
}

// keyWriter writes shape keys into one buffer.
type keyWriter struct {
	buf        []byte
	labels     []string
	containers [2][]corev1.Container
	mounts     []corev1.VolumeMount
	volumes    []corev1.Volume
	spec       corev1.PodSpec
}

// key is equal for two pods exactly when the filter plugins cannot tell them apart: the plugins read namespace, labels
// and spec. Environment, hostname, and projected volumes, which no plugin reads, are left out: the last two have names
// of each pod's own (tokens, pods of a StatefulSet). Pods with generated claims are told apart by name, which the
// claims' names contain. With unbound the pod is taken as one that has no node yet. The bytes are good until the next
// call.
func (w *keyWriter) key(pod *corev1.Pod, unbound bool) (key []byte, volatile bool, err error) {
	b := append(w.buf[:0], pod.Namespace...)
	b = append(b, 0)
	w.labels = w.labels[:0]
	for k := range pod.Labels {
		w.labels = append(w.labels, k)
	}
	slices.Sort(w.labels)
	for _, k := range w.labels {
		b = append(b, k...)
		b = append(b, 1)
		b = append(b, pod.Labels[k]...)
		b = append(b, 2)
	}
	b = append(b, 0)
	spec := w.bare(&pod.Spec, unbound && pod.Spec.NodeName != "")
	start, size := len(b), spec.Size()
	b = slices.Grow(b, size)[:start+size]
	// It fills the buffer from its end.
	if _, err := spec.MarshalToSizedBuffer(b[start:]); err != nil {
		return nil, false, err
	}
	volatile = len(pod.Spec.ResourceClaims) > 0
	named := volatile
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		volatile = volatile || v.PersistentVolumeClaim != nil || v.Ephemeral != nil
		named = named || v.Ephemeral != nil
	}
	if named {
		b = append(b, 0)
		b = append(b, pod.Name...)
		b = append(b, pod.UID...)
	}
	w.buf = b
	return b, volatile, nil
}

// bare is the spec without what no filter plugin reads, and without the node's name; the spec itself when it has nothing
// of it.
func (w *keyWriter) bare(s *corev1.PodSpec, unbind bool) *corev1.PodSpec {
	projected := false
	for i := range s.Volumes {
		projected = projected || s.Volumes[i].Projected != nil
	}
	env := false
	for _, list := range [][]corev1.Container{s.Containers, s.InitContainers} {
		for i := range list {
			env = env || len(list[i].Env) > 0
		}
	}
	if !projected && !env && !unbind && s.Hostname == "" {
		return s
	}
	w.spec = *s
	c := &w.spec
	c.Hostname = ""
	if unbind {
		c.NodeName = ""
	}
	if projected {
		w.volumes = w.volumes[:0]
		for i := range s.Volumes {
			if s.Volumes[i].Projected == nil {
				w.volumes = append(w.volumes, s.Volumes[i])
			}
		}
		c.Volumes = w.volumes
	}
	if !projected && !env {
		return c
	}
	w.mounts = w.mounts[:0]
	for n, list := range []*[]corev1.Container{&c.Containers, &c.InitContainers} {
		w.containers[n] = append(w.containers[n][:0], *list...)
		*list = w.containers[n]
		for i := range *list {
			k := &(*list)[i]
			k.Env = nil
			if !projected {
				continue
			}
			start := len(w.mounts)
			for _, m := range k.VolumeMounts {
				if !isProjected(s.Volumes, m.Name) {
					w.mounts = append(w.mounts, m)
				}
			}
			k.VolumeMounts = w.mounts[start:len(w.mounts):len(w.mounts)]
		}
	}
	return c
}

func isProjected(volumes []corev1.Volume, name string) bool {
	for i := range volumes {
		if volumes[i].Name == name {
			return volumes[i].Projected != nil
		}
	}
	return false
}

func (c *Checker) newShape(pod *corev1.Pod, volatile bool) *shape {
	c.shapeCount++
	// The error is about malformed affinity terms, which the plugins report themselves.
	info, _ := framework.NewPodInfo(pod)
	monotone := !volatile && !attaches(pod)
	return &shape{
		id: c.shapeCount, pod: pod, info: info, volatile: volatile, demand: demandOf(pod), monotone: monotone,
		simple: monotone && len(schedutil.GetHostPorts(pod)) == 0,
	}
}

// boundInfo is the scheduler's view of a pod on a node. Pods alike but for their node share what is computed.
func (c *Checker) boundInfo(pod *corev1.Pod) *framework.PodInfo {
	p := withUID(pod)
	if resourceStatus(&p.Status) {
		info, _ := framework.NewPodInfo(p)
		return info
	}
	return c.shape(p, true).infoOf(p)
}

// infoOf is the scheduler's view of a pod of a shape.
func (sh *shape) infoOf(pod *corev1.Pod) *framework.PodInfo {
	if !sh.bareStatus(pod) {
		info, _ := framework.NewPodInfo(pod)
		return info
	}
	sh.info.CalculateResource()
	info := *sh.info
	info.Pod = pod
	return &info
}

// bareStatus: neither the pod's status nor that of the shape's pod has resources, so both count the same.
func (sh *shape) bareStatus(pod *corev1.Pod) bool {
	return sh.pod == pod || !resourceStatus(&pod.Status) && !resourceStatus(&sh.pod.Status)
}

// resourceStatus says whether the scheduler finds requests in a status: after a resize, or of resource claims.
func resourceStatus(s *corev1.PodStatus) bool {
	if s.Resources != nil || len(s.AllocatedResources) > 0 || len(s.NodeAllocatableResourceClaimStatuses) > 0 {
		return true
	}
	for _, list := range [][]corev1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses} {
		for i := range list {
			if list[i].Resources != nil || len(list[i].AllocatedResources) > 0 {
				return true
			}
		}
	}
	return false
}

// attaches says whether a pod has a volume that nodes attach or that pods cannot share.
func attaches(pod *corev1.Pod) bool {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i].VolumeSource
		if v.EmptyDir == nil && v.Projected == nil && v.Secret == nil && v.ConfigMap == nil && v.DownwardAPI == nil && v.HostPath == nil {
			return true
		}
	}
	return false
}

// withUID returns the pod, or a copy with a UID: the scheduler's caches tell pods apart by it.
func withUID(pod *corev1.Pod) *corev1.Pod {
	if pod.UID != "" {
		return pod
	}
	c := *pod
	c.UID = types.UID("pod/" + pod.Namespace + "/" + pod.Name)
	return &c
}

// NewNodeInfo builds a node with pods on it, in that order.
func NewNodeInfo(node *corev1.Node, pods ...*corev1.Pod) *framework.NodeInfo {
	n := framework.NewNodeInfo()
	n.SetNode(node)
	for _, p := range pods {
		n.AddPod(withUID(p))
	}
	return n
}
