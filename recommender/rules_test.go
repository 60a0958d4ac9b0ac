package recommender

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/simulator/drain"
)

// zonalClaim is a bound claim whose volume is in one zone.
func zonalClaim(r *Request, name, zone string) {
	r.Objects.PersistentVolumeClaims = append(r.Objects.PersistentVolumeClaims, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "claim-uid", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	})
	r.Objects.PersistentVolumes = append(r.Objects.PersistentVolumes, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: name, UID: "claim-uid"},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
			}}}}},
		},
	})
}

// waitingClaim waits for its first consumer; its class provisions in one zone.
func waitingClaim(r *Request, name, zone string) {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	r.Objects.StorageClasses = append(r.Objects.StorageClasses, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "in-" + zone}, Provisioner: "disk.example.com", VolumeBindingMode: &wait,
		AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{zone}}}}},
	})
	class := "in-" + zone
	r.Objects.PersistentVolumeClaims = append(r.Objects.PersistentVolumeClaims, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	})
}

func agentSet(cpu string) *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent", UID: "agent"}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}}},
	}}
}

func twoZones() []NodeGroup {
	return []NodeGroup{testGroup("a", "2x8", 0, 9, 0, inZone("z1")), testGroup("b", "2x8", 0, 9, 0, inZone("z2"))}
}

// inNamespace moves a pod there; who has its name elsewhere is another.
func inNamespace(namespace string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Namespace, p.UID = namespace, types.UID(namespace+"/"+string(p.UID)) }
}

