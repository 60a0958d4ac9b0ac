package virtualca

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// drawWorld draws two groups with nodes, pods on them and budgets.
func drawWorld(t *rapid.T) (*testCluster, []scalehist.NodeGroup) {
	c := &testCluster{}
	var groups []scalehist.NodeGroup
	apps := []string{"x", "y", "z"}
	three := int32(3)
	for _, app := range apps {
		c.objects.ReplicaSets = append(c.objects.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app}, Spec: appsv1.ReplicaSetSpec{Replicas: &three}})
	}
	for _, name := range []string{"a", "b"} {
		size := rapid.IntRange(0, 5).Draw(t, "size of "+name)
		g := smallGroup(name, size, 9)
		g.MinSize = rapid.IntRange(0, 3).Draw(t, "min of "+name)
		groups = append(groups, g)
		c.objects.Nodes = append(c.objects.Nodes, nodesOf(name, size)...)
	}
	for _, n := range c.objects.Nodes {
		left := 4000
		for i := range rapid.IntRange(0, 3).Draw(t, "pods on "+n.Name) {
			milli := rapid.IntRange(1, 20).Draw(t, "cpu") * 100
			if milli > left {
				break
			}
			left -= milli
			app := rapid.SampledFrom(apps).Draw(t, "app")
			c.objects.Pods = append(c.objects.Pods, on(n.Name, testPod(fmt.Sprintf("%s-%d", n.Name, i), app, fmt.Sprintf("%dm", milli), "1Gi")))
		}
	}
	for _, app := range apps[:2] {
		c.objects.PodDisruptionBudgets = append(c.objects.PodDisruptionBudgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: rapid.Int32Range(0, 3).Draw(t, "budget of "+app)},
		})
	}
	return c, groups
}

// TestScaleDownNeverHarms: whatever the cluster, no group falls below its min size; the pods of all nodes whose removal
// starts in a loop have room on the nodes that stay; and no budget is asked for more than it allows in one loop, but by
// the last node that asks it.
func TestScaleDownNeverHarms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, groups := drawWorld(t)
		s := quick()
		s.Down.MaxParallelism, s.Down.MaxDrain = 10, rapid.IntRange(1, 10).Draw(t, "drains")
		s.Seed = rapid.Int64Range(0, 3).Draw(t, "seed")
		s.NodesAsListed = s.Seed%2 == 0
		p, err := cloudprovider.New(groups, cloudprovider.Options{DeletionDelay: new(time.Duration)})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range c.objects.Nodes {
			if err := p.Adopt(n); err != nil {
				t.Fatal(err)
			}
		}
		a, err := New(c, p, s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			now := testStart.Add(time.Duration(i) * time.Minute)
			c.advance(p, now)
			before := c.objects
			d, err := a.RunOnce(t.Context(), now)
			if err != nil {
				t.Fatal(err)
			}
			checkMoves(t, &before, d)
			checkBudgets(t, &before, d)
			for _, g := range p.Groups() {
				if g.TargetSize < g.MinSize && g.TargetSize < groups[map[string]int{"a": 0, "b": 1}[g.Name]].TargetSize {
					t.Fatalf("%s is at %d, below its min size %d", g.Name, g.TargetSize, g.MinSize)
				}
			}
		}
	})
}

// checkMoves: by cpu, what leaves is no more than what is free on the nodes that stay.
func checkMoves(t *rapid.T, o *scalehist.Objects, d scalehist.Decision) {
	leaving := map[string]bool{}
	for _, x := range d.Deleting {
		leaving[x.Node] = true
	}
	free, need := int64(0), int64(0)
	for _, n := range o.Nodes {
		if !leaving[n.Name] && !scalehist.HasTaint(n, toBeDeletedTaint) {
			free += n.Status.Allocatable.Cpu().MilliValue()
		}
	}
	for _, p := range o.Pods {
		cpu := p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
		if leaving[p.Spec.NodeName] {
			need += cpu
		} else {
			free -= cpu
		}
	}
	if need > max(free, 0) && need > 0 {
		t.Fatalf("%dm of pods leave %v, %dm are free elsewhere", need, d.Deleting, free)
	}
}

// checkBudgets: a budget was not used up before the last node that asks it was taken; that one may be risky, its drain
// waits. The largest ask is left out, whichever was last.
func checkBudgets(t *rapid.T, o *scalehist.Objects, d scalehist.Decision) {
	for _, b := range o.PodDisruptionBudgets {
		taken, most := int32(0), int32(0)
		for _, x := range d.Deleting {
			here := int32(0)
			for _, p := range o.Pods {
				if p.Spec.NodeName == x.Node && p.Labels["app"] == b.Name {
					here++
				}
			}
			taken += here
			most = max(most, here)
		}
		if taken > 0 && taken-most >= b.Status.DisruptionsAllowed {
			t.Fatalf("budget %s allows %d, %d were taken, %d of them with one node", b.Name, b.Status.DisruptionsAllowed, taken, most)
		}
	}
}

// TestSameScaleDowns: the same cluster, the same removals, whatever ran before.
func TestSameScaleDowns(t *testing.T) {
	run := func() []string {
		var pods []*corev1.Pod
		for i := range 12 {
			pods = append(pods, on(fmt.Sprintf("a-%d", i%6), testPod(fmt.Sprintf("p-%d", i), "web", fmt.Sprintf("%dm", 100+50*i), "1Gi")))
		}
		s := quick()
		s.Down.MaxDrain = 3
		r := start(t, &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 9), Pods: pods}}, []scalehist.NodeGroup{smallGroup("a", 9, 9)}, s, cloudprovider.Options{})
		return gone(r.loops(0, 5*time.Minute))
	}
	first := run()
	if len(first) < 5 {
		t.Fatalf("only %v were removed", first)
	}
	for range 5 {
		if again := run(); fmt.Sprint(again) != fmt.Sprint(first) {
			t.Fatalf("another run: %v, before %v", again, first)
		}
	}
}

// TestMemo: a plan that is recalled is the plan that would be made again.
func TestMemo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, groups := drawWorld(t)
		s := quick()
		s.Down.UnneededTime, s.Down.MaxParallelism = 3*time.Minute, rapid.IntRange(1, 3).Draw(t, "parallelism")
		for i, p := range c.objects.Pods {
			if rapid.IntRange(0, 5).Draw(t, "system") == 0 {
				q := p.DeepCopy()
				q.Namespace, q.CreationTimestamp = metav1.NamespaceSystem, metav1.NewTime(testStart.Add(time.Duration(rapid.IntRange(-62, -54).Draw(t, "born"))*time.Minute))
				c.objects.Pods[i] = q
			}
		}
		run := func(recall bool) []scalehist.Decision {
			world := &testCluster{objects: c.objects}
			p, err := cloudprovider.New(groups, cloudprovider.Options{DeletionDelay: new(time.Duration)})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range world.objects.Nodes {
				if err := p.Adopt(n); err != nil {
					t.Fatal(err)
				}
			}
			a, err := New(world, p, s)
			if err != nil {
				t.Fatal(err)
			}
			var out []scalehist.Decision
			for i := range 24 {
				now := testStart.Add(time.Duration(i) * 30 * time.Second)
				world.advance(p, now)
				if !recall {
					a.down.memo = nil
				}
				d, err := a.RunOnce(t.Context(), now)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, d)
			}
			return out
		}
		if diff := cmp.Diff(run(false), run(true)); diff != "" {
			t.Fatalf("with and without recall (-without +with):\n%s", diff)
		}
	})
}
