package scenarios

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/report/gate"
)

// listPrices are what the machines of the fixtures cost in an hour. The large one is dear: small ones win where they do.
func listPrices() *prices.Table {
	return &prices.Table{Currency: "EUR", MachineTypes: map[string]float64{"std-2": 0.1, "std-4": 0.2, "std-8": 0.5}}
}

// judged holds a candidate, and further runs of it, against a baseline under the policy that 'scalehist gate init' gives a
// team to begin with.
func judged(baseline, candidate *scalehist.ReplayReport, repeats ...*scalehist.ReplayReport) *gate.Verdict {
	GinkgoHelper()
	return judgedBy(gate.Example(), baseline, candidate, repeats...)
}

func judgedBy(text string, baseline, candidate *scalehist.ReplayReport, repeats ...*scalehist.ReplayReport) *gate.Verdict {
	GinkgoHelper()
	policy, err := gate.ParsePolicy([]byte(text), "gate.yaml")
	Expect(err).NotTo(HaveOccurred())
	side := func(r *scalehist.ReplayReport) []gate.Scenario {
		return []gate.Scenario{{Name: r.Scenario, Path: r.Scenario + "/report.json", Report: r}}
	}
	var again [][]gate.Scenario
	for _, r := range repeats {
		again = append(again, side(r))
	}
	v, err := gate.Judge(policy, side(baseline), side(candidate), again...)
	Expect(err).NotTo(HaveOccurred())
	v.Baseline, v.Candidate = "main", "branch"
	return v
}

// equalTwins has two groups that differ in nothing but their names and zones.
func equalTwins() workload.Script { return twoOfAKind("equal-twins", 20*time.Second) }

// twoOfAKind has two groups of one machine, full at the start; the second's nodes take as long as is said. Every two
// minutes a pod comes that fits on a new node of either, and only there.
func twoOfAKind(name string, second time.Duration) workload.Script {
	machine := workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}
	s := workload.Script{
		Name: name, Duration: 15 * time.Minute,
		Groups: []workload.Group{
			{Name: "za", Machine: machine, Zone: "za", Min: 1, Max: 8, Nodes: 1, Delay: 20 * time.Second},
			{Name: "zb", Machine: machine, Zone: "zb", Min: 1, Max: 8, Nodes: 1, Delay: second},
		},
	}
	for i := range 6 {
		s.Steps = append(s.Steps, workload.Step{At: time.Duration(5+125*i) * time.Second, Add: workload.Pods{Workload: fmt.Sprintf("web%d", i), Count: 1, CPU: "3", Memory: "2Gi"}})
	}
	s.Standing = []workload.Standing{
		{Node: "za-0", Pods: workload.Pods{Workload: "base", Count: 1, CPU: "3", Memory: "2Gi"}},
		{Node: "zb-0", Pods: workload.Pods{Workload: "base", Count: 1, CPU: "3", Memory: "2Gi"}},
	}
	return s
}

