package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/report/gate"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/virtualca/cloudprovider"
)

// listPrices are what the machines of the fixtures cost in an hour. The large one is dear: small ones win where they do.
func listPrices() *cloudprovider.PriceTable {
	return &cloudprovider.PriceTable{Currency: "EUR", MachineTypes: map[string]float64{"std-2": 0.1, "std-4": 0.2, "std-8": 0.5}}
}

// played replays in memory alone: how the control planes agree is for other specs.
func played(ctx SpecContext, from Source, opts ...harness.Option) *scalehist.ReplayReport {
	GinkgoHelper()
	r, err := replayWith(ctx, 0, from, append([]harness.Option{harness.OnControlPlane(harness.Memory)}, opts...)...)
	Expect(err).NotTo(HaveOccurred())
	return r
}

// judged holds a candidate against a baseline under the policy that 'scalehist gate init' gives a team to begin with.
func judged(baseline, candidate *scalehist.ReplayReport) *gate.Verdict {
	GinkgoHelper()
	policy, err := gate.ParsePolicy([]byte(gate.Example()), "gate.yaml")
	Expect(err).NotTo(HaveOccurred())
	side := func(r *scalehist.ReplayReport) []gate.Scenario {
		return []gate.Scenario{{Name: r.Scenario, Path: r.Scenario + "/report.json", Report: r}}
	}
	v, err := gate.Judge(policy, side(baseline), side(candidate))
	Expect(err).NotTo(HaveOccurred())
	v.Baseline, v.Candidate = "main", "branch"
	return v
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
			"pending.p95 went from 20s to 1m30s (+1m10s, +350 %), limit +10% or +5s",
			"same score, price and resources as zb, first in order", "{za 1->2 (max: 8)}", "{zb 1->2 (max: 8)}",
		}, more: []harness.Option{slow}}, SpecTimeout(time.Minute)),
	)

	// Nothing is broken here: the team only chose another policy, and has not seen what it costs.
	It("was told to score by waste where it scored by cost", func(ctx SpecContext) {
		from, prices := Recording("large-is-a-bargain"), perHour(0.1, 0.2)
		v := judged(played(ctx, from, Engine("recommender"), prices),
			played(ctx, from, Engine("recommender"), prices, harness.WithFlags("--scoring=least-waste")))
		Expect(v.Passed).To(BeFalse())
		Expect(v.Text(false)).To(And(ContainSubstring("cost went from 0.012778 EUR to 0.025556 EUR"), ContainSubstring("100 % above the least there is, 0.2"), ContainSubstring("{large 0->1 (max: 4)}"), ContainSubstring("{small 0->4 (max: 8)}")))
	}, SpecTimeout(time.Minute))

	It("breaks ties by chance, without any baseline: two runs of it differ, and one of them is worse", func(ctx SpecContext) {
		from, prices := Recording("equal-but-slow"), harness.WithPrices(listPrices())
		one, two := played(ctx, from, Misled(tieByRandom(1)), prices, slow), played(ctx, from, Misled(tieByRandom(2)), prices, slow)
		there, back := judged(one, two), judged(two, one)
		Expect(there.Scenarios[0].FirstDifference).To(HaveField("Kind", "action"))
		Expect([]bool{there.Passed, back.Passed}).To(ContainElement(false))
	}, SpecTimeout(time.Minute))

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
