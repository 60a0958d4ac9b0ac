package virtualca

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/config"
	"github.com/scalehist/scalehist/virtualca/quota"
)

func TestBalance(t *testing.T) {
	g := func(name string, target, maximum int) scalehist.NodeGroup {
		return scalehist.NodeGroup{Name: name, TargetSize: target, MaxSize: maximum}
	}
	up := func(name string, from, to, maximum int) scalehist.ScaleUp {
		return scalehist.ScaleUp{NodeGroup: name, From: from, To: to, Max: maximum}
	}
	for name, tc := range map[string]struct {
		groups []scalehist.NodeGroup
		n      int
		want   []scalehist.ScaleUp
	}{
		"levels up":              {[]scalehist.NodeGroup{g("a", 3, 9), g("b", 1, 9)}, 4, []scalehist.ScaleUp{up("b", 1, 4, 9), up("a", 3, 4, 9)}},
		"remainder to the first": {[]scalehist.NodeGroup{g("a", 1, 9), g("b", 1, 9)}, 3, []scalehist.ScaleUp{up("a", 1, 3, 9), up("b", 1, 2, 9)}},
		"full groups left out":   {[]scalehist.NodeGroup{g("a", 2, 2), g("b", 5, 9)}, 3, []scalehist.ScaleUp{up("b", 5, 8, 9)}},
		"filled group moves out": {[]scalehist.NodeGroup{g("a", 0, 1), g("b", 0, 9)}, 4, []scalehist.ScaleUp{up("a", 0, 1, 1), up("b", 0, 3, 9)}},
		"capped to free size":    {[]scalehist.NodeGroup{g("a", 0, 1), g("b", 0, 2)}, 9, []scalehist.ScaleUp{up("a", 0, 1, 1), up("b", 0, 2, 2)}},
		"unchanged left out":     {[]scalehist.NodeGroup{g("a", 5, 9), g("b", 1, 9)}, 2, []scalehist.ScaleUp{up("b", 1, 3, 9)}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, balance(tc.groups, tc.n)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	for _, tc := range []struct {
		in   []int
		want int
	}{{nil, 0}, {[]int{0, 0}, 0}, {[]int{1000, 5, 0}, 5}, {[]int{1000, -1, 5}, -1}, {[]int{-1, 3}, -1}, {[]int{0, 7}, 7}} {
		if got := limit(tc.in...); got != tc.want {
			t.Errorf("limit(%v): got %d, want %d", tc.in, got, tc.want)
		}
	}
}

func TestSimilar(t *testing.T) {
	s := config.DefaultSettings()
	mk := func(change func(*corev1.Node)) *template {
		n := testNode("t", "", "4", "16Gi")
		n.Labels = map[string]string{corev1.LabelTopologyZone: "a", "pool": "x"}
		change(n)
		return &template{node: n}
	}
	base := mk(func(*corev1.Node) {})
	for name, tc := range map[string]struct {
		other *template
		set   func(*config.Settings)
		want  bool
	}{
		"equal":             {other: mk(func(*corev1.Node) {}), want: true},
		"another zone":      {other: mk(func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = "b" }), want: true},
		"another label":     {other: mk(func(n *corev1.Node) { n.Labels["pool"] = "y" })},
		"one label more":    {other: mk(func(n *corev1.Node) { n.Labels["extra"] = "y" })},
		"ignored label":     {other: mk(func(n *corev1.Node) { n.Labels["pool"] = "y" }), set: func(s *config.Settings) { s.BalancingIgnoreLabels = []string{"pool"} }, want: true},
		"memory 1 % less":   {other: mk(func(n *corev1.Node) { n.Status.Capacity[corev1.ResourceMemory] = resource.MustParse("15.85Gi") }), want: true},
		"memory 2 % less":   {other: mk(func(n *corev1.Node) { n.Status.Capacity[corev1.ResourceMemory] = resource.MustParse("15.6Gi") })},
		"cpu differs":       {other: mk(func(n *corev1.Node) { n.Status.Capacity[corev1.ResourceCPU] = resource.MustParse("4100m") })},
		"allocatable 4 %":   {other: mk(func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("3850m") }), want: true},
		"allocatable 10 %":  {other: mk(func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("3600m") })},
		"one resource more": {other: mk(func(n *corev1.Node) { n.Status.Capacity["x/y"] = resource.MustParse("1") })},
		"free differs": {other: func() *template {
			x := mk(func(*corev1.Node) {})
			x.pods = []*corev1.Pod{testPod("d", "", "500m", "1Gi")}
			return x
		}()},
		"balancing label":    {other: mk(func(n *corev1.Node) { n.Status.Capacity[corev1.ResourceCPU] = resource.MustParse("64") }), set: func(s *config.Settings) { s.BalancingLabels = []string{"pool"} }, want: true},
		"balancing label no": {other: mk(func(n *corev1.Node) { n.Labels["pool"] = "y" }), set: func(s *config.Settings) { s.BalancingLabels = []string{"pool"} }},
	} {
		t.Run(name, func(t *testing.T) {
			s := s
			if tc.set != nil {
				tc.set(&s)
			}
			if got := s.Similar(base.node, tc.other.node, base.free(), tc.other.free()); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if got := s.Similar(tc.other.node, base.node, tc.other.free(), base.free()); got != tc.want {
				t.Errorf("the other way round: got %v, want %v", got, tc.want)
			}
		})
	}
}

