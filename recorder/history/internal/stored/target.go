package stored

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The DaemonSet controller gives each pod a required node affinity to one node by name (matchFields metadata.name,
// https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#how-daemon-pods-are-scheduled), which would make
// the content of each pod its own. The name is kept beside the content, as that of the node a pod is bound to is.

// anyNode stands in a content for that name. No node has it: names are DNS subdomains.
const anyNode = "{node}"

// takeTarget replaces the name of the one node that a pod is for, and gives it: "" if it is not for one, or if it is
// bound to another.
func takeTarget(s *corev1.PodSpec) string {
	target := ""
	ok := eachTarget(s, func(name *string) bool {
		if target == "" {
			target = *name
		}
		return *name == target && *name != anyNode
	})
	if !ok || target == "" || s.NodeName != "" && s.NodeName != target {
		return ""
	}
	eachTarget(s, func(name *string) bool {
		*name = anyNode
		return true
	})
	return target
}

// putTarget is the inverse of takeTarget.
func putTarget(s *corev1.PodSpec, node string) {
	eachTarget(s, func(name *string) bool {
		if *name == anyNode {
			*name = node
		}
		return true
	})
}

// eachTarget calls f for the node names in the required node affinity until it says false.
func eachTarget(s *corev1.PodSpec, f func(name *string) bool) bool {
	if s.Affinity == nil || s.Affinity.NodeAffinity == nil || s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	terms := s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		for j := range terms[i].MatchFields {
			m := &terms[i].MatchFields[j]
			if m.Key != metav1.ObjectNameField || m.Operator != corev1.NodeSelectorOpIn || len(m.Values) != 1 {
				continue
			}
			if !f(&m.Values[0]) {
				return false
			}
		}
	}
	return true
}
