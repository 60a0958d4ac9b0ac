package projection

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/internal/caflags"
)

// projectPod keeps what the scheduler and the autoscaler look at: the spec without what runs inside the containers,
// and of the status phase, conditions and what containers lived through.
func projectPod(p *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: projectMeta(p.ObjectMeta), Spec: projectPodSpec(p.Spec, keepNothing)}
	out.Spec.NodeName = p.Spec.NodeName
	out.Status = corev1.PodStatus{Phase: p.Status.Phase, Reason: p.Status.Reason,
		NominatedNodeName: p.Status.NominatedNodeName, StartTime: p.Status.StartTime.DeepCopy(),
		Resize:                p.Status.Resize, // of clusters before 1.33
		ContainerStatuses:     projectContainerStatuses(p.Status.ContainerStatuses, p.Spec.Containers),
		InitContainerStatuses: projectContainerStatuses(p.Status.InitContainerStatuses, p.Spec.InitContainers)}
	for _, c := range p.Status.Conditions {
		kept := corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime}
		if c.Type == corev1.PodScheduled || c.Type == corev1.DisruptionTarget {
			kept.Message = c.Message // why it cannot be placed; who preempted or evicted it
		}
		out.Status.Conditions = append(out.Status.Conditions, kept)
	}
	return out
}

// keepCommand is what is kept of a container's command line.
type keepCommand func(*corev1.Container) (command, args []string)

func keepNothing(*corev1.Container) (command, args []string) { return nil, nil }

// keepFlags keeps the cluster-autoscaler's flags, which are part of the history, and no secret among them. Every object
// that is written passes here, wherever it comes from.
func keepFlags(c *corev1.Container) (command, args []string) {
	if !caflags.IsAutoscaler(c) {
		return nil, nil
	}
	return caflags.Kept(c)
}

func projectTemplate(t corev1.PodTemplateSpec, keep keepCommand) corev1.PodTemplateSpec {
	meta := projectMeta(t.ObjectMeta)
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels, Annotations: meta.Annotations},
		Spec:       projectPodSpec(t.Spec, keep),
	}
}

// projectPodSpec leaves spec.nodeName to its caller: in a pod it is per instance.
func projectPodSpec(s corev1.PodSpec, keep keepCommand) corev1.PodSpec {
	s = *s.DeepCopy()
	out := corev1.PodSpec{
		RestartPolicy:                 s.RestartPolicy,
		TerminationGracePeriodSeconds: s.TerminationGracePeriodSeconds,
		ActiveDeadlineSeconds:         s.ActiveDeadlineSeconds,
		NodeSelector:                  s.NodeSelector,
		HostNetwork:                   s.HostNetwork,
		Affinity:                      s.Affinity,
		SchedulerName:                 s.SchedulerName,
		Tolerations:                   s.Tolerations,
		PriorityClassName:             s.PriorityClassName,
		Priority:                      s.Priority,
		PreemptionPolicy:              s.PreemptionPolicy,
		RuntimeClassName:              s.RuntimeClassName,
		Overhead:                      s.Overhead,
		TopologySpreadConstraints:     s.TopologySpreadConstraints,
		OS:                            s.OS,
		SchedulingGates:               s.SchedulingGates,
		ResourceClaims:                s.ResourceClaims,
		Resources:                     s.Resources,
		SchedulingGroup:               s.SchedulingGroup,
	}
	for i := range s.InitContainers {
		out.InitContainers = append(out.InitContainers, projectContainer(&s.InitContainers[i], keep))
	}
	for i := range s.Containers {
		out.Containers = append(out.Containers, projectContainer(&s.Containers[i], keep))
	}
	for i := range s.Volumes {
		if v, ok := projectVolume(&s.Volumes[i]); ok {
			out.Volumes = append(out.Volumes, v)
		}
	}
	return out
}

func projectContainer(c *corev1.Container, keep keepCommand) corev1.Container {
	out := corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
	for _, p := range c.Ports {
		if p.HostPort != 0 { // other ports do not bear on placement
			out.Ports = append(out.Ports, corev1.ContainerPort{HostPort: p.HostPort, ContainerPort: p.ContainerPort,
				Protocol: p.Protocol, HostIP: p.HostIP})
		}
	}
	out.Command, out.Args = keep(c)
	return out
}

// projectVolume keeps the volumes that bind a pod to a place or make it hard to drain. Secrets, config maps,
// projected tokens (whose names are random), downward API and images are left out.
func projectVolume(v *corev1.Volume) (corev1.Volume, bool) {
	out := corev1.Volume{Name: v.Name}
	switch {
	case v.PersistentVolumeClaim != nil:
		out.PersistentVolumeClaim = v.PersistentVolumeClaim
	case v.EmptyDir != nil:
		out.EmptyDir = v.EmptyDir
	case v.HostPath != nil:
		out.HostPath = &corev1.HostPathVolumeSource{Path: "/kept"} // that there is one, not which
	case v.Ephemeral != nil:
		out.Ephemeral = &corev1.EphemeralVolumeSource{}
		if t := v.Ephemeral.VolumeClaimTemplate; t != nil {
			meta := projectMeta(t.ObjectMeta)
			out.Ephemeral.VolumeClaimTemplate = &corev1.PersistentVolumeClaimTemplate{
				ObjectMeta: metav1.ObjectMeta{Labels: meta.Labels, Annotations: meta.Annotations},
				Spec:       projectClaimSpec(t.Spec)}
		}
	case v.CSI != nil:
		out.CSI = &corev1.CSIVolumeSource{Driver: v.CSI.Driver}
	case v.GCEPersistentDisk != nil:
		out.GCEPersistentDisk = v.GCEPersistentDisk
	case v.AWSElasticBlockStore != nil:
		out.AWSElasticBlockStore = v.AWSElasticBlockStore
	case v.AzureDisk != nil:
		out.AzureDisk = v.AzureDisk
	default:
		return out, false
	}
	return out, true
}

// projectNode keeps a node's shape, taints and health.
func projectNode(n *corev1.Node) *corev1.Node {
	out := &corev1.Node{ObjectMeta: projectMeta(n.ObjectMeta)}
	out.Spec = corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Unschedulable: n.Spec.Unschedulable}
	for i := range n.Spec.Taints {
		out.Spec.Taints = append(out.Spec.Taints, *n.Spec.Taints[i].DeepCopy())
	}
	out.Status = corev1.NodeStatus{Capacity: n.Status.Capacity.DeepCopy(), Allocatable: n.Status.Allocatable.DeepCopy(),
		DeclaredFeatures: cloneSlice(n.Status.DeclaredFeatures)}
	for _, c := range n.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status,
			Reason: c.Reason, LastTransitionTime: c.LastTransitionTime})
	}
	return out
}
