package fit

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
)

// benchNode has cores and 110 pods; benchPods are of so many shapes in turn.
func benchNode(name string, zone, milli int) *corev1.Node {
	n := node(name, fmt.Sprintf("z%d", zone), 1)
	n.Status.Allocatable[corev1.ResourceCPU] = *resource.NewMilliQuantity(int64(milli), resource.DecimalSI)
	n.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("64Gi")
	n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	return n
}

func benchPods(n, shapes int, kind string, milli func(shape int) int) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		s := i % shapes
		pods[i] = pod(fmt.Sprintf("b%d", i), kind, fmt.Sprintf("%dm", milli(s)))
		pods[i].Labels["shape"] = fmt.Sprint(s)
	}
	return pods
}

func benchReset(b *testing.B, c *Checker, nodes, milli int) {
	var list []*corev1.Node
	for i := range nodes {
		list = append(list, benchNode(fmt.Sprintf("n%d", i), i%3, milli))
	}
	o := &scalehist.Objects{Nodes: list}
	if err := c.Reset(o, list, func(string) []*corev1.Pod { return nil }); err != nil {
		b.Fatal(err)
	}
}

// packed places the pods on the last of the new nodes, adding one when it is full, and returns how many it took.
func packed(b *testing.B, c *Checker, pods []*corev1.Pod, milli int) int {
	s := c.Snapshot()
	start := s.Len()
	for _, p := range pods {
		if s.Len() == start || !c.Fits(b.Context(), p, s.Len()-1) {
			if err := s.AddNode(NewNodeInfo(benchNode(fmt.Sprintf("e-%d", s.Len()), s.Len()%3, milli))); err != nil {
				b.Fatal(err)
			}
		}
		c.Place(p, s.Len()-1)
	}
	return s.Len() - start
}

// BenchmarkPackNewNodes puts pods onto new nodes. Pods, shapes and the Checker are met for the first time once; after
// that they are as in the next loop.
func BenchmarkPackNewNodes(b *testing.B) {
	for _, tc := range []struct{ pods, shapes, milli, nodes int }{{10000, 1, 5000, 200}, {51000, 2, 2000, 2550}} {
		b.Run(fmt.Sprintf("pods=%d/nodes=%d", tc.pods, tc.nodes), func(b *testing.B) {
			c, err := New()
			if err != nil {
				b.Fatal(err)
			}
			pods := benchPods(tc.pods, tc.shapes, "plain", func(int) int { return 100 })
			b.ReportAllocs()
			for b.Loop() {
				c.Snapshot().Fork()
				if n := packed(b, c, pods, tc.milli); n != tc.nodes {
					b.Fatalf("%d nodes, want %d", n, tc.nodes)
				}
				c.Snapshot().Revert()
			}
		})
	}
}

// fill finds a node for each pod that fits and returns how many do.
func fill(ctx context.Context, c *Checker, pods []*corev1.Pod) int {
	placed := 0
	for _, p := range pods {
		if at, ok := c.FirstFit(ctx, p, 0, c.Snapshot().Len(), -1); ok {
			c.Place(p, at)
			placed++
		}
	}
	return placed
}

// BenchmarkFilterOutSchedulable looks for room for 12,000 pods on 1,000 nodes: for all, and for a fifth of them.
func BenchmarkFilterOutSchedulable(b *testing.B) {
	for _, tc := range []struct {
		shapes, milli, placed int
		request               func(int) int
	}{
		{1, 1200, 12000, func(int) int { return 100 }},
		{40, 1600, 12000, func(s int) int { return 80 + s }},
		{1000, 1000, 2515, func(s int) int { return 200 + s%400 }},
	} {
		b.Run(fmt.Sprintf("shapes=%d", tc.shapes), func(b *testing.B) {
			c, err := New()
			if err != nil {
				b.Fatal(err)
			}
			benchReset(b, c, 1000, tc.milli)
			pods := benchPods(12000, tc.shapes, "plain", tc.request)
			placed := 0
			b.ReportAllocs()
			for b.Loop() {
				c.Snapshot().Fork()
				placed = fill(b.Context(), c, pods)
				c.Snapshot().Revert()
			}
			b.ReportMetric(float64(placed), "placed")
			if tc.shapes < 1000 && placed != tc.placed {
				b.Fatalf("%d placed, want %d", placed, tc.placed)
			}
		})
	}
}

// BenchmarkWide places 900 pods that look at other nodes on 1,000 nodes.
func BenchmarkWide(b *testing.B) {
	for _, kind := range []string{"zonespread", "hostspread", "antihost", "affine"} {
		b.Run(kind, func(b *testing.B) {
			c, err := New()
			if err != nil {
				b.Fatal(err)
			}
			benchReset(b, c, 1000, 16000)
			pods := benchPods(900, 1, kind, func(int) int { return 100 })
			if kind == "affine" {
				// They want to be in the zone of the first.
				c.Place(pod("first", "hostspread", "100m"), 0)
			}
			b.ReportAllocs()
			for b.Loop() {
				c.Snapshot().Fork()
				if n := fill(b.Context(), c, pods); n != len(pods) {
					b.Fatalf("%d placed", n)
				}
				c.Snapshot().Revert()
			}
		})
	}
}

// BenchmarkPlain is what the checker spares: a PreFilter state a pod and every filter of every node, for 100 of the
// pods of a kind.
func BenchmarkPlain(b *testing.B) {
	for _, kind := range []string{"plain", "zonespread", "hostspread", "antihost"} {
		b.Run(kind, func(b *testing.B) {
			ref, err := newReference()
			if err != nil {
				b.Fatal(err)
			}
			for i := range 1000 {
				ref.base = append(ref.base, refNode{node: benchNode(fmt.Sprintf("n%d", i), i%3, 16000)})
			}
			if err := ref.reset(&scalehist.Objects{}); err != nil {
				b.Fatal(err)
			}
			pods := benchPods(100, 1, kind, func(int) int { return 100 })
			for b.Loop() {
				for _, p := range pods {
					for at := range ref.nodes {
						if ref.check(b.Context(), p, at) == nil {
							break
						}
					}
				}
			}
		})
	}
}

// BenchmarkRemovals simulates the removal of 300 of 1,000 nodes, whose pods spread or keep apart, in nested forks.
func BenchmarkRemovals(b *testing.B) {
	for _, kind := range []string{"plain", "zonespread", "antihost"} {
		b.Run(kind, func(b *testing.B) {
			c, err := New()
			if err != nil {
				b.Fatal(err)
			}
			benchReset(b, c, 1000, 16000)
			pods := benchPods(600, 1, kind, func(int) int { return 100 })
			fill(b.Context(), c, pods)
			movers := benchPods(300, 1, kind, func(int) int { return 100 })
			b.ReportAllocs()
			for b.Loop() {
				s := c.Snapshot()
				s.Fork()
				for i, p := range movers {
					s.Fork()
					n := s.NodeInfo(i).Node().DeepCopy()
					n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "gone", Effect: corev1.TaintEffectNoSchedule})
					if err := s.ReplaceNode(i, NewNodeInfo(n)); err != nil {
						b.Fatal(err)
					}
					at, ok := c.FirstFit(b.Context(), p, 300, s.Len(), i)
					if !ok {
						s.Revert()
						continue
					}
					c.Place(p, at)
					s.Commit()
				}
				s.Revert()
			}
		})
	}
}
