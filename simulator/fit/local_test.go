package fit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestLocalStatesSeeAntiAffinity: a pod without any affinity is kept off by that of others, whether they come after it
// was asked about, in another base, or in the place of some that were taken back.
func TestLocalStatesSeeAntiAffinity(t *testing.T) {
	o := storage("z1", true)
	nodes := []*corev1.Node{node("a", "z0", 4), node("b", "z1", 4)}
	start := func(t *testing.T, c *Checker, bound ...*corev1.Pod) {
		t.Helper()
		if err := c.Reset(o, nodes, func(n string) []*corev1.Pod {
			if n == "a" {
				return bound
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	asker := anyPod("asker", "plain", "100m")
	for _, tc := range []struct {
		name  string
		asker *corev1.Pod
		run   func(t *testing.T, c *Checker)
	}{
		{"placed", asker, func(_ *testing.T, c *Checker) { c.Place(anyPod("x", "antizone", "100m"), 0) }},
		{"in another base", asker, func(t *testing.T, c *Checker) { start(t, c, anyPod("x", "antizone", "100m")) }},
		{"after others were taken back", asker, func(t *testing.T, c *Checker) {
			c.Snapshot().Fork()
			c.Place(anyPod("y", "antihost", "100m"), 0)
			if !c.Fits(t.Context(), asker, 0) {
				t.Fatal("pods that keep others away keep this one away")
			}
			c.Snapshot().Revert()
			c.Place(anyPod("x", "antizone", "100m"), 0)
		}},
		{"by the labels of the namespace", anyPod("asker", "elsewhere", "100m"), func(_ *testing.T, c *Checker) {
			c.Place(anyPod("x", "antiteam", "100m"), 0)
		}},
		{"with a node that comes", asker, func(t *testing.T, c *Checker) {
			if err := c.Snapshot().ReplaceNode(0, NewNodeInfo(nodes[0], anyPod("x", "antizone", "100m"))); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := New()
			if err != nil {
				t.Fatal(err)
			}
			start(t, c)
			if !c.Fits(t.Context(), tc.asker, 0) {
				t.Fatal("does not fit an empty node")
			}
			tc.run(t, c)
			if c.Fits(t.Context(), tc.asker, 0) {
				t.Error("fits where it is kept away")
			}
			if !c.Fits(t.Context(), tc.asker, 1) {
				t.Error("does not fit elsewhere")
			}
		})
	}
}