// newLoop is a loop that has listed everything and found its templates.
func newLoop(t *testing.T, c *testCluster, groups []scalehist.NodeGroup, s config.Settings, o cloudprovider.Options) *loop {
	t.Helper()
	p, err := cloudprovider.New(groups, o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(c, p, s)
	if err != nil {
		t.Fatal(err)
	}
	l := a.newLoop(testStart, &scalehist.Decision{Loop: 1})
	l.objects = c.Objects()
	l.refresh()
	l.listNodes()
	for _, n := range l.nodes {
		if g, ok := p.GroupForNode(n); ok {
			l.groupOf[n.Name] = g
		}
	}
	l.listPods()
	if err := a.checker.Reset(l.objects, l.nodes, func(n string) []*corev1.Pod { return l.bound[n] }); err != nil {
		t.Fatal(err)
	}
	l.findExamples()
	return l
}

func daemonSet(name, priorityClass string) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: "ds-" + "x" + "-uid"},
		Spec:       appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{PriorityClassName: priorityClass, Containers: []corev1.Container{{Name: "c"}}}}},
	}
}

func TestTemplates(t *testing.T) {
	provided := testNode("", "", "2", "8Gi")
	provided.Labels["from"] = "provider"
	provided.Labels[corev1.LabelArchStable] = "amd64"
	group := []scalehist.NodeGroup{{Name: "g", MaxSize: 3, TargetSize: 1, Template: provided}}
	real := func(change func(*corev1.Node)) *corev1.Node {
		n := testNode("n", "g", "4", "8Gi")
		n.Labels["from"] = "node"
		n.Spec.Taints = []corev1.Taint{
			{Key: "team", Effect: corev1.TaintEffectNoSchedule}, {Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
			{Key: "startup-taint.cluster-autoscaler.kubernetes.io/x"}, {Key: "status-taint.cluster-autoscaler.kubernetes.io/x"}, {Key: deletionCandidateTaint},
		}
		change(n)
		return n
	}
	noStartup := func(n *corev1.Node) { n.Spec.Taints = n.Spec.Taints[:1] }
	for name, tc := range map[string]struct {
		node   *corev1.Node
		set    func(*config.Settings)
		ds     []*appsv1.DaemonSet
		group  []scalehist.NodeGroup
		want   string
		taints []string
		pods   []string
	}{
		"a good node wins":            {node: real(noStartup), want: "node", taints: []string{"team"}},
		"not ready yet: the provider": {node: real(func(n *corev1.Node) { noStartup(n); n.Status.Conditions[0].Status = corev1.ConditionFalse }), want: "provider"},
		"ready for 30s: the provider": {node: real(func(n *corev1.Node) {
			noStartup(n)
			n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(testStart.Add(-30 * time.Second))
		}), want: "provider"},
		"cordoned: the provider":       {node: real(func(n *corev1.Node) { noStartup(n); n.Spec.Unschedulable = true }), want: "provider"},
		"being deleted: the provider":  {node: real(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: toBeDeletedTaint}} }), want: "provider"},
		"a bad node is the last hope":  {node: real(func(n *corev1.Node) { n.Spec.Unschedulable = true }), group: []scalehist.NodeGroup{{Name: "g", MaxSize: 3, TargetSize: 1}}, want: "node", taints: []string{"team"}},
		"provider gets all DaemonSets": {ds: []*appsv1.DaemonSet{daemonSet("logs", "")}, want: "provider", pods: []string{"logs-pod"}},
		"a node gets none by default":  {node: real(noStartup), ds: []*appsv1.DaemonSet{daemonSet("logs", "")}, want: "node", taints: []string{"team"}},
		"a node gets critical ones":    {node: real(func(n *corev1.Node) { n.Spec.Taints = nil }), ds: []*appsv1.DaemonSet{daemonSet("net", "system-node-critical")}, want: "node", pods: []string{"net-pod"}},
		"force-ds brings all":          {node: real(func(n *corev1.Node) { n.Spec.Taints = nil }), set: func(s *config.Settings) { s.ForceDaemonSets = true }, ds: []*appsv1.DaemonSet{daemonSet("logs", "")}, want: "node", pods: []string{"logs-pod"}},
		"DaemonSets heed taints":       {node: real(noStartup), set: func(s *config.Settings) { s.ForceDaemonSets = true }, ds: []*appsv1.DaemonSet{daemonSet("logs", "")}, want: "node", taints: []string{"team"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &testCluster{objects: scalehist.Objects{DaemonSets: tc.ds}}
			if tc.node != nil {
				c.objects.Nodes = []*corev1.Node{tc.node}
			}
			s := config.DefaultSettings()
			if tc.set != nil {
				tc.set(&s)
			}
			g := group
			if tc.group != nil {
				g = tc.group
			}
			got := newLoop(t, c, g, s, cloudprovider.Options{}).template("g")
			if got == nil {
				t.Fatal("no template")
			}
			var taints, pods []string
			for _, x := range got.node.Spec.Taints {
				taints = append(taints, x.Key)
			}
			for _, p := range got.pods {
				pods = append(pods, p.Name)
			}
			if got.node.Labels["from"] != tc.want {
				t.Errorf("taken from the %s, want the %s", got.node.Labels["from"], tc.want)
			}
			if diff := cmp.Diff(tc.taints, taints); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.pods, pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			if got.node.Labels[corev1.LabelHostname] != got.node.Name || got.node.Labels[templateNodeLabel] != "true" {
				t.Errorf("labels %v: want the hostname %s and the template mark", got.node.Labels, got.node.Name)
			}
			if old := got.node.Labels["beta.kubernetes.io/arch"]; (old == "amd64") != (tc.want == "provider") {
				t.Errorf("deprecated arch label %q on a template from the %s", old, tc.want)
			}
		})
	}
}

