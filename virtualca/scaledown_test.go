package virtualca

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
	"github.com/scalehist/scalehist/virtualca/config"
)

// on puts a pod on a node, running.
func on(node string, p *corev1.Pod) *corev1.Pod {
	p.Spec.NodeName, p.Status = node, corev1.PodStatus{Phase: corev1.PodRunning}
	return p
}

// quick are settings under which an unneeded node goes in the second loop.
func quick() config.Settings {
	s := config.DefaultSettings()
	s.NodesAsListed = true
	s.Down.UnneededTime, s.Down.DelayAfterAdd, s.Down.SoftTaints = time.Minute, 0, 0
	return s
}

// nodesOf makes n nodes of group g, g-0 and on, with 4 cores each.
func nodesOf(g string, n int) []*corev1.Node {
	var out []*corev1.Node
	for i := range n {
		out = append(out, testNode(fmt.Sprintf("%s-%d", g, i), g, "4", "16Gi"))
	}
	return out
}

// loops runs a loop every 30 seconds, what is due in between included, and returns what was decided.
func (r *replay) loops(from, to time.Duration) []scalehist.Decision {
	r.t.Helper()
	var out []scalehist.Decision
	for d := from; d <= to; d += 30 * time.Second {
		for {
			at, ok := r.a.NextWork()
			if !ok || at.After(testStart.Add(d)) {
				break
			}
			r.c.advance(r.p, at)
			w, err := r.a.Work(r.t.Context(), at)
			if err != nil {
				r.t.Fatal(err)
			}
			out = append(out, w)
		}
		out = append(out, r.at(d))
	}
	return out
}

func gone(all []scalehist.Decision) []string {
	var out []string
	for _, d := range all {
		for _, s := range d.ScaleDowns {
			out = append(out, fmt.Sprintf("%s %s", d.At.Sub(testStart), s.Node))
		}
	}
	return out
}

func staysBecause(d scalehist.Decision, node string) string {
	for _, n := range d.Unremovable {
		if n.Node == node {
			return n.Reason
		}
	}
	return ""
}

func TestEmptyNodesGo(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 3)}}
	g := smallGroup("a", 3, 5)
	g.MinSize = 1
	r := start(t, c, []scalehist.NodeGroup{g}, quick(), cloudprovider.Options{})
	all := r.loops(0, 3*time.Minute)
	// Strictly more than a minute after 0 is the loop at 1m30s; the taint is there for 5 seconds.
	if diff := cmp.Diff([]string{"1m35s a-0", "1m35s a-1"}, gone(all)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if got := r.target("a"); got != 1 {
		t.Errorf("target size: got %d, want the min size 1", got)
	}
	first := all[3]
	if first.ScaleDown != scalehist.ScaleDownNodeDeleteStarted || len(first.Deleting) != 2 || !first.Deleting[0].UnneededSince.Equal(testStart) {
		t.Errorf("got %s, %+v", first.ScaleDown, first.Deleting)
	}
	if got := staysBecause(first, "a-2"); got != nodeGroupMinSizeReached {
		t.Errorf("a-2 stays because of %q, want %s", got, nodeGroupMinSizeReached)
	}
	if len(c.objects.Nodes) != 1 {
		t.Errorf("%d nodes are left, want 1", len(c.objects.Nodes))
	}
	want := []string{
		"ScaleDown Node/a-0: marked the node as toBeDeleted/unschedulable", "ScaleDown Node/a-1: marked the node as toBeDeleted/unschedulable",
		`ScaleDownEmpty ConfigMap/kube-system/cluster-autoscaler-status: Scale-down: removing empty node "a-0"`,
		`ScaleDownEmpty ConfigMap/kube-system/cluster-autoscaler-status: Scale-down: removing empty node "a-1"`,
	}
	if diff := cmp.Diff(want, reasons(first)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// The node's own event about its end is held back: its first one of that reason is less than five minutes old.
	if got := reasons(all[4]); len(got) != 2 || !strings.Contains(got[0], "empty node a-0 removed") {
		t.Errorf("events at the end: %q", got)
	}
}

func TestDrain(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 2), Pods: []*corev1.Pod{on("a-0", testPod("p", "web", "1", "1Gi")), on("a-1", testPod("q", "web", "1500m", "1Gi"))}}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 2, 5)}, quick(), cloudprovider.Options{})
	all := r.loops(0, 2*time.Minute)
	if diff := cmp.Diff([]string{"1m35s a-0"}, gone(all)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"p"}, c.evicted); diff != "" {
		t.Errorf("evicted (-want +got):\n%s", diff)
	}
	// Where the pod of the first had its place, the second has none left to go to.
	if got := staysBecause(all[0], "a-1"); !strings.HasPrefix(got, nodeNoPlaceToMovePods) {
		t.Errorf("a-1 stays because of %q, want %s", got, nodeNoPlaceToMovePods)
	}
	if got := staysBecause(all[1], "a-1"); !strings.HasPrefix(got, nodeRecentlyUnremovable) {
		t.Errorf("in the next loop a-1 stays because of %q, want %s", got, nodeRecentlyUnremovable)
	}
}

