package fit

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

func node(name, zone string, cpu int) *corev1.Node {
	list := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(cpu), resource.DecimalSI), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("20"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: zone}},
		Status:     corev1.NodeStatus{Capacity: list, Allocatable: list},
	}
}

// kinds of pods the tests draw from; together they reach local, spread, affinity and port filters.
var kinds = []string{"plain", "hostspread", "zonespread", "strictspread", "antihost", "antizone", "affine", "port", "picky", "gpu"}

func pod(name, kind string, cpu string) *corev1.Pod {
	sel := &metav1.LabelSelector{MatchLabels: map[string]string{"app": kind}}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("pod/" + name), Labels: map[string]string{"app": kind}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("100Mi"),
		}}}}},
	}
	spread := func(key string) []corev1.TopologySpreadConstraint {
		return []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: sel}}
	}
	anti := func(key string, s *metav1.LabelSelector) *corev1.Affinity {
		return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: s, TopologyKey: key}}}}
	}
	switch kind {
	case "hostspread":
		p.Spec.TopologySpreadConstraints = spread(corev1.LabelHostname)
	case "zonespread":
		p.Spec.TopologySpreadConstraints = spread(corev1.LabelTopologyZone)
	case "strictspread":
		// Only untainted nodes of two zones are its domains, and three are wanted.
		honor, three := corev1.NodeInclusionPolicyHonor, int32(3)
		p.Spec.TopologySpreadConstraints = spread(corev1.LabelTopologyZone)
		p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy, p.Spec.TopologySpreadConstraints[0].MinDomains = &honor, &three
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"z0"}}},
		}}}}}
	case "antihost":
		p.Spec.Affinity = anti(corev1.LabelHostname, sel)
	case "antizone":
		// Keeps plain pods out of its zone, so it changes the answer for a shape without any affinity.
		p.Spec.Affinity = anti(corev1.LabelTopologyZone, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "plain"}})
	case "affine":
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "hostspread"}}, TopologyKey: corev1.LabelTopologyZone,
		}}}}
	case "port":
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
	case "picky":
		p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "z1"}
	case "gpu":
		p.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
	}
	return p
}

func reset(t testing.TB, c *Checker, nodes int) {
	t.Helper()
	var list []*corev1.Node
	for i := range nodes {
		list = append(list, node(fmt.Sprintf("n%d", i), fmt.Sprintf("z%d", i%3), 1+i%4))
	}
	o := &scalehist.Objects{Nodes: list, Namespaces: []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}}
	if err := c.Reset(o, list, func(string) []*corev1.Pod { return nil }); err != nil {
		t.Fatal(err)
	}
}

// plain asks the plugins with a fresh PreFilter state and no memory at all.
func plain(ctx context.Context, c *Checker, p *corev1.Pod, at int) bool {
	state := framework.NewCycleState()
	result, status, _ := c.fw.RunPreFilterPlugins(ctx, state, p)
	n := c.snapshot.NodeInfo(at)
	if !status.IsSuccess() || (!result.AllNodes() && !result.NodeNames.Has(n.Node().Name)) {
		return false
	}
	return c.fw.RunFilterPlugins(ctx, state, p, n).IsSuccess()
}

// world is a printable picture of a snapshot: order of nodes and pods, sums and generations.
func world(s *Snapshot) []string {
	var out []string
	for at := range s.Len() {
		n := s.NodeInfo(at)
		line := fmt.Sprintf("%s gen=%d cpu=%d mem=%d ports=%d", n.Node().Name, n.Generation, n.Requested.MilliCPU, n.Requested.Memory, len(n.UsedPorts))
		for r, v := range n.Requested.ScalarResources {
			// An entry of zero and none are the same to the plugins.
			if v != 0 {
				line += fmt.Sprintf(" %s=%d", r, v)
			}
		}
		for _, p := range n.Pods {
			line += " " + p.GetPod().Name
		}
		line += " |"
		for _, p := range n.PodsWithAffinity {
			line += " " + p.GetPod().Name
		}
		line += " |"
		for _, p := range n.PodsWithRequiredAntiAffinity {
			line += " " + p.GetPod().Name
		}
		if i, ok := s.Index(n.Node().Name); !ok || i != at {
			line += " index wrong"
		}
		out = append(out, line)
	}
	return out
}

