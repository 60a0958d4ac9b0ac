package virtualca

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/config"
	"github.com/scalehist/scalehist/virtualca/expander"
)

// weigh builds a loop over groups of 4 and 16 cores and lets the chain choose among the options.
func weigh(t *testing.T, s config.Settings, prices *prices.Table, options []*expander.Option) (string, *loop) {
	t.Helper()
	p, err := cloudprovider.New([]scalehist.NodeGroup{{Name: "small", MaxSize: 9}, {Name: "large", MaxSize: 9}, {Name: "spot", MaxSize: 9}}, cloudprovider.Options{Prices: prices})
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(&testCluster{}, p, s)
	if err != nil {
		t.Fatal(err)
	}
	l := &loop{a: a, now: testStart, d: &scalehist.Decision{}, objects: a.cluster.Objects()}
	l.refresh()
	best := l.choose(options)
	l.report(options, best)
	if best == nil {
		return "", l
	}
	return best.Group, l
}

func opt(group string, nodes, pods int, cpu, podCPU string) *expander.Option {
	o := &expander.Option{Group: group, Nodes: nodes, Template: testNode("t-"+group, group, cpu, "16Gi"), Scores: map[string]float64{}}
	for i := range pods {
		o.Pods = append(o.Pods, testPod(group+string(rune('a'+i)), "w", podCPU, "1Gi"))
	}
	return o
}

func TestExpanders(t *testing.T) {
	prices := &prices.Table{Currency: "EUR", NodeGroups: map[string]float64{"small": 0.2, "large": 0.6, "spot": 0.05}, Pods: prices.PodPrices{CPU: 0.03, MemoryGiB: 0.004}}
	three := func() []*expander.Option {
		return []*expander.Option{opt("small", 3, 6, "4", "1500m"), opt("large", 1, 8, "16", "1500m"), opt("spot", 3, 8, "4", "1500m")}
	}
	for name, tc := range map[string]struct {
		chain      []string
		priorities string
		options    []*expander.Option
		want       string
		wantReason []string
	}{
		"most-pods ties to the first":   {chain: []string{"most-pods"}, options: three(), want: "large", wantReason: []string{"most-pods: large is better", "first of 2 tied", "tied with large"}},
		"least-nodes":                   {chain: []string{"least-nodes"}, options: three(), want: "large", wantReason: []string{"least-nodes: large is better", "best by least-nodes", "least-nodes: large is better"}},
		"least-waste":                   {chain: []string{"least-waste"}, options: three(), want: "large"},
		"chain narrows":                 {chain: []string{"most-pods", "price"}, options: three(), want: "spot"},
		"price":                         {chain: []string{"price"}, options: three(), want: "spot"},
		"priority keeps the highest":    {chain: []string{"priority"}, priorities: "10: [sm, la]\n20: ['^spot$']", options: three(), want: "spot"},
		"priority without match":        {chain: []string{"priority"}, priorities: "10: [none]", options: three(), want: "small", wantReason: []string{"first of 3 tied", "tied with small", "tied with small"}},
		"bad priorities filter nothing": {chain: []string{"priority"}, priorities: "10: ['[']", options: three(), want: "small"},
		"negative priorities never win": {chain: []string{"priority"}, priorities: "-5: [spot]\n-1: [large]", options: three(), want: "large"},
		"one option needs no expander":  {chain: []string{"price"}, options: three()[:1], want: "small", wantReason: []string{"the only option"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := config.DefaultSettings()
			s.Expander, s.Priorities = tc.chain, tc.priorities
			got, l := weigh(t, s, prices, tc.options)
			if got != tc.want {
				t.Errorf("got %q, want %q; %+v", got, tc.want, l.d.Options)
			}
			if tc.wantReason == nil {
				return
			}
			var reasons []string
			for _, o := range l.d.Options {
				reasons = append(reasons, o.Reason)
			}
			if diff := cmp.Diff(tc.wantReason, reasons); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPriceNeedsPrices(t *testing.T) {
	p, err := cloudprovider.New(nil, cloudprovider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := config.DefaultSettings()
	s.Expander = []string{"price"}
	if _, err := New(&testCluster{}, p, s); err == nil {
		t.Error("price expander without prices: want an error")
	}
	p, err = cloudprovider.New(nil, cloudprovider.Options{Prices: &prices.Table{Currency: "EUR"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(&testCluster{}, p, s); err == nil || !strings.Contains(err.Error(), "needs pod prices") {
		t.Errorf("price expander without pod prices: got %v", err)
	}
}

func TestRandomExpanderFollowsTheSeed(t *testing.T) {
	pick := func(seed int64) string {
		s := config.DefaultSettings()
		s.Expander, s.Seed = []string{"random"}, seed
		got, _ := weigh(t, s, nil, []*expander.Option{opt("small", 1, 1, "4", "1"), opt("large", 1, 1, "4", "1"), opt("spot", 1, 1, "4", "1")})
		return got
	}
	seen := map[string]bool{}
	for seed := range int64(30) {
		first := pick(seed)
		if again := pick(seed); again != first {
			t.Errorf("seed %d: got %s and %s", seed, first, again)
		}
		seen[first] = true
	}
	if len(seen) != 3 {
		t.Errorf("30 seeds chose only %v", seen)
	}
}