// TestRefusedEviction: it is tried again every 10 seconds for 2 minutes, then the node is free again.
func TestRefusedEviction(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 2), Pods: []*corev1.Pod{on("a-0", testPod("p", "web", "1", "1Gi")), on("a-1", testPod("q", "web", "3", "1Gi"))}},
		refuse: map[string]bool{"p": true}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 2, 5)}, quick(), cloudprovider.Options{})
	all := r.loops(0, 4*time.Minute)
	if len(c.evicted) != 12 {
		t.Errorf("%d evictions were tried, want 12 in 2 minutes", len(c.evicted))
	}
	if n := c.objects.Nodes[0]; scalehist.HasTaint(n, toBeDeletedTaint) || n.Spec.Unschedulable {
		t.Errorf("the node is not free again: %v", n.Spec)
	}
	if r.target("a") != 2 || len(gone(all)) > 0 {
		t.Errorf("removed: %v", gone(all))
	}
	failed := slices.ContainsFunc(all, func(d scalehist.Decision) bool {
		return slices.ContainsFunc(d.Events, func(e scalehist.Event) bool {
			return e.Reason == "ScaleDownFailed" && e.Object == "Node/a-0" && strings.HasPrefix(e.Message, "failed to drain and delete node: 1 pod could not be evicted within 2m0s")
		})
	})
	if !failed {
		t.Error("no event tells of the failure")
	}
}

// TestBudgetThatRefills: of five pods whose budget lets two go at a time and is full again at once, none waits for the next try; where it is not
// full again, the next try is 10 seconds after the first.
func TestBudgetThatRefills(t *testing.T) {
	nodes := nodesOf("a", 2)
	pods := []*corev1.Pod{on("a-1", testPod("q", "web", "3", "1Gi"))}
	for _, name := range []string{"p1", "p2", "p3", "p4", "p5"} {
		pods = append(pods, on("a-0", testPod(name, "web", "100m", "1Gi")))
	}
	c := &testCluster{objects: scalehist.Objects{Nodes: nodes, Pods: pods}, atOnce: 2}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 2, 5)}, quick(), cloudprovider.Options{})
	if diff := cmp.Diff([]string{"1m35.02s a-0"}, gone(r.loops(0, 2*time.Minute))); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	c = &testCluster{objects: scalehist.Objects{Nodes: nodes, Pods: pods}, refuse: map[string]bool{"p5": true}}
	r = start(t, c, []scalehist.NodeGroup{smallGroup("a", 2, 5)}, quick(), cloudprovider.Options{})
	r.loops(0, 90*time.Second)
	var tries []time.Duration
	for range 4 {
		at, _ := r.a.NextWork()
		if _, err := r.a.Work(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		tries = append(tries, at.Sub(testStart))
	}
	if want := []time.Duration{95 * time.Second, 95010 * time.Millisecond, 105 * time.Second, 115 * time.Second}; !slices.Equal(tries, want) {
		t.Errorf("evictions are tried at %v, want %v", tries, want)
	}
}

