package recommender

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/simulator/fit"
)

// drawRequest is a small cluster with pods of all sorts.
func drawRequest(t *rapid.T) *Request {
	machines := []string{"2x8", "4x16", "8x16", "4x32"}
	price := map[string]float64{}
	for _, m := range machines {
		price[m] = float64(rapid.IntRange(1, 40).Draw(t, "price "+m)) / 100
	}
	var groups []NodeGroup
	for i := range rapid.IntRange(1, 4).Draw(t, "groups") {
		target := rapid.IntRange(0, 1).Draw(t, "target")
		g := testGroup(fmt.Sprintf("g%d", i), rapid.SampledFrom(machines).Draw(t, "machine"), rapid.IntRange(0, 1).Draw(t, "min"), rapid.IntRange(1, 6).Draw(t, "max"), target,
			inZone(rapid.SampledFrom([]string{"z1", "z2"}).Draw(t, "zone")))
		if rapid.IntRange(0, 4).Draw(t, "taint") == 0 {
			tainted("special")(g.Template)
		}
		groups = append(groups, g)
	}
	r := request(groups)
	for _, g := range groups {
		if g.TargetSize > 0 {
			n := testNode(g.Name+"-0", g.Name, g.MachineType, inZone(g.Zone))
			n.Spec.Taints = g.Template.Spec.Taints
			r.Objects.Nodes = append(r.Objects.Nodes, n)
			r.Objects.Pods = append(r.Objects.Pods, testPods("on-"+g.Name, rapid.IntRange(0, 2).Draw(t, "bound"), "900m", "1Gi", onNode(n.Name))...)
		}
	}
	for i := range rapid.IntRange(1, 4).Draw(t, "workloads") {
		change := []func(*corev1.Pod){withPriority(int32(rapid.IntRange(-1, 1).Draw(t, "priority")))}
		switch rapid.IntRange(0, 8).Draw(t, "kind") {
		case 0:
			change = append(change, spreadOver(corev1.LabelTopologyZone, 1))
		case 1:
			change = append(change, apartOver(corev1.LabelHostname))
		case 2:
			change = append(change, apartOver(corev1.LabelTopologyZone))
		case 3:
			change = append(change, nextTo(fmt.Sprintf("w%d", rapid.IntRange(0, i).Draw(t, "friend")), corev1.LabelTopologyZone))
		case 4:
			change = append(change, tolerating("special"))
		}
		r.Objects.Pods = append(r.Objects.Pods, testPods(fmt.Sprintf("w%d", i), rapid.IntRange(1, 7).Draw(t, "pods"),
			fmt.Sprintf("%dm", 100*rapid.IntRange(1, 35).Draw(t, "cpu")), fmt.Sprintf("%dMi", 256*rapid.IntRange(1, 40).Draw(t, "memory")), change...)...)
	}
	if rapid.Bool().Draw(t, "priced") {
		r.Prices = priced(price)
		r.Scoring = rapid.SampledFrom(Scorings()).Draw(t, "scoring")
	}
	if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
		r.Constraints.MaxNodesTotal = rapid.IntRange(1, 8).Draw(t, "max nodes")
	}
	r.Constraints.ScaleDown = &ScaleDownConstraints{UtilizationThreshold: 1}
	r.Parallelism = rapid.IntRange(1, 3).Draw(t, "parallelism")
	return r
}

// TestFeasible: what is recommended fits when it is done on a fresh checker, stays within the bounds, gives every pod one
// answer, and says of itself no more than is true. The strategy optimal is never worse than greedy.
func TestFeasible(t *testing.T) {
	rec := New()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		byStrategy := map[string]*Recommendation{}
		for _, s := range Strategies() {
			r.Strategy = s
			got, err := rec.Recommend(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			byStrategy[s] = got
			checkFeasible(t, r, got)
		}
		g, o := byStrategy[Greedy], byStrategy[Optimal]
		left := func(r *Recommendation) (n int) {
			for _, u := range r.Unplaced {
				switch u.Priority {
				case 1:
					n += 10000
				case 0:
					n += 100
				default:
					n++
				}
			}
			return n
		}
		switch {
		case left(o) > left(g):
			t.Fatalf("optimal leaves more pods: %v, greedy %v", unplacedNames(o), unplacedNames(g))
		case left(o) == left(g) && slices.Equal(unplacedNames(o), unplacedNames(g)):
			if approx(o.Optimality.Cost, g.Optimality.Cost) > 0 {
				t.Fatalf("optimal costs %v, greedy %v", o.Optimality.Cost, g.Optimality.Cost)
			}
			if g.Optimality.Exact && approx(g.Optimality.LowerBound, o.Optimality.Cost) > 0 {
				t.Fatalf("greedy says nothing is below %v, optimal costs %v", g.Optimality.LowerBound, o.Optimality.Cost)
			}
			if approx(g.Optimality.LowerBound, o.Optimality.Cost) > 0 {
				t.Fatalf("the bound %v is above what optimal costs, %v", g.Optimality.LowerBound, o.Optimality.Cost)
			}
		}
	})
}

