package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/report/metrics"
	"github.com/scalehist/scalehist/virtualca/cloudprovider"
)

// notOfAll are metrics that need more than a replay with prices: a truth file, another playback, or pods all the time.
var notOfAll = []string{"truth.differing", "events.differing", "over.accuracy.cpu", "over.accuracy.memory", "optimal.distance"}

var _ = Describe("A report tells every metric", func() {
	for _, name := range recordings() {
		It("of "+name, func(ctx SpecContext) {
			prices := &cloudprovider.PriceTable{Currency: "EUR", MachineTypes: map[string]float64{}}
			for _, machine := range []string{"std-2", "std-4", "std-8", "std-16", "mem-4", "mem-8", "gpu-8", "small-2", "large-8"} {
				prices.MachineTypes[machine] = 1
			}
			r := played(ctx, Recording(name), ClusterAutoscaler(), harness.WithPrices(prices))
			for _, v := range metrics.Of(r) {
				if v.Value == nil && v.Missing != "no pod had a node" { // one fixture has nodes alone
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
		}), ClusterAutoscaler(), harness.WithPrices(listPrices()), harness.WithFault(harness.Fault{Kind: harness.FaultSpotReclaim, NodeGroup: "std", From: harness.Offset(5 * time.Minute), Count: 4}))
		var ended []string
		for _, b := range r.Batches {
			ended = append(ended, b.Ended...)
		}
		Expect(ended).To(ConsistOf("default/job-1", "default/job-2", "default/lone-1"))
		expectWorkAddsUp(r)
	}, SpecTimeout(time.Minute))
})

// expectWorkAddsUp: the time that pods had nodes, out of the steps, is at least that of the pods that were fed in and are there at
// the end.
func expectWorkAddsUp(r *scalehist.ReplayReport) {
	GinkgoHelper()
	v := metrics.Of(r).Get("pod-hours")
	Expect(v.Value).NotTo(BeNil(), v.Missing)
	least := 0.0
	there := map[string]bool{}
	for _, p := range r.End.ScheduledPods {
		there[p.Namespace+"/"+p.Name] = true
	}
	for _, b := range r.Batches {
		for _, p := range b.DeployedPods {
			if p.ScheduledAt != nil && there[p.Namespace+"/"+p.Name] {
				least += r.EndTime.Sub(*p.ScheduledAt).Hours()
			}
		}
	}
	Expect(*v.Value).To(BeNumerically(">=", least-1e-6))
}
