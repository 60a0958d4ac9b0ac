package virtualca

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/config"
)

// benchWorld has groups of nodes that are nearly full and pods of so many shapes that do not fit on them.
func benchWorld(nodes, groups, pods, shapes int) (*testCluster, []scalehist.NodeGroup) {
	c := &testCluster{}
	var ngs []scalehist.NodeGroup
	for g := range groups {
		ngs = append(ngs, scalehist.NodeGroup{
			Name: fmt.Sprintf("g%d", g), MaxSize: 2000, TargetSize: nodes / groups,
			Template: testNode("", "", fmt.Sprintf("%d", 8+4*(g%5)), fmt.Sprintf("%dGi", 32+16*(g%4))),
		})
	}
	for n := range nodes {
		g := ngs[n%groups]
		node := testNode(fmt.Sprintf("n%d", n), g.Name, g.Template.Status.Capacity.Cpu().String(), g.Template.Status.Capacity.Memory().String())
		c.objects.Nodes = append(c.objects.Nodes, node)
		for i := range 10 {
			p := testPod(fmt.Sprintf("base-%d-%d", n, i), "base", "700m", "2Gi")
			p.Spec.NodeName, p.Status = node.Name, corev1.PodStatus{Phase: corev1.PodRunning}
			c.objects.Pods = append(c.objects.Pods, p)
		}
	}
	for i := range pods {
		s := i % shapes
		c.objects.Pods = append(c.objects.Pods, testPod(fmt.Sprintf("w%d-%d", s, i), fmt.Sprintf("w%d", s), fmt.Sprintf("%dm", 900+37*s), fmt.Sprintf("%dMi", 1024+61*s)))
	}
	return c, ngs
}

func benchmark(b *testing.B, nodes, groups, pods, shapes int) {
	c, ngs := benchWorld(nodes, groups, pods, shapes)
	b.ReportAllocs()
	for b.Loop() {
		p, err := cloudprovider.New(ngs, cloudprovider.Options{})
		if err != nil {
			b.Fatal(err)
		}
		a, err := New(c, p, config.DefaultSettings())
		if err != nil {
			b.Fatal(err)
		}
		d, err := a.RunOnce(b.Context(), testStart)
		if err != nil {
			b.Fatal(err)
		}
		if d.Outcome != scalehist.ScaleUpSuccessful {
			b.Fatal(d.Summary(), d.Notes)
		}
	}
}

// BenchmarkDecision is one decision with 1,000 nodes, 20 groups and 5,000 unschedulable pods in 100 shapes.
func BenchmarkDecision(b *testing.B) { benchmark(b, 1000, 20, 5000, 100) }

// BenchmarkFromZero is one decision for 10,000 pods over 10 empty groups.
func BenchmarkFromZero(b *testing.B) { benchmark(b, 0, 10, 10000, 20) }

// BenchmarkIdleLoop is a loop in which nothing changed and nothing is pending.
func BenchmarkIdleLoop(b *testing.B) {
	c, ngs := benchWorld(200, 10, 0, 1)
	p, err := cloudprovider.New(ngs, cloudprovider.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := config.DefaultSettings()
	s.Down.UnneededTime = 10000 * time.Hour // some nodes are unneeded, none goes
	a, err := New(c, p, s)
	if err != nil {
		b.Fatal(err)
	}
	now := testStart
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.RunOnce(b.Context(), now); err != nil {
			b.Fatal(err)
		}
		now = now.Add(10 * time.Second)
	}
}

// The next four are the sizes of upstream's own benchmarks. Seen of upstream on four cores: 0.88 s, 0.69 s, 2.98 s, 5.6 s.

// BenchmarkScaleDown removes 240 of 400 nodes in one loop: all are 40 per cent used, and 160 take the pods of the rest.
func BenchmarkScaleDown(b *testing.B) { benchmarkScaleDown(b, func(*corev1.Pod) {}) }

// BenchmarkScaleDownSpread is the same with pods that spread over hosts: every removal changes what the others see.
func BenchmarkScaleDownSpread(b *testing.B) {
	benchmarkScaleDown(b, func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 10, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
		}}
	})
}

