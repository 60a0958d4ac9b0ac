package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
)

// removedAt are the offsets at which a group's target size was lowered.
func removedAt(r *scalehist.ReplayReport, group string) []time.Duration {
	var out []time.Duration
	for _, s := range r.Steps {
		for _, c := range s.Changes {
			if c.NodeGroup == group && c.To < c.From {
				out = append(out, s.At.Sub(r.StartTime))
			}
		}
	}
	return out
}

// left are the nodes that are there at the end.
func left(r *scalehist.ReplayReport) []string {
	var out []string
	for _, n := range r.End.Nodes {
		out = append(out, n.Name)
	}
	return out
}

// stays are the reasons the autoscaler gave for keeping a node.
func stays(r *scalehist.ReplayReport, node string) []string {
	var out []string
	for _, d := range r.Decisions {
		for _, n := range d.Unremovable {
			if n.Node == node {
				out = append(out, n.Reason)
			}
		}
	}
	return out
}

var _ = Describe("Scale-down", func() {
	It("removes empty nodes and moves the last pods together when a burst is over", func(ctx SpecContext) {
		report := Replay(ctx, Recording("idle-after-burst"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"std": 3}))
		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 3}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("idle-after-burst")))
	}, SpecTimeout(2*time.Minute))

	It("waits for a PodDisruptionBudget to allow a disruption", func(ctx SpecContext) {
		report := Replay(ctx, Recording("pdb-blocks-drain"), ClusterAutoscaler())

		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 2}))
		Expect(removedAt(report, "std")).To(HaveEach(BeNumerically(">", 3*time.Minute)), "the budget is relaxed at two minutes, and a node goes a minute later")
		Expect(stays(report, "std-0")).To(ContainElement("BlockedByPod: default/guarded-1 NotEnoughPdb"))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("pdb-blocks-drain")))
	}, SpecTimeout(2*time.Minute))

	It("keeps the node of a pod without a controller", func(ctx SpecContext) {
		report := Replay(ctx, Recording("bare-pod-blocks-drain"), ClusterAutoscaler())

		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 1}))
		Expect(stays(report, "std-0")).To(ContainElement("BlockedByPod: default/lonely-1 NotReplicated"))
		Expect(report).To(MatchGolden(golden("bare-pod-blocks-drain")))
	}, SpecTimeout(2*time.Minute))

	It("does what the safe-to-evict annotation says, both ways", func(ctx SpecContext) {
		report := Replay(ctx, Recording("safe-to-evict"), ClusterAutoscaler())

		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 2}))
		Expect(stays(report, "std-0")).To(ContainElement("BlockedByPod: default/pinned-1 NotSafeToEvictAnnotation"))
		Expect(report).To(MatchGolden(golden("safe-to-evict")))
	}, SpecTimeout(2*time.Minute))

	It("keeps the node of a pod with local storage", func(ctx SpecContext) {
		report := Replay(ctx, Recording("local-storage-blocks-drain"), ClusterAutoscaler())

		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 2}))
		Expect(stays(report, "std-0")).To(ContainElement("BlockedByPod: default/cache-1 LocalStorageRequested"))
		Expect(left(report)).To(ConsistOf("std-0"))
		Expect(report).To(MatchGolden(golden("local-storage-blocks-drain")))
	}, SpecTimeout(2*time.Minute))

	It("moves pods with local storage when told to", func(ctx SpecContext) {
		report := Replay(ctx, Recording("local-storage-blocks-drain"), ClusterAutoscaler(), harness.WithFlags("--skip-nodes-with-local-storage=false"))

		Expect(stays(report, "std-0")).NotTo(ContainElement(ContainSubstring("BlockedByPod")))
		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 2}))
		Expect(left(report)).To(And(HaveLen(1), Not(ContainElement("std-0"))), "as many nodes as without the flag, and not the same")
		Expect(report).To(LeaveUnschedulable())
	}, SpecTimeout(2*time.Minute))

	It("stops at the min size", func(ctx SpecContext) {
		report := Replay(ctx, Recording("min-size-reached"), ClusterAutoscaler())

		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 2}))
		for _, node := range left(report) {
			Expect(stays(report, node)).To(ContainElement("NodeGroupMinSizeReached"))
		}
		Expect(report).To(MatchGolden(golden("min-size-reached")))
	}, SpecTimeout(2*time.Minute))

	It("drains one node at a time", func(ctx SpecContext) {
		report := Replay(ctx, Recording("one-drain-at-a-time"), ClusterAutoscaler())

		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 3}))
		Expect(removedAt(report, "std")).To(HaveLen(3), "each in a step of its own")
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("one-drain-at-a-time")))
	}, SpecTimeout(2*time.Minute))

	It("removes empty nodes in bulk, up to the parallelism allowed", func(ctx SpecContext) {
		report := Replay(ctx, Recording("empty-nodes-in-bulk"), ClusterAutoscaler())

		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 8}))
		Expect(removedAt(report, "std")).To(HaveLen(2), "five, then three")
		Expect(report).To(MatchGolden(golden("empty-nodes-in-bulk")))
	}, SpecTimeout(2*time.Minute))

	It("begins to count again when a pod has been on an unneeded node", func(ctx SpecContext) {
		report := Replay(ctx, Recording("unneeded-timer-reset"), ClusterAutoscaler())

		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 1}))
		Expect(removedAt(report, "std")).To(HaveEach(BeNumerically(">", 150*time.Second)), "a minute after the pod was gone, at a minute and a half")
		Expect(report).To(MatchGolden(golden("unneeded-timer-reset")))
	}, SpecTimeout(2*time.Minute))

	It("follows a day's load up and down", func(ctx SpecContext) {
		report := Replay(ctx, Recording("full-day"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"std": 4, "batch": 3}))
		Expect(report).To(HaveScaledDown(ScaleDowns{"std": 4, "batch": 3}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("full-day")))
	}, SpecTimeout(4*time.Minute))
})
