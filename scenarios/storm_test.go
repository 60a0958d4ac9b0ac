package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

var _ = Describe("A storm of replicas", func() {
	It("stops at the most of the autoscaler and of the node group, leaves pods pending, and is over with the wrong metric behind it", func(ctx SpecContext) {
		script := newService("storm", 40*time.Minute, workload.Pods{Count: 2, CPU: "500m", Memory: "512Mi"}, std4(1, 3))
		report := played(ctx, Scripted(script), ClusterAutoscaler(), harness.WithController(engines.HPA(hpa.Defaults())),
			objectsOf(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {minReplicas: 2, maxReplicas: 60,
			scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, metrics: [{type: External, external: {metric: {name: requests}, target: {type: AverageValue, averageValue: "10"}}}]}}`),
			loadOf("series: [{workload: ReplicaSet/default/web, metric: requests, points: [{at: 0s, value: 20}]}]"),
			Fault("metrics-wrong:requests@+5m..+15m,value=1e6"))

		Expect(wantedReplicas(report, 14*time.Minute)).To(Equal(60))
		Expect(readyReplicas(report, 14*time.Minute)).To(BeNumerically("<=", 3*7), "three nodes of four cores hold no more of half a core each")
		Expect(report).To(HaveScaledUp(ScaleUps{"workers": 2}))
		Expect(wantedReplicas(report, 39*time.Minute)).To(Equal(2))
		Expect(report).To(LeaveUnschedulable())
	}, SpecTimeout(2*time.Minute))
})
