package contract

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist/harness/kvcl"
)

const namespace = "default"

// node has cpu CPUs, memory to spare and room for 110 pods.
func node(name string, cpu int, edits ...func(*corev1.Node)) *corev1.Node {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(cpu), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Capacity: list, Allocatable: list,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, e := range edits {
		e(n)
	}
	return n
}

func inZone(zone string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = zone }
}

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, taint(key)) }
}

func taint(key string) corev1.Taint {
	return corev1.Taint{Key: key, Value: "x", Effect: corev1.TaintEffectNoSchedule}
}

// pod asks for cpu CPUs.
func pod(name string, cpu int, edits ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "image",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewQuantity(int64(cpu), resource.DecimalSI),
			}},
		}}},
	}
	for _, e := range edits {
		e(p)
	}
	return p
}

func withPriority(n int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Priority = ptr.To(n) }
}

func onNode(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName = name }
}

// running is a bound pod whose containers run and are ready.
func running(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		start := metav1.NewTime(Now)
		p.Spec.NodeName = node
		p.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &start,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: start}},
		}
	}
}

func inNamespace(ns string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Namespace = ns }
}

func id(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func binding(pod, node string) kvcl.Binding { return kvcl.Binding{Pod: id(pod), Node: node} }

// noFit is upstream's message when preemption cannot help on any node.
func noFit(nodes int, reason string) string {
	return fmt.Sprintf("0/%d nodes are available: %s. no new claims to deallocate, preemption: 0/%d nodes are available: %d Preemption is not helpful for scheduling.",
		nodes, reason, nodes, nodes)
}
