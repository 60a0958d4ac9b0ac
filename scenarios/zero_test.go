package scenarios

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/report/metrics"
)

// night is what the service of queue() has to do: ten requests a second until the fifth minute, none in the night, which ends in the 30th. What comes while
// nobody is ready is held for two minutes.
const night = "series: [{workload: ReplicaSet/default/web, metric: requests, sharing: held, hold: 2m, points: [{at: 0s, value: 10}, {at: 5m, value: 0}, {at: 30m, value: 10}]}]"

// zeroed replays the night under ElastiServices, on groups that may go to no nodes.
func zeroed(ctx SpecContext, service, work string, delay time.Duration) *scalehist.ReplayReport {
	script := queue()
	script.Groups[0].Min, script.Groups[0].Delay, script.Duration = 0, delay, 50*time.Minute
	return played(ctx, Scripted(script), ClusterAutoscaler(), harness.WithController(engines.Elasti()), loadOf(work),
		objectsOf(`{apiVersion: elasti.truefoundry.com/v1alpha1, kind: ElastiService, metadata: {name: web}, spec: {service: web,
		scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, minTargetReplicas: 2, `+service+` triggers: [{type: prometheus, metadata: {query: requests, threshold: "1"}}]}}`),
		harness.WithFlags("--scale-down-unneeded-time=5m", "--scale-down-delay-after-add=1m"))
}

var _ = Describe("Scaling to zero", func() {
	It("empties the node, which is removed, and in the morning requests wait for another one", func(ctx SpecContext) {
		report := zeroed(ctx, "cooldownPeriod: 300,", night, time.Minute)

		Expect(wantedReplicas(report, 20*time.Minute)).To(Equal(0))
		Expect(report.ScaledDownNodeGroups).To(HaveKeyWithValue("workers", 1), "the node that was emptied is still there")
		Expect(report.ScaledUpNodeGroups).To(HaveKeyWithValue("workers", 1))
		Expect(wantedReplicas(report, 40*time.Minute)).To(Equal(2))
		work := webOf(report).Work[0]
		Expect(work.Held.Work).To(BeNumerically(">", 0), "nothing waited")
		// A poll of up to 30 s, a loop of the autoscaler, and a minute for the node.
		Expect(work.Held.MaxSeconds).To(And(BeNumerically(">=", 60), BeNumerically("<=", 120)))
		Expect(work.Held.P50Seconds).To(BeNumerically("~", work.Held.MaxSeconds/2, 1))
		Expect(work.Lost).To(BeZero())
		Expect(work.Served + work.Waiting).To(BeNumerically("~", work.In, 1e-3))
	}, SpecTimeout(2*time.Minute))

	It("loses requests where nodes take longer than they are held", func(ctx SpecContext) {
		report := zeroed(ctx, "cooldownPeriod: 300,", night, 4*time.Minute)

		work := webOf(report).Work[0]
		Expect(work.Held.MaxSeconds).To(BeNumerically("~", 120, 1e-6))
		Expect(work.Lost).To(And(BeNumerically(">=", 10*110), BeNumerically("<=", 10*180)))
		Expect(*metrics.Of(report).Get("held.lost").Value).To(BeNumerically("~", 100*work.Lost/work.In, 1e-9))
	}, SpecTimeout(2*time.Minute))

	It("flaps at the threshold without a cooldown, and not with one", func(ctx SpecContext) {
		// 40 s with a request, 80 s without, and not at the instants at which is looked.
		points := "{at: 0s, value: 0}, "
		for at := 10 * time.Second; at < 50*time.Minute; at += 2 * time.Minute {
			points += "{at: " + at.String() + ", value: 1}, {at: " + (at + 40*time.Second).String() + ", value: 0}, "
		}
		work := "series: [{workload: ReplicaSet/default/web, metric: requests, sharing: held, hold: 2m, points: [" + strings.TrimSuffix(points, ", ") + "]}]"
		without := zeroed(ctx, "cooldownPeriod: 0,", work, time.Minute)
		with := zeroed(ctx, "cooldownPeriod: 300,", work, time.Minute)

		Expect(webOf(without).ScaledDown).To(BeNumerically(">", 20), "%+v", webOf(without).Replicas)
		Expect(webOf(with).ScaledDown).To(BeEquivalentTo(0), "%+v", webOf(with).Replicas)
		Expect(webOf(without).Work[0].Held.Work).To(BeNumerically(">", 0), "nothing waited: %+v", webOf(without).Replicas)
		Expect(webOf(with).Work[0].Held.Work).To(BeZero())
		Expect(*metrics.Of(with).Get("held.share").Value).To(BeZero())
	}, SpecTimeout(2*time.Minute))
})
