package scenarios

import (
	"errors"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/report/metrics"
)

// notOfAll are metrics that need more than a replay with prices: a truth file, another playback, or pods all the time.
var notOfAll = []string{"truth.differing", "events.differing", "over.accuracy.cpu", "over.accuracy.memory", "optimal.distance"}

// nothingThere are reasons why a metric has no number: one fixture has nodes alone, and in another nodes join after its end,
// which was recorded without an autoscaler.
var nothingThere = []string{"no pod had a node", "there were no nodes", "nothing was recorded to agree with"}

var _ = Describe("A report has every metric", func() {
	for _, name := range recordings() {
		It("of "+name, unraced, func(ctx SpecContext) {
			r := played(ctx, Recording(name), ClusterAutoscaler(), harness.WithPrices(allAtOne(ctx, name)))
			for _, v := range metrics.Of(r) {
				if v.Value == nil && !slices.Contains(nothingThere, v.Missing) {
					Expect(notOfAll).To(ContainElement(v.Name), v.Missing)
				}
			}
			expectWorkAddsUp(r)
		}, SpecTimeout(time.Minute))
	}

	It("where a pod goes with its node for good, and jobs end", func(ctx SpecContext) {
		machine := workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}
		r := played(ctx, Scripted(workload.Script{
			Name: "ends", Duration: 10 * time.Minute,
			Groups: []workload.Group{{Name: "std", Machine: machine, Zone: "z1", Min: 1, Max: 4, Nodes: 1, Delay: 20 * time.Second}},
			Steps: []workload.Step{
				{At: 10 * time.Second, Add: workload.Pods{Workload: "job", Count: 2, CPU: "3", Memory: "1Gi", RunFor: 2 * time.Minute}},
				{At: 10 * time.Second, Add: workload.Pods{Workload: "lone", Count: 1, CPU: "3", Memory: "1Gi", Bare: true}},
			},
		}), ClusterAutoscaler(), harness.WithPrices(listPrices()), harness.WithFaults(trace.Fault{Kind: trace.FaultSpotReclaim, NodeGroup: "std", From: trace.Offset(5 * time.Minute), Count: 4}))
		var ended []string
		for _, b := range r.Batches {
			ended = append(ended, b.Ended...)
		}
		Expect(ended).To(ConsistOf("default/job-1", "default/job-2", "default/lone-1"))
		expectWorkAddsUp(r)
	}, SpecTimeout(time.Minute))
})

// allAtOne are prices of all machine types of a fixture: 1 EUR an hour each.
func allAtOne(ctx SpecContext, name string) *prices.Table {
	GinkgoHelper()
	db, err := history.Open(ctx, recording(name))
	Expect(err).NotTo(HaveOccurred())
	_, end := db.Span()
	s, err := db.SnapshotAt(ctx, end)
	Expect(errors.Join(err, db.Close())).To(Succeed())
	prices := &prices.Table{Currency: "EUR", MachineTypes: map[string]float64{}}
	for _, g := range s.NodeGroups {
		prices.MachineTypes[g.MachineType] = 1
	}
	return prices
}

// expectWorkAddsUp: the time that pods had nodes, out of the steps, is at least that of the pods that were fed in and are there at
// the end, and at most that of all pods there ever were, had they stayed.
func expectWorkAddsUp(r *scalehist.ReplayReport) {
	GinkgoHelper()
	v := metrics.Of(r).Get("pod-hours")
	Expect(v.Value).NotTo(BeNil(), v.Missing)
	least, most := 0.0, float64(len(r.Start.ScheduledPods))*r.EndTime.Sub(r.StartTime).Hours()
	there := map[string]bool{}
	for _, p := range r.End.ScheduledPods {
		there[p.Namespace+"/"+p.Name] = true
	}
	for _, b := range r.Batches {
		for _, p := range b.DeployedPods {
			if p.ScheduledAt != nil {
				most += r.EndTime.Sub(*p.ScheduledAt).Hours()
			}
			if p.ScheduledAt != nil && there[p.Namespace+"/"+p.Name] {
				least += r.EndTime.Sub(*p.ScheduledAt).Hours()
			}
		}
	}
	Expect(*v.Value).To(And(BeNumerically(">=", least-1e-6), BeNumerically("<=", most+1e-6)))
}
