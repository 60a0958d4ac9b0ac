package nodetemplate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

func daemonSet(name, priorityClass string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: types.UID(name)},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{PriorityClassName: priorityClass}}}}
}

// TestPods: which DaemonSets come with a fresh node, beside the pods that are known to.
func TestPods(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	running, critical, plain := daemonSet("running", ""), daemonSet("critical", "system-node-critical"), daemonSet("plain", "")
	given := []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "running-x", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(running, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}}}}
	for _, tc := range []struct {
		force bool
		want  []string
	}{
		{false, []string{"running-x-0", "critical-pod"}},
		{true, []string{"running-x-0", "critical-pod", "plain-pod"}},
	} {
		var got []string
		for _, p := range Pods(node, given, []*appsv1.DaemonSet{running, critical, plain}, tc.force) {
			got = append(got, p.Name)
			if p.Spec.NodeName != "n" {
				t.Errorf("%s is on %q", p.Name, p.Spec.NodeName)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("force %t (-want +got):\n%s", tc.force, diff)
		}
	}
	if given[0].Name != "running-x" {
		t.Error("a given pod was changed")
	}
}

// TestInstance: an instance has a name and pods of its own and leaves the template as it is.
func TestInstance(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "t", Labels: map[string]string{"a": "b"}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}
	i := Instance(node, []*corev1.Pod{pod}, "g-7", "7")
	if n := i.Node(); n.Name != "g-7" || n.Labels[corev1.LabelHostname] != "g-7" || n.Labels["a"] != "b" {
		t.Errorf("%+v", n)
	}
	if p := i.Pods[0].GetPod(); p.Name != "agent-7" || p.Spec.NodeName != "g-7" {
		t.Errorf("%+v", p)
	}
	if node.Name != "t" || len(node.Labels) != 1 || pod.Spec.NodeName != "" {
		t.Error("the template was changed")
	}
}

func TestFreshTaints(t *testing.T) {
	var in []corev1.Taint
	for _, k := range []string{"dedicated", scalehist.ToBeDeletedTaint, scalehist.DeletionCandidateTaint, corev1.TaintNodeNotReady, "gpu"} {
		in = append(in, corev1.Taint{Key: k})
	}
	if diff := cmp.Diff([]corev1.Taint{{Key: "dedicated"}, {Key: "gpu"}}, FreshTaints(in)); diff != "" {
		t.Error(diff)
	}
}
