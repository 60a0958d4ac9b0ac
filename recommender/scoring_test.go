package recommender

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// firstStep are the candidates of the first step with their scores, the best first.
func firstStep(r *Recommendation) []string {
	var out []string
	for _, c := range r.Steps[0].Candidates {
		out = append(out, fmt.Sprintf("%s %.4f", c.NodeGroup, c.Score))
	}
	return out
}

func TestScores(t *testing.T) {
	groups := []NodeGroup{testGroup("small", "2x8", 0, 9, 0), testGroup("large", "4x16", 0, 9, 0)}
	for _, tc := range []struct {
		scoring string
		weights Weights
		cpu     string
		memory  string
		pods    int
		want    []string
	}{
		// Shares of what waits, 4 cores and 2 GiB: half of both for 0.10, all of it for 0.25.
		{LeastCost, nil, "1", "512Mi", 4, []string{"small 5.0000", "large 4.0000"}},
		// The half-empty large node has 2/4 of cpu and 15/16 of memory unused.
		{LeastWaste, nil, "1", "512Mi", 2, []string{"small 0.8750", "large 1.4375"}},
		// 6 a core and 1 a GiB: (6*2+1)/0.10 and (6*4+2)/0.25.
		{Weighted, nil, "1", "512Mi", 4, []string{"small 130.0000", "large 104.0000"}},
		// 500Mi is 0.48828125 GiB and not none, 100m is a tenth of a core and not one.
		{Weighted, Weights{"memory": 1}, "100m", "500Mi", 1, []string{"small 4.8828", "large 1.9531"}},
		{Weighted, Weights{"cpu": 1}, "100m", "500Mi", 1, []string{"small 1.0000", "large 0.4000"}},
		// Bytes do not drown cores: with both, cores count.
		{Weighted, Weights{"cpu": 100, "memory": 1}, "1", "512Mi", 4, []string{"small 2010.0000", "large 1608.0000"}},
	} {
		t.Run(fmt.Sprintf("%s %s", tc.scoring, tc.weights), func(t *testing.T) {
			r := request(groups, testPods("web", tc.pods, tc.cpu, tc.memory))
			r.Prices = priced(map[string]float64{"2x8": 0.10, "4x16": 0.25})
			r.Scoring, r.Weights = tc.scoring, tc.weights
			if diff := cmp.Diff(tc.want, firstStep(recommend(t, r))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTies: equal scores go by price, then resources, then order; what decides is reported.
func TestTies(t *testing.T) {
	for _, tc := range []struct {
		name   string
		groups []NodeGroup
		prices map[string]float64
		score  string
		want   string
		why    string
	}{
		{"price", []NodeGroup{testGroup("a", "2x9", 0, 9, 0), testGroup("b", "2x8", 0, 9, 0)}, map[string]float64{"2x9": 0.3, "2x8": 0.1 + 0.2}, LeastCost, "b", "fewer resources"},
		{"resources", []NodeGroup{testGroup("a", "4x8", 0, 9, 0), testGroup("b", "2x8", 0, 9, 0)}, map[string]float64{"4x8": 0.1, "2x8": 0.1}, LeastCost, "b", "fewer resources"},
		{"order", []NodeGroup{testGroup("b", "2x8", 0, 9, 0), testGroup("a", "2x8", 0, 9, 0)}, map[string]float64{"2x8": 0.1}, LeastCost, "b", "first in order"},
		{"lower price", []NodeGroup{testGroup("a", "2x8", 0, 9, 0), testGroup("b", "2x8", 0, 9, 0)}, map[string]float64{"2x8": 0.1}, LeastWaste, "b", "lower price"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := request(tc.groups, testPods("web", 2, "1", "1Gi"))
			r.Prices, r.Scoring = priced(tc.prices), tc.score
			if tc.name == "lower price" {
				r.Prices.NodeGroups = map[string]float64{"b": 0.05}
			}
			got := recommend(t, r)
			if s := got.Steps[0]; s.NodeGroup != tc.want || !strings.Contains(s.Reason, tc.why) {
				t.Errorf("%s: %s", s.NodeGroup, s.Reason)
			}
		})
	}
}

// TestRefused: what cannot be answered is an error that names it.
func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		name string
		with func(*Request)
		want string
	}{
		{"an unpriced type", func(r *Request) { r.Prices = priced(map[string]float64{"2x8": 0.1}) }, `node group large: machine type "4x16" is not in the price table`},
		{"a price of zero", func(r *Request) { r.Prices = priced(map[string]float64{"2x8": 0, "4x16": 1}) }, `node group small (machine type "2x8") is 0`},
		{"no prices for least-cost", func(r *Request) { r.Scoring = LeastCost }, `scoring "least-cost" needs prices`},
		{"no prices for weighted", func(r *Request) { r.Scoring = Weighted }, `scoring "weighted" needs prices`},
		{"unknown scoring", func(r *Request) { r.Scoring = "cheapest" }, `unknown scoring "cheapest": choose one of least-cost, least-waste, weighted`},
		{"unknown strategy", func(r *Request) { r.Strategy = "best" }, `unknown strategy "best": choose one of greedy, optimal`},
		{"unknown resource", func(r *Request) { r.Weights = Weights{"mem": 1} }, `weights: "mem" is no resource`},
		{"weights of zero", func(r *Request) { r.Weights = Weights{"cpu": 0} }, "every weight is 0"},
		{"weight that is no number", func(r *Request) { r.Weights = Weights{"cpu": math.NaN()} }, "cpu=NaN"},
		{"a group twice", func(r *Request) { r.NodeGroups = append(r.NodeGroups, r.NodeGroups[0]) }, `node group "small" is given twice`},
		{"bounds", func(r *Request) { r.NodeGroups[0].MinSize = 10 }, `node group "small": min 10, max 9`},
		{"a node twice", func(r *Request) {
			r.Objects.Nodes = []*corev1.Node{testNode("n", "small", "2x8"), testNode("n", "small", "2x8")}
		}, `node "n" is given twice`},
		{"backoff of nobody", func(r *Request) { r.Constraints.Backoff = map[string]string{"tiny": "x"} }, `node group "tiny" does not exist`},
		{"no objects", func(r *Request) { r.Objects = nil }, "objects are missing"},
		{"an unpriced node that stands", func(r *Request) {
			r.Prices = priced(map[string]float64{"2x8": 0.1, "4x16": 0.2})
			r.Objects.Nodes = []*corev1.Node{testNode("n", "small", "2x8"), testNode("odd", "small", "3x3")}
		}, `node odd of node group small: machine type "3x3"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := request([]NodeGroup{testGroup("small", "2x8", 0, 9, 0), testGroup("large", "4x16", 0, 9, 0)}, testPods("web", 1, "1", "1Gi"))
			tc.with(r)
			got, err := New().Recommend(t.Context(), r)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want an error with %q (%+v)", err, tc.want, got)
			}
		})
	}
}

func TestParseWeights(t *testing.T) {
	w, err := ParseWeights("memory=1, cpu=6.5,nvidia.com/gpu=30")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Weights{"cpu": 6.5, "memory": 1, "nvidia.com/gpu": 30}, w); diff != "" {
		t.Error(diff)
	}
	if w.String() != "cpu=6.5,memory=1,nvidia.com/gpu=30" {
		t.Error(w.String())
	}
	for _, bad := range []string{"", "cpu", "cpu=", "cpu=x", "cpu=1,cpu=2", "=1", "cpu=-1", "ram=1"} {
		if w, err := ParseWeights(bad); err == nil {
			t.Errorf("%q is %v", bad, w)
		}
	}
}

// TestGPU: a resource that only some groups have, and that weights can name.
func TestGPU(t *testing.T) {
	gpu := func(n *corev1.Node) {
		n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("4")
		n.Status.Capacity["nvidia.com/gpu"] = resource.MustParse("4")
	}
	ask := func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
	}
	r := request([]NodeGroup{testGroup("plain", "8x32", 0, 9, 0), testGroup("gpu", "8x64", 0, 9, 0, gpu)}, testPods("train", 6, "1", "1Gi", ask))
	r.Prices = priced(map[string]float64{"8x32": 0.1, "8x64": 3})
	r.Scoring, r.Weights = Weighted, Weights{"nvidia.com/gpu": 1}
	got := recommend(t, r)
	if diff := cmp.Diff(map[string]int{"gpu": 2}, sizes(got)); diff != "" {
		t.Error(diff)
	}
	if c := got.Steps[0].Candidates[0]; c.Requests["nvidia.com/gpu"] != 4 || approx(c.Score, 4.0/3) != 0 {
		t.Errorf("%+v", c)
	}
	if o := got.Optimality; !o.Optimal || o.LowerBound != 6 {
		t.Errorf("%+v", o)
	}
}