func TestPodThatDoesNotTerminate(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 2), Pods: []*corev1.Pod{on("a-0", testPod("p", "web", "1", "1Gi")), on("a-1", testPod("q", "web", "3", "1Gi"))}},
		stubborn: map[string]bool{"p": true}}
	s := quick()
	s.Down.MaxGracefulTermination = 30 * time.Second
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 2, 5)}, s, cloudprovider.Options{})
	all := r.loops(0, 2*time.Minute)
	if r.a.down.deletions.count() != 1 {
		t.Fatalf("the removal is not under way: %+v", all[len(all)-1])
	}
	if got := all[len(all)-1].Unneeded; len(got) > 0 {
		t.Errorf("a node being removed is a candidate again: %v", got)
	}
	r.loops(150*time.Second, 3*time.Minute)
	if r.a.down.deletions.count() != 0 || scalehist.HasTaint(c.objects.Nodes[0], toBeDeletedTaint) {
		t.Error("after 30s and 30s more the removal has not failed")
	}
}

// TestSparedNode: an empty node that gets a pod between taint and deletion stays.
func TestSparedNode(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 1)}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 1, 5)}, quick(), cloudprovider.Options{})
	r.loops(0, 90*time.Second)
	c.objects.Pods = append(c.objects.Pods, on("a-0", testPod("late", "web", "1", "1Gi")))
	all := r.loops(2*time.Minute, 2*time.Minute)
	if len(gone(all)) > 0 || scalehist.HasTaint(c.objects.Nodes[0], toBeDeletedTaint) {
		t.Errorf("removed %v, taints %v; want the node spared", gone(all), c.objects.Nodes[0].Spec.Taints)
	}
}

func TestTaintFailure(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 2)}, failTaint: map[string]bool{"a-1": true}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 2, 5)}, quick(), cloudprovider.Options{})
	all := r.loops(0, 2*time.Minute)
	if got := all[3].ScaleDown; got != scalehist.ScaleDownError {
		t.Errorf("got %s, want an error", got)
	}
	if got := all[4].ScaleDown; got != scalehist.ScaleDownInCooldown {
		t.Errorf("the loop after a failure: got %s, want a cooldown", got)
	}
	if scalehist.HasTaint(c.objects.Nodes[0], toBeDeletedTaint) || r.a.down.deletions.count() != 0 {
		t.Error("the node that was tainted with the failed one is not free again")
	}
}

// TestUnneededClock: one loop in which the node is needed starts it again.
func TestUnneededClock(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 1)}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 1, 5)}, quick(), cloudprovider.Options{})
	r.loops(0, 30*time.Second)
	c.objects.Pods = []*corev1.Pod{on("a-0", testPod("p", "web", "3", "1Gi"))}
	if got := staysBecause(r.at(time.Minute), "a-0"); !strings.HasPrefix(got, nodeNotUnderutilized+": cpu 75.0% > 50.0%") {
		t.Errorf("a-0 stays because of %q, want %s", got, nodeNotUnderutilized)
	}
	c.objects.Pods = nil
	all := r.loops(90*time.Second, 4*time.Minute)
	if diff := cmp.Diff([]string{"3m5s a-0"}, gone(all)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
}