// A team changes its recommender and breaks it. Each spec has the mistake, and what the reviewer reads.
var _ = Describe("The gate stops a recommender that", func() {
	type broken struct {
		from    Source
		mislead func(*recommender.Request)
		// says are words of the verdict.
		says []string
		more []harness.Option
	}
	// The group never grew in the recording, so its delay is not in it.
	slow := harness.WithProvisionDelay("zb", 90*time.Second)
	DescribeTable("was broken:", func(ctx SpecContext, c broken) {
		with := func(mislead func(*recommender.Request)) *scalehist.ReplayReport {
			return played(ctx, c.from, append([]harness.Option{Misled(mislead), harness.WithPrices(listPrices())}, c.more...)...)
		}
		good := with(nil)
		Expect(judged(good, with(nil)).Passed).To(BeTrue(), "the good one against itself")

		v := judged(good, with(c.mislead))
		text := v.Text(false)
		AddReportEntry("verdict", text, ReportEntryVisibilityFailureOrVerbose)
		Expect(v.Passed).To(BeFalse())
		for _, want := range c.says {
			Expect(text).To(ContainSubstring(want))
		}
	},
		Entry("it ignores zones", broken{from: Recording("zonal-spread"), mislead: ignoresZones, says: []string{
			"unschedulable went from 0 to 2 (+2), limit +0",
			"{za 1->2 (max: 4)} {zb 1->2 (max: 4)} {zc 1->2 (max: 4)}", "{za 1->3 (max: 4)}",
			"the candidate is cheaper, and leaves 2 pods without a node",
		}}, SpecTimeout(time.Minute)),
		Entry("it takes memory in the wrong unit", broken{from: Recording("memory-bound"), mislead: wrongMemoryUnit, says: []string{
			"unschedulable went from 0 to 6 (+6), limit +0",
			"{std 1->4 (max: 6)}", "candidate: no decision that mattered by then",
		}}, SpecTimeout(time.Minute)),
		Entry("it takes a type without a price for next to nothing", broken{from: Recording("two-machine-sizes"), mislead: unpricedCosts("std-8", 1e-6), says: []string{
			"cost went from", "limit +5%", "{small 1->3 (max: 6)}", "{large 3->4 (max: 4)}",
		}}, SpecTimeout(time.Minute)),
		Entry("it ignores the max size", broken{from: Recording("max-size-reached"), mislead: ignoresMax, says: []string{
			"scale-ups.failed went from 0 to 1 (+1), limit +0", "unschedulable went from 6 to 12",
			"size increase of std is too large: desired 5, max 3",
		}}, SpecTimeout(time.Minute)),
		Entry("it breaks ties by chance", broken{from: Recording("equal-but-slow"), mislead: tieByRandom(1), says: []string{
			"pending.p95 went from 30.02s to 1m40.02s (+1m10s, +233.18 %), limit +10% or +5s",
			"same score, price and resources as zb, first in order", "{za 2->3 (max: 8)}", "{zb 1->2 (max: 8)}",
		}, more: []harness.Option{slow}}, SpecTimeout(time.Minute)),
	)

	// Nothing is broken here: the team only chose another policy, and has not seen what it costs.
	It("was told to score by waste where it scored by cost", func(ctx SpecContext) {
		from, prices := Recording("large-is-a-bargain"), perHour(0.1, 0.2)
		v := judged(played(ctx, from, Engine("recommender"), prices),
			played(ctx, from, Engine("recommender"), prices, harness.WithFlags("--scoring=least-waste")))
		Expect(v.Passed).To(BeFalse())
		Expect(v.Text(false)).To(And(ContainSubstring("cost went from 0.012499 EUR to 0.024998 EUR"), ContainSubstring("100 % above the least there is, 0.2"), ContainSubstring("{large 0->1 (max: 4)}"), ContainSubstring("{small 0->4 (max: 8)}")))
	}, SpecTimeout(time.Minute))

	// The two groups are equal in all that any metric counts: however a tie is broken, the run waits and costs the same.
	// So no limit of a metric can see it, in any run: that the candidate is not the same twice is what is wrong with it.
	Describe("breaks ties by chance, where that costs nothing:", func() {
		var good, again, one, two *scalehist.ReplayReport
		BeforeEach(func(ctx SpecContext) {
			from, prices := Scripted(equalTwins()), harness.WithPrices(listPrices())
			good, again = played(ctx, from, Misled(nil), prices), played(ctx, from, Misled(nil), prices)
			one, two = played(ctx, from, Misled(tieByRandom(1)), prices), played(ctx, from, Misled(tieByRandom(2)), prices)
		}, NodeTimeout(time.Minute))

		It("the limits of metrics hold", func() {
			for _, run := range []*scalehist.ReplayReport{one, two} {
				v := judged(good, run)
				Expect(v.Passed).To(BeTrue(), v.Text(true))
				Expect(v.Scenarios[0].FirstDifference).To(HaveField("Kind", "action"))
			}
		})

		It("a repeat of the candidate fails", func() {
			v := judged(good, one, two)
			AddReportEntry("verdict", v.Text(false), ReportEntryVisibilityFailureOrVerbose)
			Expect(v.Violations()).To(Equal(1), v.Text(true))
			Expect(v.Text(false)).To(And(
				ContainSubstring("equal-twins: is not deterministic: two runs of the candidate decide otherwise"),
				ContainSubstring("first decision that differs between two runs of the candidate, at +"),
				ContainSubstring("{za 1->2 (max: 8)}"), ContainSubstring("{zb 1->2 (max: 8)}"),
			))
			Expect(judged(good, good, again).Passed).To(BeTrue(), "the good one, twice")
		})

		It("a limit of the decisions fails, in each run", func() {
			for _, run := range []*scalehist.ReplayReport{one, two} {
				v := judgedBy("limits: {decisions.changed: +0, node-groups.changed: +0}", good, run)
				AddReportEntry("verdict", v.Text(false), ReportEntryVisibilityFailureOrVerbose)
				Expect(v.Passed).To(BeFalse())
				Expect(v.Text(false)).To(And(MatchRegexp(`decisions.changed went from 0 to [1-9]`), ContainSubstring("first decision that differs, at +")))
			}
		})
	})

	It("takes a type without a price for free: the recommender itself refuses to weigh that", func(ctx SpecContext) {
		_, err := replayWith(ctx, 0, Recording("two-machine-sizes"), harness.OnControlPlane(harness.Memory), harness.WithPrices(listPrices()), Misled(unpricedCosts("std-8", 0)))
		Expect(err).To(MatchError(ContainSubstring(`node group large (machine type "std-8") is 0: give its price, or take least-waste`)))
	}, SpecTimeout(time.Minute))

	It("has no price for a type: the replay is refused before it begins", func(ctx SpecContext) {
		prices := listPrices()
		delete(prices.MachineTypes, "std-8")
		_, err := replayWith(ctx, 0, Recording("two-machine-sizes"), harness.OnControlPlane(harness.Memory), harness.WithPrices(prices), Misled(nil))
		Expect(err).To(MatchError(ContainSubstring("std-8")))
	}, SpecTimeout(time.Minute))
})
