package scenarios

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

// scaled runs the horizontal pod autoscaler on morning-ramp, whose own has a target of 50 %, with a target utilization in percent.
func scaled(percent int32) []harness.Option {
	return []harness.Option{
		ClusterAutoscaler(),
		harness.With(func(s *harness.Settings) {
			s.Name = fmt.Sprintf("morning at %d %%", percent)
			s.ProvisionDelay = ptr.To(3 * time.Minute) // which a recording without a new node does not show
		}),
		harness.WithController(func(env harness.ControllerEnv) (scalehist.Controller, error) {
			for i, o := range env.Objects {
				if recorded, ok := o.(*autoscalingv2.HorizontalPodAutoscaler); ok {
					other := recorded.DeepCopy()
					other.Spec.Metrics[0].Resource.Target.AverageUtilization = &percent
					env.Objects[i] = other
				}
			}
			return engines.HPA(hpa.Defaults())(env)
		}),
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
		report := Replay(ctx, Recording("morning-ramp"), scaled(50)...)

		web := webOf(report)
		Expect(web.Final).To(BeEquivalentTo(24), "six cores at half of 500m each")
		Expect(web.Replicas).To(ContainElement(HaveField("Ready", BeNumerically("<", 10))))
		Expect(report).To(LeaveUnschedulable())
		Expect(report.Pending.Max).To(BeNumerically(">=", 180), "no pod waited for a node")
		Expect(report).To(MatchGolden(golden("morning-ramp")))
	}, SpecTimeout(2*time.Minute))

	It("needs fewer nodes at 70 % than at 50 %, which wait less", func(ctx SpecContext) {
		at50 := Replay(ctx, Recording("morning-ramp"), scaled(50)...)
		at70 := Replay(ctx, Recording("morning-ramp"), scaled(70)...)

		Expect(webOf(at70).Final).To(BeNumerically("<", webOf(at50).Final))
		Expect(at70.ScaledUpNodeGroups["workers"]).To(BeNumerically("<", at50.ScaledUpNodeGroups["workers"]))
		Expect(at70.Pending.PodSeconds).To(BeNumerically("<", at50.Pending.PodSeconds))
	}, SpecTimeout(2*time.Minute))
})
