package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/harness/trace"
)

// Fault is a fault as the command line takes it.
func Fault(text string) harness.Option {
	GinkgoHelper()
	f, err := trace.ParseFault(text)
	Expect(err).NotTo(HaveOccurred())
	return harness.WithFaults(f)
}

// grownAt are the offsets at which a group's target size was raised.
func grownAt(r *scalehist.ReplayReport, group string) []time.Duration {
	var out []time.Duration
	for _, s := range r.Steps {
		for _, c := range s.Changes {
			if c.NodeGroup == group && c.To > c.From {
				out = append(out, s.At.Sub(r.StartTime))
			}
		}
	}
	return out
}

// quickBackoff lets a group that failed try again within a fixture's few minutes.
var quickBackoff = harness.WithFlags("--initial-node-group-backoff-duration=30s")

var _ = Describe("A fault put into a recording", func() {
	It("stock-out of a single machine: the rest of the request comes, and the one is asked for again", func(ctx SpecContext) {
		report := ReplayFor(ctx, 4*time.Minute, Recording("from-zero"), ClusterAutoscaler(), quickBackoff, Fault("stock-out:batch@..+30s,count=1"))

		Expect(report).To(HaveScaledUp(ScaleUps{"batch": 4}))
		Expect(report).To(HaveScaledDown(ScaleDowns{"batch": 1}))
		Expect(report).To(LeaveUnschedulable())
	}, SpecTimeout(2*time.Minute))

	It("quota: the group is backed off and its pods wait", func(ctx SpecContext) {
		report := Replay(ctx, Recording("max-size-reached"), ClusterAutoscaler(), Fault("quota:std"))

		Expect(report).To(HaveScaledUp(ScaleUps{"std": 2}))
		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 2}))
		Expect(report.UnschedulableAtEnd).To(HaveLen(12))
		Expect(last(report.Decisions).Backoff).To(HaveLen(1))
	}, SpecTimeout(2*time.Minute))

	It("a provider that is down: nothing grows until it answers again", func(ctx SpecContext) {
		report := ReplayFor(ctx, 4*time.Minute, Recording("max-size-reached"), ClusterAutoscaler(), quickBackoff, Fault("provider-down@..+1m"))

		Expect(report).To(HaveScaledUp(ScaleUps{"std": 2}))
		Expect(grownAt(report, "std")).To(HaveExactElements(And(BeNumerically(">=", time.Minute), BeNumerically("<=", 70*time.Second))), "in the first loop that gets an answer")
		Expect(report.UnschedulableAtEnd).To(HaveLen(6))
	}, SpecTimeout(2*time.Minute))

	It("slow nodes: pods wait longer, and no node too many is asked for", func(ctx SpecContext) {
		report := ReplayFor(ctx, 5*time.Minute, Recording("from-zero"), ClusterAutoscaler(), Fault("slow:batch,delay=1m"))

		Expect(report).To(HaveScaledUp(ScaleUps{"batch": 3}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report.Pending.Max).To(And(BeNumerically(">", 100), BeNumerically("<=", 101)), "ten seconds for the loop, thirty for the node, sixty for the fault")
	}, SpecTimeout(2*time.Minute))

	It("nodes that never register: given up after the provision time, and asked for again", func(ctx SpecContext) {
		report := ReplayFor(ctx, 5*time.Minute, Recording("from-zero"), ClusterAutoscaler(), quickBackoff,
			harness.WithFlags("--max-node-provision-time=1m"), Fault("never-register:batch@..+30s,count=1"))

		Expect(report).To(HaveScaledUp(ScaleUps{"batch": 4}))
		Expect(report).To(HaveScaledDown(ScaleDowns{"batch": 1}))
		Expect(report).To(LeaveUnschedulable())
	}, SpecTimeout(2*time.Minute))

	// Upstream counts nodes on their way only while a request of its own is open: it does not see the replacement coming.
	It("a spot reclaim: the pods come back pending, the group replaces the node, and the autoscaler asks for one more", func(ctx SpecContext) {
		report := ReplayFor(ctx, 4*time.Minute, Recording("from-zero"), ClusterAutoscaler(), Fault("spot-reclaim:batch@+90s"))

		Expect(report).To(HaveScaledUp(ScaleUps{"batch": 4}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report.Pending.Max).To(And(BeNumerically(">", 70), BeNumerically("<=", 71)), "ten seconds for a loop and thirty for a node, and thirty for another")
	}, SpecTimeout(2*time.Minute))

	It("a node that is not ready for good: its pods move to a new one after five minutes", func(ctx SpecContext) {
		report := ReplayFor(ctx, 10*time.Minute, Recording("from-zero"), ClusterAutoscaler(), Fault("not-ready:batch@+90s.."))

		Expect(report).To(HaveScaledUp(ScaleUps{"batch": 4}))
		Expect(grownAt(report, "batch")).To(HaveExactElements(BeNumerically("<", 90*time.Second),
			And(BeNumerically(">=", 390*time.Second), BeNumerically("<=", 7*time.Minute))), "for the burst, and five minutes after the node was lost")
		Expect(report).To(LeaveUnschedulable())
	}, SpecTimeout(2*time.Minute))
})
