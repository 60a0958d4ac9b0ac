package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
)

// placedAt is when a pod of the recording got a node, and which; a zero offset and "" where it got none.
func placedAt(r *scalehist.ReplayReport, pod string) (time.Duration, string) {
	for _, b := range r.Batches {
		for _, p := range b.DeployedPods {
			if p.Name == pod && p.ScheduledAt != nil {
				return p.ScheduledAt.Sub(r.StartTime), p.NodeName
			}
		}
	}
	return 0, ""
}

var _ = Describe("The cluster autoscaler", func() {
	It("scales nothing when a burst fits on the nodes there are", func(ctx SpecContext) {
		report := Replay(ctx, Recording("fits-existing-nodes"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("fits-existing-nodes")))
	}, SpecTimeout(2*time.Minute))

	It("grows a group from zero by its template", func(ctx SpecContext) {
		report := Replay(ctx, Recording("from-zero"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"batch": 3}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("from-zero")))
	}, SpecTimeout(2*time.Minute))

	It("adds large nodes for pods that do not fit on small ones, and small ones for the small pods after them", func(ctx SpecContext) {
		report := Replay(ctx, Recording("two-machine-sizes"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"large": 3, "small": 2}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("two-machine-sizes")))
	}, SpecTimeout(2*time.Minute))

	It("stops at the max size and leaves the rest unschedulable", func(ctx SpecContext) {
		report := Replay(ctx, Recording("max-size-reached"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"std": 2}))
		Expect(report).To(LeaveUnschedulable("web-10", "web-11", "web-12", "web-13", "web-14", "web-15"))
		Expect(report).To(MatchGolden(golden("max-size-reached")))
	}, SpecTimeout(2*time.Minute))

	It("brings nodes in every zone for pods that must spread over zones", func(ctx SpecContext) {
		report := Replay(ctx, Recording("zonal-spread"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"za": 1, "zb": 1, "zc": 1}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("zonal-spread")))
	}, SpecTimeout(2*time.Minute))

	It("levels similar groups when balancing is on", func(ctx SpecContext) {
		report := Replay(ctx, Recording("balance-similar-groups"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"za": 2, "zb": 1, "zc": 2}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("balance-similar-groups")))
	}, SpecTimeout(2*time.Minute))

	It("brings tainted GPU nodes only for pods that tolerate them and ask for GPUs", func(ctx SpecContext) {
		report := Replay(ctx, Recording("gpu-taints"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"gpu": 2, "std": 1}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("gpu-taints")))
	}, SpecTimeout(2*time.Minute))

	It("prefers the group of the highest priority until it is full", func(ctx SpecContext) {
		report := Replay(ctx, Recording("priority-expander"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"spot-std8": 2, "ondemand-std4": 4}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("priority-expander")))
	}, SpecTimeout(2*time.Minute))

	It("leaves room for DaemonSet pods on the nodes it brings", func(ctx SpecContext) {
		report := Replay(ctx, Recording("daemonset-overhead"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"std": 4}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("daemonset-overhead")))
	}, SpecTimeout(2*time.Minute))

	It("falls back to another group while the best one is out of stock, and returns to it later", func(ctx SpecContext) {
		report := Replay(ctx, Recording("stockout-fallback"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"first": 4, "second": 2}))
		Expect(report).To(HaveScaledDown(ScaleDowns{"first": 3}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("stockout-fallback")))
	}, SpecTimeout(2*time.Minute))

	It("brings no nodes for expendable pods, nor for the one an urgent pod preempts", func(ctx SpecContext) {
		report := Replay(ctx, Recording("expendable-pods"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"std": 3}))
		Expect(report).To(LeaveUnschedulable("filler-2", "idle-4"))
		Expect(report).To(MatchGolden(golden("expendable-pods")))
	}, SpecTimeout(2*time.Minute))

	It("places an urgent pod when the one that it preempts has stopped, and brings no node for it meanwhile", func(ctx SpecContext) {
		report := Replay(ctx, Recording("expendable-pods"), ClusterAutoscaler(), harness.With(func(s *harness.Settings) {
			s.Termination = ptr.To(15 * time.Second)
		}))

		urgent, node := placedAt(report, "pay-1")
		Expect(node).To(Equal("std-0"))
		Expect(urgent).To(Equal(36*time.Second + 15*time.Second))
		Expect(grownAt(report, "std")).To(HaveExactElements(BeNumerically(">", urgent)))
		Expect(report).To(HaveScaledUp(ScaleUps{"std": 3}))
		Expect(report).To(LeaveUnschedulable("filler-2", "idle-4"))
	}, SpecTimeout(2*time.Minute))

	It("decides in the middle of a burst with upcoming nodes in view", func(ctx SpecContext) {
		report := Replay(ctx, Recording("staggered-burst"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"std4": 7}))
		Expect(report).To(LeaveUnschedulable())
		Expect(report).To(MatchGolden(golden("staggered-burst")))
	}, SpecTimeout(2*time.Minute))
})
