package crank_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/harness/kvcl/crank"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
)

var now = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// cluster is the least there is around a crank: pods by name, and writes carried out in memory.
type cluster struct {
	*crank.Crank
	pods    map[types.NamespacedName]*corev1.Pod
	ordinal map[types.UID]int64
	fail    error
}

func newCluster(t interface {
	Context() context.Context
	Fatal(...any)
	Cleanup(func())
}, scoring profile.Scoring, ties profile.TieBreak) *cluster {
	c := &cluster{pods: map[types.NamespacedName]*corev1.Pod{}, ordinal: map[types.UID]int64{}}
	var err error
	c.Crank, err = crank.New(t.Context(), now, crank.Options{
		Scoring: scoring, TieBreak: ties,
		Ordinal: func(u types.UID) int64 { return c.ordinal[u] },
		Flush:   c.flush,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (c *cluster) flush(_ context.Context, writes []crank.Write) error {
	for _, w := range writes {
		p := c.pods[w.Pod]
		if p == nil {
			continue
		}
		switch w.Kind {
		case crank.WriteBind:
			bound := p.DeepCopy()
			bound.Spec.NodeName = w.Node
			if err := c.put(bound); err != nil {
				return err
			}
		case crank.WritePreempt:
			delete(c.pods, w.Pod)
			if err := c.Remove(p); err != nil {
				return err
			}
		}
	}
	return c.fail
}

func (c *cluster) put(p *corev1.Pod) error {
	if c.ordinal[p.UID] == 0 {
		c.ordinal[p.UID] = int64(len(c.ordinal) + 1)
	}
	c.pods[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p
	return c.Set(p)
}

func newPod(name string, cpu, priority int) *corev1.Pod {
	prio := int32(priority)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Priority: &prio, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewQuantity(int64(cpu), resource.DecimalSI),
			}},
		}}},
	}
}

func newNode(name string, cpu int) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(cpu), resource.DecimalSI), corev1.ResourcePods: resource.MustParse("110"),
	}}}
}

