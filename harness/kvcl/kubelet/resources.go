package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Differ says whether two pods of the same containers ask for other resources.
func Differ(a, b *corev1.Pod) bool {
	differ := func(a, b []corev1.Container) bool {
		for i := range a {
			if i < len(b) && !equality.Semantic.DeepEqual(a[i].Resources, b[i].Resources) {
				return true
			}
		}
		return false
	}
	return differ(a.Spec.Containers, b.Spec.Containers) || differ(a.Spec.InitContainers, b.Spec.InitContainers) ||
		!equality.Semantic.DeepEqual(a.Spec.Resources, b.Spec.Resources)
}

// CopyResources gives containers the resources of others, by position.
func CopyResources(to, from []corev1.Container) {
	for i := range to {
		if i < len(from) {
			to[i].Resources = from[i].Resources
		}
	}
}

// WithResourcesOf is a pod whose containers have the resources of those of another; none where that has no such container.
func WithResourcesOf(p, other *corev1.Pod) *corev1.Pod {
	next := *p
	next.Spec.Containers = sized(p.Spec.Containers, other.Spec.Containers)
	next.Spec.InitContainers = sized(p.Spec.InitContainers, other.Spec.InitContainers)
	return &next
}

func sized(containers, like []corev1.Container) []corev1.Container {
	out := slices.Clone(containers)
	for i := range out {
		out[i].Resources = corev1.ResourceRequirements{}
	}
	CopyResources(out, like)
	return out
}

// RestartsFor says whether a container with other resources has to be restarted.
func RestartsFor(to, from *corev1.Container) bool {
	return slices.ContainsFunc(to.ResizePolicy, func(policy corev1.ContainerResizePolicy) bool {
		differ := func(a, b corev1.ResourceList) bool {
			x, y := a[policy.ResourceName], b[policy.ResourceName]
			return x.Cmp(y) != 0
		}
		return policy.RestartPolicy == corev1.RestartContainer &&
			(differ(to.Resources.Requests, from.Resources.Requests) || differ(to.Resources.Limits, from.Resources.Limits))
	})
}
