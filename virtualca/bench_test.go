package virtualca

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/virtualca/cloudprovider"
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
		a, err := New(c, p, DefaultSettings())
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
	a, err := New(c, p, DefaultSettings())
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
