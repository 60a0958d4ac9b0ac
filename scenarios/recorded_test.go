package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	. "github.com/scalehist/scalehist/harness/expect"
)

var _ = Describe("A recording of a real autoscaler", func() {
	It("replays a burst on AWS to the sizes that were recorded", func(ctx SpecContext) {
		report := Replay(ctx, Recording("aws-burst"), ClusterAutoscaler())

		Expect(report).To(HaveScaledUp(ScaleUps{"shoot--demo--aws-p3-z1": 2, "shoot--demo--aws-p2-z1": 2}))
		Expect(report).To(AgreeWithRecording())
		Expect(report).To(MatchGolden(golden("aws-burst")))
	}, SpecTimeout(2*time.Minute))

	// The nodes that were asked for join within two minutes, and no group has room for more. At least five were seen pending.
	It("leaves the pods of that burst pending for which there was no room", func(ctx SpecContext) {
		report := ReplayFor(ctx, 4*time.Minute, Recording("aws-burst"), ClusterAutoscaler())

		Expect(report).To(LeaveUnschedulableCount(Exactly(7)))
	}, SpecTimeout(2*time.Minute))

	// No autoscaler was recorded with it. The groups are the trace's own nodes: its pods have room on them. "Same input, same bytes" replays it on every
	// control plane, and there it takes minutes.
	It("brings the nodes of a published trace for its 1,067 pods, from groups that begin with nothing", unraced, func(ctx SpecContext) {
		report, err := replayInMemory(ctx, 3*time.Minute, Recording("openb-100"), ClusterAutoscaler())
		Expect(err).NotTo(HaveOccurred())

		Expect(report).To(HaveScaledUp(ScaleUps{
			"openb-g2-96c-06": 47, "openb-g3-128c-01": 4, "openb-p100-16c-02": 8, "openb-p100-64c-04": 22,
			"openb-t4-104c-00": 6, "openb-t4-96c-05": 5, "openb-v100m16-32c-03": 5, "openb-v100m32-96c-07": 3,
		}))
		Expect(report).To(LeaveUnschedulable())
	}, SpecTimeout(6*time.Minute))

	It("is no evidence where it was recorded from this autoscaler", func(ctx SpecContext) {
		report := Replay(ctx, Recording("from-zero"), ClusterAutoscaler())

		_, err := AgreeWithRecording().Match(report)
		Expect(err).To(MatchError("from-zero was recorded from scalehist's own autoscaler: goldens and conformance judge it, its recording cannot; expect sizes or a golden"))
	}, SpecTimeout(2*time.Minute))
})