// change makes one random change and returns the new number of objects made.
func randomChange(rt *rapid.T, c *Checker, made int) int {
	s := c.Snapshot()
	switch op := rapid.IntRange(0, 10).Draw(rt, "op"); {
	case op == 10:
		// A ghost: the node without its pods, closed by a taint.
		at := rapid.IntRange(0, s.Len()-1).Draw(rt, "at")
		n := s.NodeInfo(at).Node().DeepCopy()
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "gone", Effect: corev1.TaintEffectNoSchedule})
		if err := s.ReplaceNode(at, NewNodeInfo(n)); err != nil {
			rt.Fatal(err)
		}
	case op < 6 && s.Len() > 0:
		kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
		c.Place(pod(fmt.Sprintf("p%d", made), kind, "100m"), rapid.IntRange(0, s.Len()-1).Draw(rt, "at"))
	case op < 8 && s.Len() > 0:
		at := rapid.IntRange(0, s.Len()-1).Draw(rt, "at")
		if pods := s.NodeInfo(at).Pods; len(pods) > 0 {
			p := pods[rapid.IntRange(0, len(pods)-1).Draw(rt, "pod")].GetPod()
			if err := s.RemovePod(p, at); err != nil {
				rt.Fatal(err)
			}
		}
	case op == 8 && s.Len() > 1:
		at := rapid.IntRange(0, s.Len()-1).Draw(rt, "at")
		if err := s.RemoveNode(s.NodeInfo(at).Node().Name); err != nil {
			rt.Fatal(err)
		}
	default:
		name := fmt.Sprintf("new%d", made)
		pods := []*corev1.Pod{}
		if rapid.Bool().Draw(rt, "with pods") {
			pods = append(pods, pod(name+"-ds", rapid.SampledFrom(kinds).Draw(rt, "kind"), "50m"))
		}
		n := node(name, fmt.Sprintf("z%d", made%4), 2)
		switch rapid.IntRange(0, 5).Draw(rt, "odd") {
		case 0:
			delete(n.Labels, corev1.LabelTopologyZone)
		case 1:
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		}
		if err := s.AddNode(NewNodeInfo(n, pods...)); err != nil {
			rt.Fatal(err)
		}
	}
	return made + 1
}

// TestRevertRestores: whatever happens after a fork, forks within it included, revert brings the snapshot back.
func TestRevertRestores(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		reset(t, c, 4)
		made := 0
		var wants [][]string
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch op := rapid.IntRange(0, 5).Draw(rt, "step"); {
			case op == 0:
				wants = append(wants, world(c.Snapshot()))
				c.Snapshot().Fork()
			case op == 1 && len(wants) > 0:
				c.Snapshot().Revert()
				if diff := cmp.Diff(wants[len(wants)-1], world(c.Snapshot())); diff != "" {
					rt.Fatalf("revert (-want +got):\n%s", diff)
				}
				wants = wants[:len(wants)-1]
			case op == 2 && len(wants) > 0 && rapid.Bool().Draw(rt, "commit"):
				c.Snapshot().Commit()
				wants = wants[:len(wants)-1]
			default:
				made = randomChange(rt, c, made)
			}
		}
		for len(wants) > 0 {
			c.Snapshot().Revert()
			if diff := cmp.Diff(wants[len(wants)-1], world(c.Snapshot())); diff != "" {
				rt.Fatalf("last revert (-want +got):\n%s", diff)
			}
			wants = wants[:len(wants)-1]
		}
	})
}

// TestAnswersAreThePlugins: kept states, memory and integers never change an answer, through any history of changes,
// forks and reverts.
func TestAnswersAreThePlugins(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var askers []*corev1.Pod
	for _, k := range kinds {
		askers = append(askers, pod("ask-"+k, k, "300m"))
	}
	rapid.Check(t, func(rt *rapid.T) {
		reset(t, c, rapid.IntRange(1, 5).Draw(rt, "nodes"))
		made, forks := 0, 0
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch op := rapid.IntRange(0, 9).Draw(rt, "step"); {
			case op == 0:
				c.Snapshot().Fork()
				forks++
			case op == 1 && forks > 0:
				c.Snapshot().Revert()
				forks--
			case op == 2 && forks > 0:
				c.Snapshot().Commit()
				forks--
			case op < 6:
				made = randomChange(rt, c, made)
			default:
				p := askers[rapid.IntRange(0, len(askers)-1).Draw(rt, "asker")]
				for at := range c.Snapshot().Len() {
					if got, want := c.Fits(ctx, p, at), plain(ctx, c, p, at); got != want {
						rt.Fatalf("%s on %s: got %v, want %v\n%v", p.Name, c.Snapshot().NodeInfo(at).Node().Name, got, want, world(c.Snapshot()))
					}
				}
			}
		}
	})
}

// TestFirstFitRoundRobin: the search starts one after the last match, the first one at position 1.
func TestFirstFitRoundRobin(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	reset(t, c, 4)
	p := pod("p", "plain", "100m")
	for i, tc := range []struct{ from, to, except, want int }{
		{0, 4, -1, 1}, {0, 4, -1, 2}, {0, 4, -1, 3}, {0, 4, -1, 0},
		{2, 4, -1, 2}, {0, 4, 3, 0}, {3, 4, -1, 3}, {1, 3, -1, 1}, {1, 3, -1, 2}, {1, 3, -1, 1},
	} {
		if got, ok := c.FirstFit(t.Context(), p, tc.from, tc.to, tc.except); !ok || got != tc.want {
			t.Errorf("search %d in [%d,%d) without %d: got %d %v, want %d", i, tc.from, tc.to, tc.except, got, ok, tc.want)
		}
	}
}

