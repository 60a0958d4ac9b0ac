package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

var epoch = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// TestNodePods: the report names the pods that belong to nodes as they come, and those that go while their node stays; what a node
// offers to others is its allocatable without them.
func TestNodePods(t *testing.T) {
	allocatable := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}
	vm := func(name string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: allocatable}}
	}
	agent := func(node, uid, cpu string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent-" + node, UID: types.UID(uid),
			OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: new(true)}}},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}}}
	}
	web := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.PodSpec{NodeName: "std-1"}}
	provider, err := cloudprovider.New([]scalehist.NodeGroup{{Name: "std", MaxSize: 3, TargetSize: 1}}, cloudprovider.Options{Start: epoch})
	if err != nil {
		t.Fatal(err)
	}

	at := epoch
	l := New(&trace.Input{Start: epoch}, provider, &scalehist.Objects{Nodes: []*corev1.Node{vm("std-0")}, Pods: []*corev1.Pod{agent("std-0", "0", "100m")}})
	step := func(do func(), pods ...*corev1.Pod) scalehist.Batch {
		at = at.Add(time.Minute)
		l.Begin(at)
		do()
		l.Measure(&scalehist.Objects{Pods: pods, Nodes: []*corev1.Node{vm("std-0"), vm("std-1")}})
		l.Commit(nil)
		return l.batch
	}
	joins := func(name string) func() {
		return func() {
			l.NodeEvents([]cloudprovider.Event{{Type: cloudprovider.NodeJoined, At: at, Group: "std", NodeName: name, Node: vm(name)}})
		}
	}
	came := func(pods ...scalehist.NodePod) []scalehist.NodePod { return pods }
	of := func(node, cpu string) scalehist.NodePod {
		return scalehist.NodePod{Namespace: "kube-system", Name: "agent-" + node, NodeName: node, Owner: "DaemonSet/agent", Requests: map[string]string{"cpu": cpu}}
	}
	nothing := func() {}

	for _, tt := range []struct {
		name     string
		got      scalehist.Batch
		wantCame []scalehist.NodePod
		wantGone []string
	}{
		{"a node joins", step(joins("std-1"), agent("std-0", "0", "100m"), agent("std-1", "1", "100m"), web), came(of("std-1", "100m")), nil},
		{"nothing changes", step(nothing, agent("std-0", "0", "100m"), agent("std-1", "1", "100m"), web), nil, nil},
		{"the DaemonSet is rolled", step(nothing, agent("std-0", "2", "200m"), agent("std-1", "3", "200m"), web),
			came(of("std-0", "200m"), of("std-1", "200m")), []string{"kube-system/agent-std-0", "kube-system/agent-std-1"}},
		{"a node goes, its pod with it", step(func() {
			l.NodeEvents([]cloudprovider.Event{{Type: cloudprovider.NodeGone, At: at, Group: "std", NodeName: "std-1"}})
		}, agent("std-0", "2", "200m")), nil, nil},
		{"another node takes the name", step(joins("std-1"), agent("std-0", "2", "200m"), agent("std-1", "4", "200m")), came(of("std-1", "200m")), nil},
		{"the DaemonSet is deleted", step(nothing), nil, []string{"kube-system/agent-std-0", "kube-system/agent-std-1"}},
	} {
		if diff := cmp.Diff(tt.wantCame, tt.got.NodePods); diff != "" {
			t.Errorf("%s: pods of nodes (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.wantGone, tt.got.NodePodsGone); diff != "" {
			t.Errorf("%s: gone (-want +got):\n%s", tt.name, diff)
		}
	}
	for i, want := range []string{"3900m", "3800m"} {
		if got := l.ScaledNodes()[i].Offers["cpu"]; got != want {
			t.Errorf("node %d offers %s CPU, want %s", i, got, want)
		}
	}
}