func TestBinPackingFillsNodes(t *testing.T) {
	nodes := func(s profile.Scoring) int {
		c := newCluster(t, s, profile.TiesByHash)
		for i := range 4 {
			if err := c.Set(newNode(fmt.Sprintf("n-%d", i), 8)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 4 {
			if err := c.put(newPod(fmt.Sprintf("p-%d", i), 1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		r, err := c.Settle(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		used := map[string]bool{}
		for _, b := range r.Bindings {
			used[b.Node] = true
		}
		return len(used)
	}
	if got := nodes(profile.ScoringBinPacking); got != 1 {
		t.Errorf("bin packing used %d nodes, want 1", got)
	}
	if got := nodes(profile.ScoringDefault); got != 4 {
		t.Errorf("default scoring used %d nodes, want 4", got)
	}
}

func TestEndedPodsLeaveTheirNode(t *testing.T) {
	c := newCluster(t, "", profile.TiesByHash)
	if err := c.Set(newNode("n-0", 1)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := c.put(newPod(name, 1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := c.Settle(t.Context())
	if err != nil || len(r.Bindings) != 1 || len(r.Unschedulable) != 1 {
		t.Fatalf("settled %+v, %v", r, err)
	}
	done := c.pods[types.NamespacedName{Namespace: "default", Name: "a"}].DeepCopy()
	done.Status.Phase = corev1.PodSucceeded
	if err := c.put(done); err != nil {
		t.Fatal(err)
	}
	r, err = c.Settle(t.Context())
	want := []crank.Binding{{Pod: types.NamespacedName{Namespace: "default", Name: "b"}, Node: "n-0"}}
	if err != nil || !cmp.Equal(want, r.Bindings) {
		t.Errorf("settled %+v, %v; want b on n-0", r, err)
	}
}

func TestFlushErrorEndsSettle(t *testing.T) {
	c := newCluster(t, "", profile.TiesByHash)
	c.fail = fmt.Errorf("disk full")
	if err := c.Set(newNode("n-0", 1)); err != nil {
		t.Fatal(err)
	}
	if err := c.put(newPod("a", 1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Settle(t.Context()); err == nil || err.Error() != "disk full" {
		t.Errorf("error %v, want that of the flush", err)
	}
}

// TestOrderOfEventsDoesNotMatter: the same nodes and pods, shown in any order, are placed alike; and nothing ever
// stands where it does not fit.
func TestOrderOfEventsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nNodes, nPods := rapid.IntRange(1, 6).Draw(rt, "nodes"), rapid.IntRange(1, 20).Draw(rt, "pods")
		cpus := make([]int, nPods)
		prios := make([]int, nPods)
		for i := range cpus {
			cpus[i] = rapid.IntRange(1, 5).Draw(rt, "cpu")
			prios[i] = rapid.IntRange(0, 2).Draw(rt, "priority")
		}
		shown := func(nodeOrder, podOrder []int) (crank.Result, map[string]string) {
			c := newCluster(t, "", profile.TiesByHash)
			for i := range nPods {
				c.ordinal[types.UID(fmt.Sprintf("p-%d", i))] = int64(i + 1)
			}
			for _, i := range nodeOrder {
				if err := c.Set(newNode(fmt.Sprintf("n-%d", i), 6)); err != nil {
					rt.Fatal(err)
				}
			}
			for _, i := range podOrder {
				if err := c.put(newPod(fmt.Sprintf("p-%d", i), cpus[i], prios[i])); err != nil {
					rt.Fatal(err)
				}
			}
			r, err := c.Settle(t.Context())
			if err != nil {
				rt.Fatal(err)
			}
			places, used := map[string]string{}, map[string]int64{}
			for name, p := range c.pods {
				places[name.Name] = p.Spec.NodeName
				if p.Spec.NodeName != "" {
					used[p.Spec.NodeName] += p.Spec.Containers[0].Resources.Requests.Cpu().Value()
				}
			}
			for n, cpu := range used {
				if cpu > 6 {
					rt.Fatalf("node %s holds %d CPUs, has 6", n, cpu)
				}
			}
			return r, places
		}
		forward := func(n int) []int {
			out := make([]int, n)
			for i := range out {
				out[i] = i
			}
			return out
		}
		r1, p1 := shown(forward(nNodes), forward(nPods))
		r2, p2 := shown(rapid.Permutation(forward(nNodes)).Draw(rt, "node order"), rapid.Permutation(forward(nPods)).Draw(rt, "pod order"))
		if d := cmp.Diff(p1, p2); d != "" {
			rt.Fatalf("placements (-in order +shuffled):\n%s", d)
		}
		if d := cmp.Diff(r1, r2); d != "" {
			rt.Fatalf("results (-in order +shuffled):\n%s", d)
		}
	})
}

// TestNamedNodesInOrder: where a pod names the nodes it may have, upstream looks at them in an order of chance; its choice among equals does
// not hang on it.
func TestNamedNodesInOrder(t *testing.T) {
	on := map[string]int{}
	for range 20 {
		c := newCluster(t, profile.ScoringDefault, profile.TiesUpstream)
		var names []string
		for i := range 4 {
			names = append(names, fmt.Sprintf("n-%d", i))
			if err := c.Set(newNode(names[i], 8)); err != nil {
				t.Fatal(err)
			}
		}
		p := newPod("p", 1, 0)
		terms := make([]corev1.NodeSelectorTerm, len(names))
		for i, name := range names {
			terms[i].MatchFields = []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}
		}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
		if err := c.put(p); err != nil {
			t.Fatal(err)
		}
		r, err := c.Settle(t.Context())
		if err != nil || len(r.Bindings) != 1 {
			t.Fatalf("%+v, %v, want one binding", r, err)
		}
		on[r.Bindings[0].Node]++
	}
	if len(on) != 1 {
		t.Errorf("the pod is on %v, want the same node each time", on)
	}
}