// TestWhatKeepsNodes has a line for each reason at first sight.
func TestWhatKeepsNodes(t *testing.T) {
	half := 0.8
	for name, tc := range map[string]struct {
		node    func(*corev1.Node)
		pods    []*corev1.Pod
		change  func(*config.Settings)
		options cloudprovider.GroupOptions
		want    string
	}{
		"nothing":                {want: ""},
		"annotation":             {node: func(n *corev1.Node) { n.Annotations[noScaleDownAnnotation] = "true" }, want: nodeScaleDownDisabled},
		"half used":              {pods: []*corev1.Pod{on("a-0", testPod("p", "web", "2", "1Gi"))}, want: ""},
		"more than half":         {pods: []*corev1.Pod{on("a-0", testPod("p", "web", "2001m", "1Gi"))}, want: nodeNotUnderutilized},
		"memory":                 {pods: []*corev1.Pod{on("a-0", testPod("p", "web", "1", "9Gi"))}, want: nodeNotUnderutilized + ": memory"},
		"the group's threshold":  {pods: []*corev1.Pod{on("a-0", testPod("p", "web", "3", "1Gi"))}, options: cloudprovider.GroupOptions{ScaleDownUtilizationThreshold: &half}, want: ""},
		"not ready":              {node: notReady, want: ""},
		"not ready, not allowed": {node: notReady, change: func(s *config.Settings) { s.Down.UnreadyEnabled = false }, want: nodeUnreadyNotAllowed},
		"no cpu":                 {node: func(n *corev1.Node) { delete(n.Status.Allocatable, corev1.ResourceCPU) }, want: nodeUnexpectedError},
		"being deleted":          {node: func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{nodetemplate.DeletionTaint(testStart)} }, want: nodeBeingDeleted},
		"deleted long ago": {node: func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{nodetemplate.DeletionTaint(testStart.Add(-5 * time.Minute))}
		}, want: ""},
		"a pod that blocks": {pods: []*corev1.Pod{on("a-0", testPod("p", "", "1", "1Gi"))}, want: nodeBlockedByPod + ": default/p NotReplicated"},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := append(nodesOf("a", 1), testNode("room", "", "8", "32Gi"))
			if tc.node != nil {
				tc.node(nodes[0])
			}
			s := quick()
			if tc.change != nil {
				tc.change(&s)
			}
			l := newLoop(t, &testCluster{objects: scalehist.Objects{Nodes: nodes, Pods: tc.pods}}, []scalehist.NodeGroup{smallGroup("a", 1, 5)}, s,
				cloudprovider.Options{GroupOptions: map[string]cloudprovider.GroupOptions{"a": tc.options}})
			if err := l.plan(t.Context(), l.candidates()); err != nil {
				t.Fatal(err)
			}
			if got := l.reasons["a-0"]; !strings.HasPrefix(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }

// TestGhost: the node being removed still counts as a domain while its pods look for places. Four pods spread over two
// hosts by at most 1, whatever taints the hosts have: with the node as a third, empty domain none fits elsewhere.
func TestGhost(t *testing.T) {
	for policy, want := range map[corev1.NodeInclusionPolicy]string{corev1.NodeInclusionPolicyIgnore: nodeNoPlaceToMovePods, corev1.NodeInclusionPolicyHonor: ""} {
		var pods []*corev1.Pod
		for i, node := range []string{"a-0", "b", "c"} {
			p := on(node, testPod(fmt.Sprintf("p-%d", i), "web", "100m", "1Gi"))
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, NodeTaintsPolicy: &policy,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			}}
			pods = append(pods, p)
		}
		c := &testCluster{objects: scalehist.Objects{Nodes: append(nodesOf("a", 1), testNode("b", "", "4", "16Gi"), testNode("c", "", "4", "16Gi")), Pods: pods}}
		l := newLoop(t, c, []scalehist.NodeGroup{smallGroup("a", 1, 5)}, quick(), cloudprovider.Options{})
		if err := l.plan(t.Context(), l.candidates()); err != nil {
			t.Fatal(err)
		}
		if got := l.reasons["a-0"]; !strings.HasPrefix(got, want) || (want == "") != (got == "") {
			t.Errorf("taints policy %s: got %q, want %q", policy, got, want)
		}
	}
}

// TestRiskyNodesLast: a node whose pods together exceed a budget goes after one whose pods do not.
func TestRiskyNodesLast(t *testing.T) {
	pods := []*corev1.Pod{on("a-0", testPod("x-0", "x", "100m", "1Gi")), on("a-0", testPod("x-1", "x", "100m", "1Gi")), on("a-1", testPod("y-0", "y", "100m", "1Gi"))}
	room := testNode("room", "", "4", "16Gi")
	room.Labels["room"] = "yes"
	for _, p := range pods {
		p.Spec.NodeSelector = map[string]string{"room": "yes"}
	}
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"},
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1}}
	c := &testCluster{objects: scalehist.Objects{Nodes: append(nodesOf("a", 2), room), Pods: pods, PodDisruptionBudgets: []*policyv1.PodDisruptionBudget{pdb}}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 2, 5)}, quick(), cloudprovider.Options{})
	all := r.loops(0, 90*time.Second)
	d := all[len(all)-1]
	if len(d.Deleting) != 1 || d.Deleting[0].Node != "a-1" {
		t.Errorf("removed first: %+v, want a-1", d.Deleting)
	}
	if !r.a.down.unneeded["a-0"].risky {
		t.Error("a-0 is not risky")
	}
}

