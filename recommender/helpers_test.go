package recommender

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/prices"
)

var testNow = time.Date(2026, time.March, 1, 10, 0, 0, 0, time.UTC)

// testGroup has a template of a machine type named after its size ("4x16": 4 cores, 16 GiB).
func testGroup(name, machine string, minSize, maxSize, target int, change ...func(*corev1.Node)) NodeGroup {
	n := testNode("", name, machine)
	for _, f := range change {
		f(n)
	}
	return NodeGroup{Name: name, MinSize: minSize, MaxSize: maxSize, TargetSize: target, MachineType: machine,
		Zone: n.Labels[corev1.LabelTopologyZone], Template: n}
}

func inZone(zone string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = zone }
}

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

// testNode has been Ready for an hour; without a name it is a template.
func testNode(name, group, machine string, change ...func(*corev1.Node)) *corev1.Node {
	cpu, memory, _ := strings.Cut(machine, "x")
	list := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory + "Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	born := metav1.NewTime(testNow.Add(-time.Hour))
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node/" + name), CreationTimestamp: born,
			Labels: map[string]string{corev1.LabelInstanceTypeStable: machine}, Annotations: map[string]string{}},
		Status: corev1.NodeStatus{Capacity: list, Allocatable: list.DeepCopy(), Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: born,
		}}},
	}
	if name != "" {
		n.Labels[corev1.LabelHostname] = name
	}
	if group != "" {
		n.Annotations[v1alpha1.NodeGroupAnnotation] = group
	}
	for _, f := range change {
		f(n)
	}
	return n
}

// testPods are unschedulable pods of one ReplicaSet, app-0 and on.
func testPods(app string, count int, cpu, memory string, change ...func(*corev1.Pod)) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range count {
		yes := true
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", app, i), UID: types.UID(fmt.Sprintf("pod/%s-%d", app, i)),
				CreationTimestamp: metav1.NewTime(testNow.Add(-time.Minute)), Labels: map[string]string{"app": app},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: &yes}}},
			Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
			}}}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/0 nodes are available",
			}}},
		}
		for _, f := range change {
			f(p)
		}
		out = append(out, p)
	}
	return out
}

func onNode(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status = name, corev1.PodStatus{Phase: corev1.PodRunning}
	}
}

func withPriority(n int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &n } }

func tolerating(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists}}
	}
}

func spreadOver(topology string, skew int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: skew, TopologyKey: topology, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
		}}
	}
}

func apartOver(topology string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
		}}}}
	}
}

func nextTo(app, topology string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: topology, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}}}}
	}
}

func claiming(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	}
}

// priced has prices by machine type.
func priced(byType map[string]float64) *prices.Table {
	return &prices.Table{Currency: "EUR", MachineTypes: byType}
}

func request(groups []NodeGroup, pods ...[]*corev1.Pod) *Request {
	return &Request{Now: testNow, Objects: &scalehist.Objects{Pods: slices.Concat(pods...)}, Terms: Terms{NodeGroups: groups}, Parallelism: 1}
}

// recommend fails the test on an error.
func recommend(t testing.TB, r *Request) *Recommendation {
	t.Helper()
	got, err := New().Recommend(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// sizes are counts by group.
func sizes(r *Recommendation) map[string]int {
	out := map[string]int{}
	for _, s := range r.ScaleUps {
		out[s.NodeGroup] = s.Count
	}
	return out
}

// podsByNode lists the pods of the new nodes: "a-0: default/x-0 default/x-1".
func podsByNode(r *Recommendation) []string {
	var out []string
	for _, s := range r.ScaleUps {
		for _, n := range s.Nodes {
			out = append(out, n.Name+": "+strings.ReplaceAll(strings.Join(n.Pods, " "), "default/", ""))
		}
	}
	return out
}

func unplacedNames(r *Recommendation) []string {
	var out []string
	for _, u := range r.Unplaced {
		out = append(out, u.Pod)
	}
	return out
}
