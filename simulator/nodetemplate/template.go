package nodetemplate

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist/simulator/fit"
)

// Instance makes a node of that name from a template: node and pods are copied as far as they differ. The pods are
// called as they are in the template, and the suffix.
func Instance(node *corev1.Node, pods []*corev1.Pod, name, suffix string) *framework.NodeInfo {
	n := *node
	n.Name, n.UID = name, types.UID("node/"+name)
	n.Labels = maps.Clone(node.Labels)
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelHostname] = name
	own := make([]*corev1.Pod, 0, len(pods))
	for i, p := range pods {
		c := *p
		c.Name = fmt.Sprintf("%s-%s", p.Name, suffix)
		c.UID = types.UID(fmt.Sprintf("pod/%s/%d", name, i))
		c.Spec.NodeName = name
		own = append(own, &c)
	}
	return fit.NewNodeInfo(&n, own...)
}

// Pods are the pods of a fresh node: the given ones, called after their place in the list, and one of each DaemonSet
// that is not among their controllers and would run there. Without force only DaemonSets whose pods would preempt
// others come on top (simulator/node_info_utils.go).
func Pods(node *corev1.Node, given []*corev1.Pod, daemonSets []*appsv1.DaemonSet, force bool) []*corev1.Pod {
	var out []*corev1.Pod
	running := map[types.UID]bool{}
	for i, p := range given {
		if c := metav1.GetControllerOf(p); c != nil {
			running[c.UID] = true
		}
		c := *p
		c.Name = fmt.Sprintf("%s-%d", p.Name, i)
		c.Spec.NodeName = node.Name
		out = append(out, &c)
	}
	for _, ds := range daemonSets {
		if running[ds.UID] || (!force && !nodeCritical(ds)) {
			continue
		}
		if run, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), node, ds); !run {
			continue
		}
		p := daemon.NewPod(ds, node.Name)
		p.Name = ds.Name + "-pod"
		p.UID = types.UID("pod/" + node.Name + "/" + ds.Name)
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		out = append(out, p)
	}
	return out
}

// nodeCritical: the DaemonSet's pods would preempt others to run on a fresh node.
func nodeCritical(ds *appsv1.DaemonSet) bool {
	s := &ds.Spec.Template.Spec
	return s.PriorityClassName == "system-node-critical" && (s.PreemptionPolicy == nil || *s.PreemptionPolicy == corev1.PreemptLowerPriority)
}

// DeprecatedLabels gives a provider's template both spellings, as a kubelet would.
func DeprecatedLabels(labels map[string]string) {
	for stable, old := range map[string]string{
		corev1.LabelTopologyZone: corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyRegion: corev1.LabelFailureDomainBetaRegion,
		corev1.LabelInstanceTypeStable: corev1.LabelInstanceType, corev1.LabelArchStable: "beta.kubernetes.io/arch", corev1.LabelOSStable: "beta.kubernetes.io/os",
	} {
		if v, ok := labels[stable]; ok {
			labels[old] = v
		}
	}
}

// StaticPod is a group's static pod as the kubelet of a new node mirrors it.
func StaticPod(p *corev1.Pod, node string) *corev1.Pod {
	out := p.DeepCopy()
	base := out.Name
	if n := len(base) - len(p.Spec.NodeName) - 1; n > 0 && base[n:] == "-"+p.Spec.NodeName {
		base = base[:n]
	}
	out.Name = base + "-" + node
	out.UID, out.ResourceVersion = "", ""
	out.CreationTimestamp = metav1.Time{}
	out.Spec.NodeName = node
	return out
}