func benchmarkScaleDown(b *testing.B, change func(*corev1.Pod)) {
	c := &testCluster{}
	g := scalehist.NodeGroup{Name: "a", MaxSize: 500, TargetSize: 400, Template: testNode("", "", "10", "40Gi")}
	for n := range 400 {
		c.objects.Nodes = append(c.objects.Nodes, testNode(fmt.Sprintf("a-%d", n), "a", "10", "40Gi"))
		for i := range 4 {
			p := on(fmt.Sprintf("a-%d", n), testPod(fmt.Sprintf("p-%d-%d", n, i), fmt.Sprintf("w%d", i), "1", "1Gi"))
			change(p)
			c.objects.Pods = append(c.objects.Pods, p)
		}
	}
	s := config.DefaultSettings()
	s.Down.UnneededTime, s.Down.DelayAfterAdd, s.Down.MaxParallelism, s.Down.MaxDrain, s.Down.SoftTaints = 0, 0, 400, 400, 0
	nodes := c.objects.Nodes
	b.ReportAllocs()
	for b.Loop() {
		c.objects.Nodes = nodes
		p, err := cloudprovider.New([]scalehist.NodeGroup{g}, cloudprovider.Options{})
		if err != nil {
			b.Fatal(err)
		}
		a, err := New(c, p, s)
		if err != nil {
			b.Fatal(err)
		}
		d, err := a.RunOnce(b.Context(), testStart)
		if err != nil {
			b.Fatal(err)
		}
		if len(d.Deleting) != 240 {
			b.Fatalf("%d nodes are removed, %s", len(d.Deleting), d.ScaleDown)
		}
	}
}

// manyPods are pods of one shape an owner, so many an owner.
func manyPods(n, owners int, cpu, memory string) []*corev1.Pod {
	out := make([]*corev1.Pod, 0, n)
	for i := range n {
		out = append(out, testPod(fmt.Sprintf("p-%d", i), fmt.Sprintf("w%d", i%owners), cpu, memory))
	}
	return out
}

func scaleUpOnce(b *testing.B, pods []*corev1.Pod, template *corev1.Node, nodes int) {
	c := &testCluster{objects: scalehist.Objects{Pods: pods}}
	s := config.DefaultSettings()
	s.MaxNodesPerScaleUp = 10000
	b.ReportAllocs()
	for b.Loop() {
		p, err := cloudprovider.New([]scalehist.NodeGroup{{Name: "a", MaxSize: 10000, Template: template}}, cloudprovider.Options{})
		if err != nil {
			b.Fatal(err)
		}
		a, err := New(c, p, s)
		if err != nil {
			b.Fatal(err)
		}
		d, err := a.RunOnce(b.Context(), testStart)
		if err != nil {
			b.Fatal(err)
		}
		if len(d.ScaleUps) != 1 || d.ScaleUps[0].To != nodes {
			b.Fatalf("%s, want %d nodes", d.Summary(), nodes)
		}
	}
}

// BenchmarkScaleUp is a loop for 10,000 pods that need 200 new nodes.
func BenchmarkScaleUp(b *testing.B) {
	scaleUpOnce(b, manyPods(10000, 1, "100m", "100Mi"), testNode("", "", "5", "20Gi"), 200)
}

// BenchmarkBinpacking packs 51,000 pods onto 2,595 new nodes, in two shapes.
func BenchmarkBinpacking(b *testing.B) {
	pods := append(manyPods(50085, 1, "100m", "100Mi"), manyPods(915, 1, "1900m", "100Mi")...)
	for i, p := range pods[50085:] {
		p.Name, p.UID, p.OwnerReferences[0].UID, p.OwnerReferences[0].Name = fmt.Sprintf("large-%d", i), types.UID(fmt.Sprintf("large-%d", i)), "large", "large"
	}
	scaleUpOnce(b, pods, testNode("", "", "2660m", "20Gi"), 2595)
}

// BenchmarkFilterOutSchedulable looks for room for 12,000 pending pods on 1,000 nodes.
func BenchmarkFilterOutSchedulable(b *testing.B) {
	c := &testCluster{}
	for n := range 1000 {
		c.objects.Nodes = append(c.objects.Nodes, testNode(fmt.Sprintf("a-%d", n), "a", "1200m", "20Gi"))
	}
	c.objects.Pods = manyPods(12000, 50, "100m", "100Mi")
	s := config.DefaultSettings()
	s.Down.Enabled = false
	b.ReportAllocs()
	for b.Loop() {
		p, err := cloudprovider.New([]scalehist.NodeGroup{{Name: "a", MaxSize: 1000, TargetSize: 1000, Template: testNode("", "", "1200m", "20Gi")}}, cloudprovider.Options{})
		if err != nil {
			b.Fatal(err)
		}
		a, err := New(c, p, s)
		if err != nil {
			b.Fatal(err)
		}
		d, err := a.RunOnce(b.Context(), testStart)
		if err != nil {
			b.Fatal(err)
		}
		if d.FilteredSchedulable != 12000 {
			b.Fatalf("%d pods fit, want all", d.FilteredSchedulable)
		}
	}
}