func TestCheckReasons(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	reset(t, c, 1)
	for _, tc := range []struct {
		pod  *corev1.Pod
		want *Rejection
	}{
		{pod("ok", "plain", "100m"), nil},
		{pod("big", "plain", "64"), &Rejection{"NodeResourcesFit", []string{"Insufficient cpu"}}},
		{pod("gpu", "gpu", "100m"), &Rejection{"NodeResourcesFit", []string{"Insufficient nvidia.com/gpu"}}},
		{pod("picky", "picky", "100m"), &Rejection{"NodeAffinity", []string{"node(s) didn't match Pod's node affinity/selector"}}},
		{pod("affine", "affine", "100m"), &Rejection{"InterPodAffinity", []string{"node(s) didn't match pod affinity rules"}}},
	} {
		if diff := cmp.Diff(tc.want, c.Check(t.Context(), tc.pod, 0)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.pod.Name, diff)
		}
	}
}

// TestResetKeepsUnchangedNodes: what is remembered of a node survives a Reset exactly while its objects are the same.
func TestResetKeepsUnchangedNodes(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	a, b := node("a", "z0", 2), node("b", "z1", 2)
	bound := map[string][]*corev1.Pod{"a": {pod("x", "plain", "1")}}
	do := func(nodes ...*corev1.Node) {
		t.Helper()
		if err := c.Reset(&scalehist.Objects{}, nodes, func(n string) []*corev1.Pod { return bound[n] }); err != nil {
			t.Fatal(err)
		}
	}
	do(a, b)
	first := c.Snapshot().NodeInfo(0)
	c.Place(pod("y", "plain", "1"), 0)
	do(b, a)
	if got := c.Snapshot().NodeInfo(1); got != first || len(got.Pods) != 1 {
		t.Errorf("unchanged node: got another NodeInfo or %d pods, want the same with 1", len(got.Pods))
	}
	bound["a"] = append(bound["a"], pod("z", "plain", "1"))
	do(a)
	if got := c.Snapshot().NodeInfo(0); got == first || len(got.Pods) != 2 || c.Snapshot().Len() != 1 {
		t.Errorf("changed node: got %v", world(c.Snapshot()))
	}
	if err := c.Reset(&scalehist.Objects{}, []*corev1.Node{a, a}, func(string) []*corev1.Pod { return nil }); err == nil {
		t.Error("a node listed twice: want an error")
	}
}

// TestStatesAreKept: a PreFilter state is made once a shape and followed through pods, nodes, removals and forks. The
// plugin's state is read by reflection: were its fields renamed, answers would stay right, but slow.
func TestStatesAreKept(t *testing.T) {
	for _, kind := range []string{"plain", "zonespread", "hostspread", "antihost"} {
		c, err := New()
		if err != nil {
			t.Fatal(err)
		}
		reset(t, c, 20)
		s := c.Snapshot()
		for i := range 15 {
			s.Fork()
			p := pod(fmt.Sprintf("p%d", i), kind, "100m")
			at, ok := c.FirstFit(t.Context(), p, 0, s.Len(), -1)
			if !ok {
				t.Fatalf("%s: pod %d fits nowhere", kind, i)
			}
			c.Place(p, at)
			switch i % 3 {
			case 0:
				if err := s.AddNode(NewNodeInfo(node(fmt.Sprintf("new%d", i), "z1", 2))); err != nil {
					t.Fatal(err)
				}
			case 1:
				if err := s.ReplaceNode(i, NewNodeInfo(s.NodeInfo(i).Node())); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := s.RemovePod(p, at); err != nil {
					t.Fatal(err)
				}
			}
			if i%4 == 3 {
				s.Revert()
			} else {
				s.Commit()
			}
		}
		if c.freshStates != 1 {
			t.Errorf("%s: PreFilter ran %d times, want once", kind, c.freshStates)
		}
	}
}

// TestResetForgetsThatNothingFits: a search that found no node is repeated when the base changed.
func TestResetForgetsThatNothingFits(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	n := node("a", "z0", 1)
	full := []*corev1.Pod{pod("x", "plain", "1")}
	for i, bound := range [][]*corev1.Pod{full, nil, full} {
		if err := c.Reset(&scalehist.Objects{}, []*corev1.Node{n}, func(string) []*corev1.Pod { return bound }); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.FirstFit(t.Context(), pod("y", "plain", "1"), 0, 1, -1); ok != (bound == nil) {
			t.Errorf("reset %d: fits %v", i, ok)
		}
	}
}
