package scenarios

import (
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/report/metrics"
)

// Engine is an autoscaler by the name the command line takes.
func Engine(name string) harness.Option {
	GinkgoHelper()
	a, err := engines.Named(name)
	Expect(err).NotTo(HaveOccurred())
	return harness.WithAutoscaler(a)
}

// measured is a metric of a report.
func measured(r *scalehist.ReplayReport, name string) float64 {
	GinkgoHelper()
	v := metrics.Of(r).Get(name)
	Expect(v.Value).NotTo(BeNil(), "%s: %s", name, v.Missing)
	return *v.Value
}

// perHour are prices of the two machines of a spec, in EUR.
func perHour(small, large float64) harness.Option {
	return harness.WithPrices(&prices.Table{Currency: "EUR", MachineTypes: map[string]float64{"small-2": small, "large-8": large}})
}

// goldenOf is the path of a fixture's timeline with another engine than the cluster autoscaler.
func goldenOf(name, engine string) string {
	return filepath.Join("..", "fixtures", name, "want-"+strings.ReplaceAll(engine, ":", "-")+".txt")
}

var _ = Describe("The recommender and the cluster autoscaler", func() {
	// Least waste knows no prices: a small node fits one pod as well as a large one fits four, and costs more for it.
	It("is cheaper where large machines are a bargain", func(ctx SpecContext) {
		from, prices := Recording("large-is-a-bargain"), perHour(0.1, 0.2)
		ca := Replay(ctx, from, ClusterAutoscaler(), prices)
		r := Replay(ctx, from, Engine("recommender"), prices)

		Expect(ca).To(HaveScaledUp(ScaleUps{"small": 4}))
		Expect(ca).To(MatchGolden(golden("large-is-a-bargain")))
		Expect(r).To(HaveScaledUp(ScaleUps{"large": 1}))
		Expect(r).To(LeaveUnschedulable())
		Expect(r).To(MatchGolden(goldenOf("large-is-a-bargain", "recommender")))
		Expect(measured(r, "cost")).To(BeNumerically("<", 0.6*measured(ca, "cost")))
		Expect(measured(r, "pending.pod-seconds")).To(Equal(measured(ca, "pending.pod-seconds")), "both wait for the rest of a burst")
		eager := played(ctx, from, Engine("recommender"), prices, harness.WithFlags("--new-pods-wait=0s"))
		Expect(measured(eager, "pending.pod-seconds")).To(BeNumerically("<", measured(ca, "pending.pod-seconds")), "it was told not to")
	}, SpecTimeout(2*time.Minute))

	// The best group for each node is not the best for all of them: one small node more than the autoscaler needs.
	It("needs a node more where a preferred group fills up", func(ctx SpecContext) {
		ca := played(ctx, Recording("priority-expander"), ClusterAutoscaler())
		r := Replay(ctx, Recording("priority-expander"), Engine("recommender"))

		Expect(ca).To(HaveScaledUp(ScaleUps{"spot-std8": 2, "ondemand-std4": 4}))
		Expect(r).To(HaveScaledUp(ScaleUps{"spot-std8": 2, "ondemand-std4": 5}))
		Expect(r).To(MatchGolden(goldenOf("priority-expander", "recommender")))
		Expect(measured(r, "node-hours")).To(BeNumerically(">", measured(ca, "node-hours")))
	}, SpecTimeout(2*time.Minute))

	// It puts no value on zones that nothing asks for: the autoscaler balances similar groups when asked to.
	It("puts all nodes into one zone where the autoscaler balances", func(ctx SpecContext) {
		ca := played(ctx, Recording("balance-similar-groups"), ClusterAutoscaler())
		r := Replay(ctx, Recording("balance-similar-groups"), Engine("recommender"))

		Expect(ca).To(HaveScaledUp(ScaleUps{"za": 2, "zb": 1, "zc": 2}))
		Expect(r).To(HaveScaledUp(ScaleUps{"za": 5}))
		Expect(r).To(MatchGolden(goldenOf("balance-similar-groups", "recommender")))
	}, SpecTimeout(2*time.Minute))

	// One node at a time, the small one is the better bargain; together two of them cost more than the large one.
	It("greedy takes two small nodes where a large one is cheaper, and says so; optimal takes the large one", func(ctx SpecContext) {
		from, prices, least := Recording("two-small-or-one-large"), perHour(0.2, 0.3), harness.WithFlags("--scoring=least-waste")
		ca := Replay(ctx, from, ClusterAutoscaler(), prices)
		greedy := Replay(ctx, from, Engine("recommender:greedy"), prices, least)
		optimal := Replay(ctx, from, Engine("recommender:optimal"), prices, least)

		Expect(ca).To(MatchGolden(golden("two-small-or-one-large")))
		Expect(greedy).To(HaveScaledUp(ScaleUps{"small": 2}))
		Expect(greedy).To(MatchGolden(goldenOf("two-small-or-one-large", "recommender:greedy")))
		Expect(notes(greedy)).To(ContainElement("new nodes cost 0.4 EUR per hour, 33.3 % above the least there is, 0.3"))
		Expect(optimal).To(HaveScaledUp(ScaleUps{"large": 1}))
		Expect(optimal).To(MatchGolden(goldenOf("two-small-or-one-large", "recommender:optimal")))
		Expect(notes(optimal)).To(ContainElement("new nodes cost 0.3 EUR per hour, which is the least there is"))
		Expect(measured(optimal, "cost")).To(BeNumerically("<", measured(greedy, "cost")))
		Expect(measured(greedy, "optimal.distance")).To(BeNumerically("~", 33.3, 0.1))
		Expect(measured(optimal, "optimal.distance")).To(BeZero())
	}, SpecTimeout(2*time.Minute))

	// The disks are in zb and zc; the group of za comes first in order and would win every tie. The fourth disk is where no group is.
	DescribeTable("brings nodes to the zones of the volumes, and none for a zone without a group", func(ctx SpecContext, engine, want string) {
		report := Replay(ctx, Recording("zone-bound-volumes"), Engine(engine))

		Expect(report).To(HaveScaledUp(ScaleUps{"zb": 1, "zc": 2}))
		Expect(report).To(LeaveUnschedulable("db-4"))
		zones := map[string]string{}
		for _, p := range report.End.ScheduledPods {
			zones[p.Name], _, _ = strings.Cut(p.NodeName, "-")
		}
		Expect(zones).To(And(HaveKeyWithValue("db-1", "zb"), HaveKeyWithValue("db-2", "zc"), HaveKeyWithValue("db-3", "zc"), Not(HaveKey("db-4"))))
		Expect(report).To(MatchGolden(want))
	},
		Entry("virtualca", "virtualca", golden("zone-bound-volumes"), SpecTimeout(2*time.Minute)),
		Entry("greedy", "recommender:greedy", goldenOf("zone-bound-volumes", "recommender:greedy"), SpecTimeout(2*time.Minute)),
		Entry("optimal", "recommender:optimal", goldenOf("zone-bound-volumes", "recommender:optimal"), SpecTimeout(2*time.Minute)),
	)

	// Both are for the gate: what the cluster autoscaler does with them is the measure.
	DescribeTable("decides like the cluster autoscaler", func(ctx SpecContext, name string, ups ScaleUps) {
		ca, r := Replay(ctx, Recording(name), ClusterAutoscaler()), Replay(ctx, Recording(name), Engine("recommender"))

		Expect(ca).To(HaveScaledUp(ups))
		Expect(ca).To(MatchGolden(golden(name)))
		Expect(r).To(HaveScaledUp(ups))
		Expect(r).To(MatchGolden(goldenOf(name, "recommender")))
	},
		Entry("where memory is short", "memory-bound", ScaleUps{"std": 3}, SpecTimeout(2*time.Minute)),
		Entry("between equals", "equal-but-slow", ScaleUps{"za": 6}, SpecTimeout(2*time.Minute)),
	)
})

// notes are those of all decisions.
func notes(r *scalehist.ReplayReport) []string {
	var out []string
	for _, d := range r.Decisions {
		out = append(out, d.Notes...)
	}
	return out
}
