package fit

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
)

// TestNodesChangedInPlace: whatever comes and goes between two resets, the NodeInfo is what it is to a Checker that never
// saw the node before, and the one before is as it was.
func TestNodesChangedInPlace(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		node := oddNode("n", 0, 0)
		var pods []*corev1.Pod
		made := 0
		kinds := rapid.SliceOfN(rapid.SampledFrom(allKinds), 1, 3).Draw(rt, "kinds") // a few, or there is always one that is not changed in place
		pod := func() *corev1.Pod {
			made++
			return anyPod(fmt.Sprintf("p%d", made), rapid.SampledFrom(kinds).Draw(rt, "kind"), "100m")
		}
		for range rapid.IntRange(1, 12).Draw(rt, "resets") {
			pods = slices.Clone(pods)
			for range rapid.IntRange(1, 6).Draw(rt, "changes") {
				switch op := rapid.IntRange(0, 4).Draw(rt, "op"); {
				case op <= 1 || len(pods) == 0:
					pods = append(pods, pod())
				case op == 2:
					pods = slices.Insert(pods, rapid.IntRange(0, len(pods)).Draw(rt, "at"), pod())
				case op == 3:
					at := rapid.IntRange(0, len(pods)-1).Draw(rt, "at")
					pods = slices.Delete(pods, at, at+1)
				case op == 4:
					at := rapid.IntRange(0, len(pods)-1).Draw(rt, "at")
					pods[at] = pods[at].DeepCopy() // a new version
				}
			}
			fresh, err := New()
			if err != nil {
				rt.Fatal(err)
			}
			for _, c := range []*Checker{c, fresh} {
				if err := c.Reset(&scalehist.Objects{}, []*corev1.Node{node}, func(string) []*corev1.Pod { return pods }); err != nil {
					rt.Fatal(err)
				}
			}
			if diff := cmp.Diff(visible(fresh.Snapshot().NodeInfo(0)), visible(c.Snapshot().NodeInfo(0))); diff != "" {
				rt.Fatalf("-made at once +changed in place:\n%s", diff)
			}
		}
	})
}

// visible is what the scheduler's plugins see of a node.
func visible(n *framework.NodeInfo) map[string]any {
	names := func(infos ...*corev1.Pod) (out []string) {
		for _, p := range infos {
			out = append(out, fmt.Sprintf("%s %p", p.Name, p))
		}
		return out
	}
	var all, affine, anti []*corev1.Pod
	for _, p := range n.Pods {
		all = append(all, p.GetPod())
	}
	for _, p := range n.PodsWithAffinity {
		affine = append(affine, p.GetPod())
	}
	for _, p := range n.PodsWithRequiredAntiAffinity {
		anti = append(anti, p.GetPod())
	}
	return map[string]any{
		"pods": names(all...), "affinity": names(affine...), "anti-affinity": names(anti...), "requested": n.Requested, "non-zero": n.NonZeroRequested,
		"allocatable": n.Allocatable, "ports": n.UsedPorts, "claims": n.PVCRefCounts, "images": n.ImageStates,
	}
}
