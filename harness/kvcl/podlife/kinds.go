package podlife

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ComesBack says whether somebody recreates the pod when it is evicted: its controller, but neither a DaemonSet
// (whose pods belong to a node) nor a kubelet's static pod.
func ComesBack(p *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(p)
	return owner != nil && owner.Kind != "DaemonSet" && owner.Kind != "Node"
}

// FollowsNode: the pods of DaemonSets and kubelets come and go with their node.
func FollowsNode(p *corev1.Pod) bool {
	o := metav1.GetControllerOfNoCopy(p)
	return o != nil && (o.Kind == "DaemonSet" || o.Kind == "Node")
}

// DaemonNode is the node a DaemonSet pod is on or meant for: until it is bound, the name is in the node affinity
// the controller gave it.
func DaemonNode(p *corev1.Pod) string {
	if p.Spec.NodeName != "" || p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil ||
		p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return p.Spec.NodeName
	}
	for _, t := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			if f.Key == metav1.ObjectNameField && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

// IsDaemon says whether a pod is of a DaemonSet.
func IsDaemon(p *corev1.Pod) bool {
	o := metav1.GetControllerOfNoCopy(p)
	return o != nil && o.Kind == "DaemonSet"
}

// ControllerUID is the UID of what controls a pod; empty where nothing does.
func ControllerUID(p *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		return owner.UID
	}
	return ""
}
