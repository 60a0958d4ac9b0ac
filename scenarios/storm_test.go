package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

var _ = Describe("A storm of replicas", func() {
	It("stops at the most of the autoscaler and of the node group, leaves pods pending, and is over with the wrong metric behind it", func(ctx SpecContext) {
		objects, err := engines.ParseObjects([]byte(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {minReplicas: 2, maxReplicas: 60,
			scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, metrics: [{type: External, external: {metric: {name: requests}, target: {type: AverageValue, averageValue: "10"}}}]}}`))
		Expect(err).NotTo(HaveOccurred())
		source, err := load.Parse([]byte("series: [{workload: ReplicaSet/default/web, metric: requests, points: [{at: 0s, value: 20}]}]"))
		Expect(err).NotTo(HaveOccurred())
		fault, err := trace.ParseFault("metrics-wrong:requests@+5m..+15m,value=1e6")
		Expect(err).NotTo(HaveOccurred())
		script := workload.Script{
			Name: "storm", Duration: 40 * time.Minute, Groups: []workload.Group{std4(1, 3)},
			Steps: []workload.Step{{At: 5 * time.Second, Add: workload.Pods{Workload: "web", Count: 2, CPU: "500m", Memory: "512Mi"}}},
		}

		report, err := replayWith(ctx, 0, Scripted(script), harness.OnControlPlane(harness.Memory), ClusterAutoscaler(), harness.WithController(engines.HPA(hpa.Defaults())),
			harness.WithObjects(objects...), harness.WithLoad(source), harness.WithFaults(fault))
		Expect(err).NotTo(HaveOccurred())

		Expect(wantedReplicas(report, 14*time.Minute)).To(Equal(60))
		Expect(readyReplicas(report, 14*time.Minute)).To(BeNumerically("<=", 3*7), "three nodes of four cores hold no more of half a core each")
		Expect(report).To(HaveScaledUp(ScaleUps{"workers": 2}))
		Expect(wantedReplicas(report, 39*time.Minute)).To(Equal(2))
		Expect(report).To(LeaveUnschedulable())
	}, SpecTimeout(2*time.Minute))
})
