package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
)

// A living template: copy this file, keep what you need. It compiles and runs with the suite.
//
//  1. Given: a Recording("name") under fixtures/ (make record FIXTURE=name), a History file of your own, or, as here, a
//     small cluster stated in the spec. State only what the spec is about.
//  2. When: Replay with an autoscaler. Options change the question: other flags, bounds, faults, prices, a window.
//  3. Then: one Expect for each thing you care about. Small wants stand here; a long one is a golden timeline:
//     Expect(report).To(MatchGolden(golden("name"))), accepted with `make golden`.
//  4. Time is virtual: two minutes pass in well under a second. Never sleep, never read the wall clock.
//  5. Each spec has a virtual cluster of its own, so specs run in any order and in parallel.
//  6. Break the want by one node and read the message: does it tell which group, by how much, and why?
var _ = Describe("A template for new specs", func() {
	It("grows the one group for pods that do not fit", func(ctx SpecContext) {
		cluster := workload.Script{
			Name: "template", Duration: 2 * time.Minute,
			Groups: []workload.Group{{
				Name: "workers", Machine: workload.Machine{Type: "m5.xlarge", CPU: "4", Memory: "16Gi"},
				Zone: "z1", Min: 1, Max: 5, Nodes: 1, Delay: 30 * time.Second,
			}},
			Steps: []workload.Step{{At: 5 * time.Second, Add: workload.Pods{Workload: "web", Count: 6, CPU: "1500m", Memory: "2Gi"}}},
		}

		report := Replay(ctx, Scripted(cluster), ClusterAutoscaler("least-waste"), harness.WithFlags("--max-nodes-total=10"))

		Expect(report).To(HaveScaledUp(ScaleUps{"workers": 2}))
		Expect(report).To(HaveScaledDown(ScaleDowns{}))
		Expect(report).To(LeaveUnschedulable())
	}, SpecTimeout(2*time.Minute))
})