// TestRules has one cluster for each rule a recommendation keeps to, under every strategy.
func TestRules(t *testing.T) {
	one := func(max int) []NodeGroup { return []NodeGroup{testGroup("a", "2x8", 0, max, 0)} }
	cutoff := int32(-10)
	for _, tc := range []struct {
		name     string
		request  *Request
		with     func(*Request)
		want     map[string]int
		nodes    []string
		unplaced []string
		why      string // of the first pod that is left, in group a
	}{
		{name: "a volume in a zone brings a node there", request: request(twoZones(), testPods("db", 1, "1", "1Gi", claiming("data"))),
			with: func(r *Request) { zonalClaim(r, "data", "z2") }, want: map[string]int{"b": 1}, nodes: []string{"b-0: db-0"}},
		{name: "a class that provisions in a zone brings a node there", request: request(twoZones(), testPods("db", 1, "1", "1Gi", claiming("data"))),
			with: func(r *Request) { waitingClaim(r, "data", "z2") }, want: map[string]int{"b": 1}},
		{name: "a claim that does not exist brings nothing", request: request(twoZones(), testPods("db", 1, "1", "1Gi", claiming("data"))),
			unplaced: []string{"default/db-0"}, want: map[string]int{}, why: `persistentvolumeclaim "data" not found`},
		{name: "a taint keeps pods off", request: request([]NodeGroup{testGroup("a", "2x8", 0, 9, 0, tainted("gpu")), testGroup("b", "4x16", 0, 9, 0)}, testPods("web", 1, "1", "1Gi")),
			want: map[string]int{"b": 1}},
		{name: "a toleration lets them", request: request([]NodeGroup{testGroup("a", "2x8", 0, 9, 0, tainted("gpu")), testGroup("b", "4x16", 0, 9, 0)}, testPods("web", 1, "1", "1Gi", tolerating("gpu"))),
			want: map[string]int{"a": 1}},
		{name: "no group tolerated", request: request([]NodeGroup{testGroup("a", "2x8", 0, 9, 0, tainted("gpu"))}, testPods("web", 1, "1", "1Gi")),
			want: map[string]int{}, unplaced: []string{"default/web-0"}, why: "TaintToleration: node(s) had untolerated taint(s)"},
		{name: "spread over zones that have nodes", request: request([]NodeGroup{testGroup("a", "2x8", 0, 9, 1, inZone("z1")), testGroup("b", "2x8", 0, 9, 1, inZone("z2"))},
			testPods("full", 2, "2", "1Gi", func(p *corev1.Pod) { onNode(map[string]string{"full-0": "a-0", "full-1": "b-0"}[p.Name])(p) }), testPods("web", 4, "1", "1Gi", spreadOver(corev1.LabelTopologyZone, 1))),
			with: func(r *Request) {
				r.Objects.Nodes = append(r.Objects.Nodes, testNode("a-0", "a", "2x8", inZone("z1")), testNode("b-0", "b", "2x8", inZone("z2")))
			}, want: map[string]int{"a": 1, "b": 1}},
		{name: "apart over hosts", request: request(one(9), testPods("web", 3, "100m", "1Gi", apartOver(corev1.LabelHostname))), want: map[string]int{"a": 3},
			nodes: []string{"a-0: web-0", "a-1: web-1", "a-2: web-2"}},
		{name: "together in a zone", request: request(twoZones(), testPods("cache", 1, "1", "1Gi", nextTo("cache", corev1.LabelTopologyZone)), testPods("web", 4, "1", "1Gi", nextTo("cache", corev1.LabelTopologyZone))),
			want: map[string]int{"a": 3}},
		{name: "DaemonSets take room on every fresh node", request: request(one(9), testPods("web", 2, "1", "1Gi")),
			with: func(r *Request) { r.Objects.DaemonSets = []*appsv1.DaemonSet{agentSet("200m")} }, want: map[string]int{"a": 2}},
		{name: "static pods take room on every fresh node", request: request(one(9), testPods("web", 2, "1", "1Gi")),
			with: func(r *Request) {
				r.NodeGroups[0].TemplatePods = testPods("proxy", 1, "200m", "1Gi", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })
			},
			want: map[string]int{"a": 2}},
		{name: "the highest priority gets the only node", request: request(one(1), testPods("batch", 4, "1", "1Gi"), testPods("pay", 2, "1", "1Gi", withPriority(100))),
			want: map[string]int{"a": 1}, nodes: []string{"a-0: pay-0 pay-1"}, unplaced: []string{"default/batch-0", "default/batch-1", "default/batch-2", "default/batch-3"}, why: "max size 1 reached"},
		{name: "priority before score, where only one node may come", request: request([]NodeGroup{testGroup("a", "2x8", 0, 9, 0), testGroup("b", "16x64", 0, 9, 0, tainted("big"))},
			testPods("batch", 16, "1", "1Gi", tolerating("big")), testPods("pay", 1, "1", "1Gi", withPriority(100))),
			with: func(r *Request) { r.Constraints.MaxNodesTotal = 1 }, want: map[string]int{"a": 1}, nodes: []string{"a-0: batch-0 pay-0"},
			unplaced: func() []string {
				var out []string
				for i := range 15 {
					out = append(out, podName(testPods("batch", 16, "1", "1Gi")[i+1]))
				}
				slices.Sort(out)
				return out
			}(), why: "max nodes total 1 reached"},
		{name: "expendable pods ask for nothing", request: request(one(9), testPods("idle", 3, "1", "1Gi", withPriority(-11))),
			with: func(r *Request) { r.Constraints.ExpendablePriorityCutoff = &cutoff }, want: map[string]int{}},
		{name: "without a cutoff none is expendable", request: request(one(9), testPods("idle", 2, "1", "1Gi", withPriority(-11))), want: map[string]int{"a": 1}},
		{name: "gated pods ask for nothing", request: request(one(9), testPods("later", 1, "1", "1Gi", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}} })), want: map[string]int{}},
		{name: "pods of one name in two namespaces are two", request: request(one(9), testPods("web", 1, "2", "1Gi"), testPods("web", 1, "2", "1Gi", inNamespace("team-b"))), want: map[string]int{"a": 2}},
		{name: "the system's own pods are helped as well", request: request(one(9), testPods("dns", 1, "1", "1Gi", inNamespace(metav1.NamespaceSystem))), want: map[string]int{"a": 1}},
		{name: "what fits on existing nodes asks for nothing", request: request([]NodeGroup{testGroup("a", "2x8", 0, 9, 1)}, testPods("web", 2, "1", "1Gi")),
			with: func(r *Request) { r.Objects.Nodes = append(r.Objects.Nodes, testNode("a-0", "a", "2x8")) }, want: map[string]int{}},
		{name: "what fits on upcoming nodes asks for nothing", request: request([]NodeGroup{testGroup("a", "2x8", 0, 9, 1)}, testPods("web", 3, "1", "1Gi")),
			with: func(r *Request) { r.NodeGroups[0].Upcoming = []string{"a-0"} }, want: map[string]int{"a": 1}, nodes: []string{"a-1: web-2"}},
		{name: "max size", request: request(one(2), testPods("web", 5, "2", "1Gi")), want: map[string]int{"a": 2},
			unplaced: []string{"default/web-2", "default/web-3", "default/web-4"}, why: "max size 2 reached"},
		{name: "backoff", request: request(one(2), testPods("web", 1, "2", "1Gi")), with: func(r *Request) { r.Constraints.Backoff = map[string]string{"a": "out of stock"} },
			want: map[string]int{}, unplaced: []string{"default/web-0"}, why: "in backoff: out of stock"},
		{name: "cores of the cluster", request: request(one(9), testPods("web", 5, "2", "1Gi")), with: func(r *Request) { r.Constraints.Cores = &Range{Max: 5} },
			want: map[string]int{"a": 2}, unplaced: []string{"default/web-2", "default/web-3", "default/web-4"}, why: "limit of 5 cores reached"},
		{name: "memory of the cluster, in GiB", request: request(one(9), testPods("web", 3, "2", "1Gi")), with: func(r *Request) { r.Constraints.MemoryGiB = &Range{Max: 16} },
			want: map[string]int{"a": 2}, unplaced: []string{"default/web-2"}, why: "limit of 16 GiB reached"},
		{name: "a pod that no machine can take", request: request(one(9), testPods("huge", 1, "3", "1Gi")), want: map[string]int{}, unplaced: []string{"default/huge-0"},
			why: "NodeResourcesFit: Insufficient cpu"},
		{name: "below its min size", request: request([]NodeGroup{testGroup("a", "2x8", 2, 9, 0), testGroup("b", "16x64", 0, 9, 0)}, testPods("web", 3, "1", "1Gi")),
			want: map[string]int{"a": 2}, nodes: []string{"a-0: web-0 web-1", "a-1: web-2"}},
		{name: "no template", request: request(one(9), testPods("web", 1, "1", "1Gi")), with: func(r *Request) { r.NodeGroups[0].Template = nil },
			want: map[string]int{}, unplaced: []string{"default/web-0"}, why: "no template: no node of the group and nothing from its provider says what a fresh one is"},
	} {
		if tc.with != nil {
			tc.with(tc.request)
		}
		for _, strategy := range Strategies() {
			t.Run(tc.name+"/"+strategy, func(t *testing.T) {
				r := *tc.request
				r.Strategy = strategy
				got := recommend(t, &r)
				if diff := cmp.Diff(tc.want, sizes(got)); diff != "" {
					t.Errorf("sizes (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.nodes, podsByNode(got)); tc.nodes != nil && diff != "" {
					t.Errorf("nodes (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.unplaced, unplacedNames(got)); diff != "" {
					t.Errorf("left (-want +got):\n%s", diff)
				}
				if tc.why != "" && (len(got.Unplaced) == 0 || !strings.Contains(got.Unplaced[0].Groups[0].Reason, tc.why)) {
					t.Errorf("why %+v, want %q", got.Unplaced, tc.why)
				}
				for _, u := range got.Unplaced {
					if u.Message != "0/0 nodes are available" {
						t.Errorf("%s: message %q is not the scheduler's", u.Pod, u.Message)
					}
				}
			})
		}
	}
}

// TestConsolidation: which nodes could go, and where their pods land.
func TestConsolidation(t *testing.T) {
	type want struct {
		downs []string
		stays map[string]string
	}
	build := func(change func(*Request)) *Request {
		r := request([]NodeGroup{testGroup("a", "4x16", 0, 9, 3)},
			testPods("web", 2, "1", "1Gi", onNode("a-0")), testPods("api", 1, "1", "1Gi", onNode("a-1")))
		for _, n := range []string{"a-0", "a-1", "a-2"} {
			r.Objects.Nodes = append(r.Objects.Nodes, testNode(n, "a", "4x16"))
		}
		r.Constraints.ScaleDown = &ScaleDownConstraints{UtilizationThreshold: 0.5, Rules: drain.Options{SkipSystemPods: true, SkipLocalStorage: true}}
		if change != nil {
			change(r)
		}
		return r
	}
	for _, tc := range []struct {
		name   string
		change func(*Request)
		want   want
	}{
		{"the empty one goes, then the one used least, onto the third", nil,
			want{[]string{"a-2 []", "a-1 [{default/api-0 a-0}]"}, map[string]string{"a-0": "pods of nodes that go land on it"}}},
		{"min size", func(r *Request) { r.NodeGroups[0].MinSize = 2 }, want{[]string{"a-2 []"}, map[string]string{"a-0": "min size 2", "a-1": "min size 2"}}},
		{"utilization", func(r *Request) { r.Constraints.ScaleDown.UtilizationThreshold = 0.2 },
			want{[]string{"a-2 []"}, map[string]string{"a-0": "utilization 50.0% > 20.0%", "a-1": "utilization 25.0% > 20.0%"}}},
		{"a budget", func(r *Request) {
			r.Objects.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "api"},
				Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "api"}}}}}
		}, want{[]string{"a-2 []", "a-0 [{default/web-0 a-1} {default/web-1 a-1}]"}, map[string]string{"a-1": "pod default/api-0: NotEnoughPdb"}}},
		{"a budget of one for two", func(r *Request) {
			r.Objects.PodDisruptionBudgets = []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
				Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
				Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1}}}
			r.Objects.Nodes[1].Annotations[noScaleDownAnnotation] = "true"
		}, want{[]string{"a-2 []"}, map[string]string{"a-0": "fewer disruptions", "a-1": "annotation"}}},
		{"no place", func(r *Request) { r.Objects.Nodes[0].Spec.Unschedulable = true; r.Objects.Nodes = r.Objects.Nodes[:2] },
			want{[]string{"a-0 [{default/web-0 a-1} {default/web-1 a-1}]"}, map[string]string{"a-1": "no place for pod default/api-0"}}},
		{"pending pods take the room", func(r *Request) { r.Objects.Pods = append(r.Objects.Pods, testPods("big", 1, "4", "1Gi")...) },
			want{[]string{"a-1 [{default/api-0 a-0}]"}, map[string]string{"a-0": "land on it", "a-2": "pending pods fit on it"}}},
		{"a bare pod", func(r *Request) { r.Objects.Pods[2].OwnerReferences = nil },
			want{[]string{"a-2 []", "a-0 [{default/web-0 a-1} {default/web-1 a-1}]"}, map[string]string{"a-1": "NotReplicated"}}},
		{"as many as are asked for", func(r *Request) { r.Constraints.ScaleDown.MaxNodes = 1 },
			want{[]string{"a-2 []"}, map[string]string{"a-0": "1 node is enough", "a-1": "1 node is enough"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := build(tc.change)
			r.Prices = priced(map[string]float64{"4x16": 0.2})
			got := recommend(t, r)
			var downs []string
			for _, d := range got.ScaleDowns {
				downs = append(downs, d.Node+" "+fmt.Sprint(d.Pods))
			}
			if diff := cmp.Diff(tc.want.downs, downs); diff != "" {
				t.Errorf("nodes that go (-want +got):\n%s", diff)
			}
			for _, s := range got.Unremovable {
				if w, ok := tc.want.stays[s.Node]; !ok || !strings.Contains(s.Reason, w) {
					t.Errorf("%s stays: %q, want %q", s.Node, s.Reason, w)
				}
			}
			if len(got.Unremovable) != len(tc.want.stays) {
				t.Errorf("stays %+v, want %v", got.Unremovable, tc.want.stays)
			}
			nodes := float64(len(r.Objects.Nodes))
			if c := got.Cost; approx(c.Before, 0.2*nodes) != 0 || approx(c.After, 0.2*(nodes-float64(len(downs)))) != 0 {
				t.Errorf("cost %+v", c)
			}
		})
	}
}