func TestQuota(t *testing.T) {
	c := &testCluster{}
	odd := testNode("n1", "g", "900m", "4Gi")
	c.objects.Nodes = []*corev1.Node{odd, testNode("n2", "g", "64", "4Gi"), testNode("alone", "", "2", "4Gi")}
	virtual := testNode("vk", "", "100", "4Gi")
	virtual.Labels["type"] = "virtual-kubelet"
	c.objects.Nodes = append(c.objects.Nodes, virtual)
	s := config.DefaultSettings()
	s.CoresTotal.Max = 7
	l := newLoop(t, c, []scalehist.NodeGroup{{Name: "g", MaxSize: 9, TargetSize: 2}}, s, cloudprovider.Options{})
	q := quota.New(l.counted())
	// 900m counts a core, the group's second node as much as its first, and two for the node of no group: 4 of 7.
	if got := q.Used["cpu"]; got != 4 {
		t.Errorf("cores used: got %d, want 4", got)
	}
	allowed, exceeded := q.Allowed("g", 5)
	if allowed != 3 || quota.Reason(exceeded) != `exceeded quota: "cluster-wide", resources: cpu` {
		t.Errorf("5 more nodes: got %d, %s", allowed, quota.Reason(exceeded))
	}
	q.Take("g", 3)
	if allowed, _ := q.Allowed("g", 1); allowed != 0 {
		t.Errorf("after taking 3: got %d more, want 0", allowed)
	}
}

func TestEquivalence(t *testing.T) {
	l := newLoop(t, &testCluster{}, nil, config.DefaultSettings(), cloudprovider.Options{})
	env := testPod("a2", "a", "1", "1Gi")
	env.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "POD", Value: "a2"}}
	same := testPod("a3", "a", "1000m", "1024Mi")
	groups := l.equivalence.Groups([]*corev1.Pod{
		testPod("a1", "a", "1", "1Gi"), testPod("b1", "b", "1", "1Gi"), env, same, testPod("a4", "a", "2", "1Gi"), testPod("x1", "", "1", "1Gi"), testPod("x2", "", "1", "1Gi"),
	})
	var got [][]string
	for _, g := range groups {
		var names []string
		for _, p := range g.Pods {
			names = append(names, p.Name)
		}
		got = append(got, names)
	}
	if diff := cmp.Diff([][]string{{"a1", "a2", "a3"}, {"b1"}, {"a4"}, {"x1"}, {"x2"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