func TestCooldownAfterScaleUp(t *testing.T) {
	s := quick()
	s.Down.DelayAfterAdd = 4 * time.Minute
	for local, want := range map[bool][]string{false: {"4m5s b-0"}, true: {"1m35s b-0"}} {
		s.Down.DelayTypeLocal = local
		c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("b", 1), Pods: cpuPods(1, "3")}}
		// The pod fits a node of the group that grows only.
		c.objects.Pods[0].Spec.NodeSelector = map[string]string{"only": "a"}
		a := smallGroup("a", 0, 1)
		a.Template.Labels["only"] = "a"
		r := start(t, c, []scalehist.NodeGroup{a, smallGroup("b", 1, 5)}, s, cloudprovider.Options{})
		if diff := cmp.Diff(want, gone(r.loops(0, 5*time.Minute))); diff != "" {
			t.Errorf("local delays %v: removed (-want +got):\n%s", local, diff)
		}
	}
}

func TestSoftTaints(t *testing.T) {
	s := quick()
	s.Down.SoftTaints, s.Down.UnneededTime = 2, time.Hour
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 3)}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 3, 5)}, s, cloudprovider.Options{})
	r.at(0)
	if diff := cmp.Diff([]string{"a-0: [" + deletionCandidateTaint + "]", "a-1: [" + deletionCandidateTaint + "]"}, c.tainted); diff != "" {
		t.Errorf("first loop (-want +got):\n%s", diff)
	}
	c.tainted = nil
	c.objects.Pods = []*corev1.Pod{on("a-0", testPod("p", "web", "3", "1Gi"))}
	r.at(10 * time.Second)
	if diff := cmp.Diff([]string{"a-0: []", "a-2: [" + deletionCandidateTaint + "]"}, c.tainted); diff != "" {
		t.Errorf("second loop (-want +got):\n%s", diff)
	}
}

func TestClusterMinimum(t *testing.T) {
	s := quick()
	s.CoresTotal.Min = 8
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 3)}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 3, 5)}, s, cloudprovider.Options{})
	all := r.loops(0, 3*time.Minute)
	if diff := cmp.Diff([]string{"1m35s a-0"}, gone(all)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if got := staysBecause(all[3], "a-1"); got != nodeMinimalResourceLimit+": cpu" {
		t.Errorf("a-1 stays because of %q", got)
	}
}

// TestPodsOfDrainedNodesAskForRoom: before they are evicted, the pods of a node being drained count as pending.
func TestPodsOfDrainedNodesAskForRoom(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 2), Pods: []*corev1.Pod{on("a-0", testPod("p", "web", "1", "1Gi"))}}, stubborn: map[string]bool{"p": true}}
	s := quick()
	s.Down.MaxParallelism = 1
	g := smallGroup("a", 2, 5)
	g.MinSize = 1
	r := start(t, c, []scalehist.NodeGroup{g}, s, cloudprovider.Options{})
	c.objects.Nodes[1].Annotations[noScaleDownAnnotation] = "true"
	r.loops(0, 90*time.Second)
	c.objects.Pods = append(c.objects.Pods, on("a-1", testPod("q", "q", "3500m", "1Gi")))
	all := r.loops(2*time.Minute, 2*time.Minute)
	if d := all[len(all)-1]; !slices.Contains(d.UnschedulablePods, "default/p") || len(d.ScaleUps) != 1 {
		t.Errorf("got %s for %v, want a scale-up for the pod that is about to be evicted", d.Summary(), d.UnschedulablePods)
	}
}
