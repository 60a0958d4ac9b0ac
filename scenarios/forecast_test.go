package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

// Days of twenty minutes: nothing but a little, and from the tenth minute on for five minutes 120 requests a second, ten for each replica. The third is a holiday.
const days = `series: [{workload: ReplicaSet/default/web, metric: requests, points: [{at: 0s, value: 10},
	{at: 10m, value: 120}, {at: 15m, value: 10}, {at: 30m, value: 120}, {at: 35m, value: 10}]}]`

// foreseen replays the days under a ScaledObject that asks for the requests there are, and for those that a forecast sees three minutes before they come.
func foreseen(ctx SpecContext, forecast string) *scalehist.ReplayReport {
	script := queue()
	script.Groups[0].Delay, script.Duration = 2*time.Minute, time.Hour
	script.Groups[0].Machine.CPU = "2"
	return played(ctx, Scripted(script), ClusterAutoscaler(), harness.WithController(engines.KEDA(hpa.Defaults())), loadOf(days),
		objectsOf(`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: web}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web},
		minReplicaCount: 1, maxReplicaCount: 20, advanced: {horizontalPodAutoscalerConfig: {behavior: {scaleDown: {stabilizationWindowSeconds: 60}}}},
		triggers: [{type: prometheus, metadata: {query: requests, threshold: "10"}}`+forecast+`]}}`),
		harness.WithFlags("--scale-down-unneeded-time=2m", "--scale-down-delay-after-add=1m"))
}

// readyReplicas are how many replicas of the service were ready at an offset.
func readyReplicas(r *scalehist.ReplayReport, at time.Duration) int {
	ready := 0
	for _, s := range webOf(r).Replicas {
		if time.Duration(s.Offset) <= at {
			ready = int(s.Ready)
		}
	}
	return ready
}

var _ = Describe("A seasonal forecast", func() {
	It("has replicas and nodes ready when the second day needs them, and on a holiday for nothing", func(ctx SpecContext) {
		reactive := foreseen(ctx, "")
		predictive := foreseen(ctx, `, {type: prometheus, metadata: {query: "forecast:requests:20m:4m", threshold: "10"}}`)

		const first, second, holiday = 10 * time.Minute, 30 * time.Minute, 50 * time.Minute
		By("the first day nobody can foresee")
		Expect(readyReplicas(predictive, first+30*time.Second)).To(Equal(readyReplicas(reactive, first+30*time.Second)))
		By("the second it does")
		Expect(readyReplicas(reactive, second)).To(BeNumerically("<", 12))
		Expect(readyReplicas(predictive, second)).To(Equal(12), "%+v", webOf(predictive).Replicas)
		By("the holiday is paid for")
		Expect(wantedReplicas(reactive, holiday)).To(Equal(1), "%+v", webOf(reactive).Replicas)
		Expect(wantedReplicas(predictive, holiday)).To(BeNumerically(">=", 6), "%+v", webOf(predictive).Replicas)
		Expect(predictive.ScaledUpNodeGroups["workers"]).To(BeNumerically(">", 0))
	}, SpecTimeout(2*time.Minute))
})
