package scenarios

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

// morning is a service of two replicas whose load grows from half a core to six within ten minutes, on nodes that take three to come.
func morning() workload.Script {
	return workload.Script{
		Name: "morning", Duration: 40 * time.Minute,
		Groups: []workload.Group{{
			Name: "workers", Machine: workload.Machine{Type: "m5.xlarge", CPU: "4", Memory: "16Gi"},
			Zone: "z1", Min: 1, Max: 10, Nodes: 1, Delay: 3 * time.Minute,
		}},
		Steps: []workload.Step{{At: 5 * time.Second, Add: workload.Pods{Workload: "web", Count: 2, CPU: "500m", Memory: "512Mi"}}},
	}
}

// scaledAt runs the horizontal pod autoscaler on the morning, with a target utilization in percent.
func scaledAt(percent int) []harness.Option {
	objects, err := engines.ParseObjects([]byte(fmt.Sprintf(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {
		scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, minReplicas: 2, maxReplicas: 40,
		metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: %d}}}]}}`, percent)))
	Expect(err).NotTo(HaveOccurred())
	ramp, err := load.Parse([]byte("series: [{workload: ReplicaSet/default/web, metric: cpu, points: [{at: 0s, value: 500m}, {at: 10m, value: 6, over: 10m}]}]"))
	Expect(err).NotTo(HaveOccurred())
	return []harness.Option{
		ClusterAutoscaler(),
		harness.With(func(s *harness.Settings) { s.Name = fmt.Sprintf("morning at %d %%", percent) }),
		harness.WithController(engines.HPA(hpa.Defaults())), harness.WithObjects(objects...), harness.WithLoad(ramp),
	}
}

// webOf is the result of the service.
func webOf(r *scalehist.ReplayReport) scalehist.WorkloadResult {
	i := slices.IndexFunc(r.Workloads, func(w scalehist.WorkloadResult) bool { return w.Name == "web" })
	Expect(i).To(BeNumerically(">=", 0), "the report has no workload web")
	return r.Workloads[i]
}

var _ = Describe("The horizontal pod autoscaler", func() {
	It("outruns nodes that take three minutes to come", func(ctx SpecContext) {
		report := Replay(ctx, Scripted(morning()), scaledAt(50)...)

		web := webOf(report)
		Expect(web.Final).To(BeEquivalentTo(24), "six cores at half of 500m each")
		Expect(web.Replicas).To(ContainElement(HaveField("Ready", BeNumerically("<", 10))))
		Expect(report).To(LeaveUnschedulable())
		Expect(report.Pending.Max).To(BeNumerically(">=", 180), "no pod waited for a node")
		Expect(report).To(MatchGolden("testdata/morning-hpa-50.txt"))
	}, SpecTimeout(2*time.Minute))

	It("needs fewer nodes at 70 % than at 50 %, which wait less", func(ctx SpecContext) {
		at50 := Replay(ctx, Scripted(morning()), scaledAt(50)...)
		at70 := Replay(ctx, Scripted(morning()), scaledAt(70)...)

		Expect(webOf(at70).Final).To(BeNumerically("<", webOf(at50).Final))
		Expect(at70.ScaledUpNodeGroups["workers"]).To(BeNumerically("<", at50.ScaledUpNodeGroups["workers"]))
		Expect(at70.Pending.PodSeconds).To(BeNumerically("<", at50.Pending.PodSeconds))
	}, SpecTimeout(2*time.Minute))
})