// checkFeasible replays a recommendation.
func checkFeasible(t *rapid.T, r *Request, got *Recommendation) {
	c, err := prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	checker, err := fit.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := checker.Reset(r.Objects, c.nodes, func(n string) []*corev1.Pod { return c.bound[n] }); err != nil {
		t.Fatal(err)
	}
	s := checker.Snapshot()
	at := map[string]string{}
	for _, f := range got.Fits {
		at[f.Pod] = f.Node
	}
	total, cost := len(c.nodes), 0.0
	nodeOf := map[string]NewNode{}
	var order []string // those below the min sizes come first, then the steps
	groupOf := map[string]*group{}
	for _, up := range got.ScaleUps {
		g := c.byName[up.NodeGroup]
		if up.To > g.MaxSize || up.From != g.TargetSize || up.To != up.From+up.Count || up.Count != len(up.Nodes) {
			t.Fatalf("%+v of a group with max %d", up, g.MaxSize)
		}
		total += up.Count
		for _, n := range up.Nodes {
			nodeOf[n.Name], groupOf[n.Name] = n, g
			if n.Reason == "" {
				cost += g.objective
				if len(n.Pods) == 0 {
					t.Fatalf("node %s is for nobody", n.Name)
				}
			} else {
				order = append(order, n.Name)
			}
			for _, p := range n.Pods {
				if at[p] != "" {
					t.Fatalf("pod %s is placed twice", p)
				}
				at[p] = n.Name
			}
		}
	}
	for _, st := range got.Steps {
		order = append(order, st.Node)
	}
	if len(order) != len(nodeOf) {
		t.Fatalf("%d nodes, %d explained", len(nodeOf), len(order))
	}
	if m := r.Constraints.MaxNodesTotal; m > 0 && len(got.ScaleUps) > 0 && total > m {
		t.Fatalf("%d nodes, max %d", total, m)
	}
	for _, g := range c.groups {
		size := g.TargetSize
		for _, up := range got.ScaleUps {
			if up.NodeGroup == g.Name {
				size = up.To
			}
		}
		for _, d := range got.ScaleDowns {
			if d.NodeGroup == g.Name {
				size--
			}
		}
		if size < g.MinSize && len(got.Notes) == 0 {
			t.Fatalf("%s ends at %d, min %d", g.Name, size, g.MinSize)
		}
	}
	left := map[string]bool{}
	for _, u := range got.Unplaced {
		left[u.Pod] = true
	}
	pods := slices.Clone(c.pending)
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return int(priority(b)) - int(priority(a)) })
	var todo []*corev1.Pod
	for _, p := range pods {
		if left[podName(p)] == (at[podName(p)] != "") {
			t.Fatalf("pod %s: left %t, on %q", podName(p), left[podName(p)], at[podName(p)])
		}
		if !left[podName(p)] {
			todo = append(todo, p)
		}
	}
	// Nodes come one after the other. Some order of pods must do: those that fit where they are to go come first.
	bind := func() {
		for again := true; again; {
			again = false
			todo = slices.DeleteFunc(todo, func(p *corev1.Pod) bool {
				node, ok := s.Index(at[podName(p)])
				if !ok || !checker.Fits(t.Context(), p, node) {
					return false
				}
				checker.Place(p, node)
				again = true
				return true
			})
		}
	}
	bind()
	for _, name := range order {
		if err := s.AddNode(groupOf[name].fresh(name)); err != nil {
			t.Fatal(err)
		}
		bind()
	}
	for _, p := range todo {
		n, ok := s.Index(at[podName(p)])
		if !ok {
			t.Fatalf("pod %s: there is no node %s", podName(p), at[podName(p)])
		}
		t.Fatalf("pod %s does not fit node %s: %+v", podName(p), at[podName(p)], checker.Check(t.Context(), p, n))
	}
	if o := got.Optimality; approx(o.Cost, cost) != 0 || approx(o.LowerBound, o.Cost) > 0 {
		t.Fatalf("%+v, cost %v", o, cost)
	}
}
