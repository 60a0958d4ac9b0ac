package scalehist_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

func TestNewSnapshot(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cpu := func(s string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(s)}}
	}
	pod := func(name, node string, phase corev1.PodPhase, mutate ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(now)},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Resources: cpu("500m")}}}, Status: corev1.PodStatus{Phase: phase}}
		for _, m := range mutate {
			m(p)
		}
		return p
	}
	pending := pod("z-pending", "", corev1.PodPending, func(p *corev1.Pod) {
		p.Spec.Priority = new(int32(7))
		p.Spec.InitContainers = []corev1.Container{{Resources: cpu("2")}}
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", Controller: new(true)}}
		p.Status.NominatedNodeName = "n1"
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes"}}
	})
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Annotations: map[string]string{"scalehist.io/node-group": "g"},
		Labels: map[string]string{corev1.LabelTopologyZone: "z1", corev1.LabelInstanceTypeStable: "m5.large"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Value: "v", Effect: corev1.TaintEffectNoSchedule}, {Key: "bare", Effect: corev1.TaintEffectNoExecute}}},
		Status: corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4000m")},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	objects := &scalehist.Objects{Nodes: []*corev1.Node{node}, Pods: []*corev1.Pod{
		pending, pod("running", "n1", corev1.PodRunning), pod("done", "n1", corev1.PodSucceeded), pod("a-pending", "", corev1.PodPending), pod("failed", "", corev1.PodFailed)}}
	groups := []scalehist.NodeGroup{{Name: "g", Template: &corev1.Node{}}, {Name: "b"}}
	settings := scalehist.CASettings{Flags: []string{"--v=4"}}

	s := scalehist.NewSnapshot(now, objects, groups, settings)

	half := map[string]string{"cpu": "500m"}
	zInfo := scalehist.PodInfo{Namespace: "default", Name: "z-pending", CreatedAt: now, NominatedNodeName: "n1", Owner: "ReplicaSet/web", Priority: 7, Requests: map[string]string{"cpu": "2"}, Message: "0/1 nodes"}
	want := scalehist.ClusterSnapshot{At: now, CASettings: settings,
		UnscheduledPods: []scalehist.PodInfo{{Namespace: "default", Name: "a-pending", CreatedAt: now, Requests: half}, zInfo},
		NominatedPods:   []scalehist.PodInfo{zInfo},
		ScheduledPods:   []scalehist.PodInfo{{Namespace: "default", Name: "running", CreatedAt: now, NodeName: "n1", Requests: half}},
		Nodes: []scalehist.NodeInfo{{Name: "n1", NodeGroup: "g", Ready: true, MachineType: "m5.large", Zone: "z1", Capacity: map[string]string{"cpu": "4"},
			Taints: []string{"k=v:NoSchedule", "bare:NoExecute"}, Pods: 1}},
		NodeGroups: []scalehist.NodeGroup{{Name: "b"}, {Name: "g"}},
	}
	if diff := cmp.Diff(want, s.Summary()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if s.Objects != objects || s.UnscheduledPods[1].Pod != pending || s.Nodes[0].Node != node || s.NodeGroups[1].Template == nil {
		t.Error("Summary changed the snapshot it was taken of")
	}
	if groups[0].Name != "g" {
		t.Error("NewSnapshot sorted its caller's node groups")
	}
}

func TestNewSnapshotOfNothing(t *testing.T) {
	s := scalehist.NewSnapshot(time.Time{}, nil, nil, scalehist.CASettings{})
	if s.UnscheduledPods == nil || s.ScheduledPods == nil || s.Nodes == nil || s.NodeGroups == nil || s.Objects == nil {
		t.Errorf("nil lists would be null in a report: %+v", s)
	}
}
