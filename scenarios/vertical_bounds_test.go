package scenarios

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/report/metrics"
)

// service is a ReplicaSet web of two pods, of one core and one gibibyte each, on a node of four cores.
func service(name string, length time.Duration) workload.Script {
	return workload.Script{
		Name: name, Duration: length, Groups: []workload.Group{std4(1, 4)},
		Standing: []workload.Standing{{Node: "workers-0", Pods: workload.Pods{Workload: "web", Count: 2, CPU: "1", Memory: "1Gi"}}},
	}
}

// amount reads an amount of a resource, or a range.
func amount(text string) Amount {
	a, err := ParseAmount(text)
	Expect(err).NotTo(HaveOccurred())
	return a
}

func exactly(n int) *Count { return ptr.To(Exactly(n)) }

// metricOf is a number of a report.
func metricOf(r *scalehist.ReplayReport, name string) float64 {
	for _, v := range metrics.Of(r) {
		if v.Name == name && v.Value != nil {
			return *v.Value
		}
	}
	Fail("the report has no " + name)
	return 0
}

// room is how many times the target of CPU the upper bound was, when it was recommended.
type room struct {
	at    time.Duration
	times float64
}

func roomsOf(r *scalehist.ReplayReport) []room {
	var out []room
	for _, d := range r.WorkloadDecisions {
		for _, s := range d.Resizes {
			if s.Action == scalehist.Recommended {
				c := s.Containers[0]
				out = append(out, room{d.At.Sub(r.StartTime), c.Upper.Cpu().AsApproximateFloat64() / c.To.Cpu().AsApproximateFloat64()})
			}
		}
	}
	return out
}

// hourly are points (YAML) of a value, with another one for the first five minutes of each hour.
func hourly(hours int, value, peak string) string {
	var points []string
	for at := time.Duration(0); at < time.Duration(hours)*time.Hour; at += time.Hour {
		points = append(points, fmt.Sprintf("{at: %s, value: %s}, {at: %s, value: %s}", at, peak, at+5*time.Minute, value))
	}
	return strings.Join(points, ", ")
}

// Days of virtual time are played in memory: what is recommended is the same on both planes, which shorter specs compare.
var _ = Describe("The vertical pod autoscaler", func() {
	It("leaves less room above its target with each day that it has seen", unraced, func(ctx SpecContext) {
		report := played(ctx, Scripted(service("confidence", 4*24*time.Hour)), sized("confidence", `"Off"`, "", `
			{workload: ReplicaSet/default/web, metric: cpu, points: [{at: 0s, value: 100m}, {at: 24h, value: 200m}, {at: 48h, value: 300m}, {at: 72h, value: 400m}]}`)...)

		rooms := roomsOf(report)
		Expect(rooms[1:]).To(HaveLen(3), "one more at each step of the load")
		for _, r := range rooms[1:] {
			Expect(r.times).To(BeNumerically("~", 1+1/r.at.Hours()*24, 0.01), "after %s", r.at)
		}
		Expect(rooms[0].times).To(BeNumerically(">", 1e6), "a minute says nothing of what is too much")
	}, SpecTimeout(2*time.Minute))

	It("leaves more room where there is little traffic", func(ctx SpecContext) {
		work := func(requests string) room {
			options := append(sized("traffic", `"Off"`, "", `
				{workload: ReplicaSet/default/web, metric: cpu, sharing: each, points: [{at: 0s, value: 100m}, {at: 6h, value: 300m}]},
				{workload: ReplicaSet/default/web, metric: requests, sharing: held, hold: 2m, points: [`+requests+`]}`),
				harness.WithController(engines.Elasti()), objectsOf(`{apiVersion: elasti.truefoundry.com/v1alpha1, kind: ElastiService, metadata: {name: web}, spec: {service: web,
				scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, minTargetReplicas: 1, cooldownPeriod: 60, triggers: [{type: prometheus, metadata: {query: requests, threshold: "1"}}]}}`))
			return last(roomsOf(played(ctx, Scripted(service("traffic", 8*time.Hour)), options...)))
		}
		always, seldom := work("{at: 0s, value: 10}"), work(hourly(8, "0", "10"))

		Expect(always.times).To(BeNumerically("~", 1+1/always.at.Hours()*24, 0.02))
		Expect(seldom.times).To(BeNumerically("~", 1+24*60/39., 0.1), "after six hours it was measured in 39 minutes: five or six of each, two pods in the first")
	}, SpecTimeout(2*time.Minute))

	It("that is set to the least slack gets it, and loses in the report by its OOM kills", func(ctx SpecContext) {
		tuned := func(flags ...string) *scalehist.ReplayReport {
			script := service("slack", 6*time.Hour)
			script.Standing[0].Pods.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
			return played(ctx, Scripted(script), sized("slack", "Recreate", "", `
				{workload: ReplicaSet/default/web, metric: cpu, points: [{at: 0s, value: 500m}]},
				{workload: ReplicaSet/default/web, metric: memory, points: [`+hourly(6, "200Mi", "800Mi")+`]}`, append(flags, "in-recommendation-bounds-eviction-lifetime-threshold=1h")...)...)
		}
		// What it knows of an hour is the median of ten minutes' peaks, and a kill adds nothing to it.
		seeing, blind := tuned(), tuned("memory-aggregation-interval=10m", "target-memory-percentile=0.5", "oom-bump-up-ratio=1", "oom-min-bump-up-bytes=0")

		Expect(metricOf(blind, "slack.usage.memory")).To(BeNumerically("<", metricOf(seeing, "slack.usage.memory")/4))
		Expect(seeing).To(KeepMetric("oom.kills", "<= 0"))
		Expect(blind).To(KeepMetric("oom.kills", ">= 50"), "each pod is killed again and again in each of five peaks")
	}, SpecTimeout(2*time.Minute))

	It("asks for no more than a LimitRange lets containers have", func(ctx SpecContext) {
		script := service("limit-range", time.Hour)
		script.Standing[0].Pods.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		report := Replay(ctx, Scripted(script), append(sized("limit-range", "Recreate", "", `
			{workload: ReplicaSet/default/web, metric: cpu, points: [{at: 0s, value: 4}]}`),
			objectsOf(`{apiVersion: v1, kind: LimitRange, metadata: {name: caps}, spec: {limits: [{type: Container, max: {cpu: 2400m}}]}}`))...)

		Expect(last(resizesOf(report, scalehist.Recommended)).Containers[0].To.Cpu().MilliValue()).To(BeNumerically("~", 2400, 100), "two of the four cores that there are to use, and a margin")
		Expect(report).To(HaveReplicas(map[string]Replicas{"web": {SizedBy: "vpa", Evicted: exactly(2), Requests: Requests{"c": {corev1.ResourceCPU: amount("1200m")}}}}), "limits are twice the requests")
	}, SpecTimeout(2*time.Minute))

	It("moves a noisy neighbour to a node of its own, and leaves the service beside it alone", func(ctx SpecContext) {
		script := service("noisy", time.Hour)
		script.Standing = append(script.Standing, workload.Standing{Node: "workers-0", Pods: workload.Pods{Workload: "noisy", Count: 2, CPU: "200m", Memory: "1Gi"}})
		report := Replay(ctx, Scripted(script), append(sized("noisy", "Recreate", "", `
			{workload: ReplicaSet/default/web, metric: cpu, points: [{at: 0s, value: 1700m}]},
			{workload: ReplicaSet/default/web, metric: memory, points: [{at: 0s, value: 850Mi}]},
			{workload: ReplicaSet/default/noisy, metric: cpu, sharing: each, points: [{at: 0s, value: 1600m}]}`),
			objectsOf(`{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: noisy}, spec: {
			targetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: noisy}, updatePolicy: {updateMode: Recreate}}}`))...)

		Expect(report).To(HaveReplicas(map[string]Replicas{
			"web":   {Evicted: exactly(0), Requests: Requests{"c": {corev1.ResourceCPU: amount("1")}}},
			"noisy": {Evicted: exactly(2), Requests: Requests{"c": {corev1.ResourceCPU: amount(">= 1500m")}}},
		}))
		Expect(report).To(KeepMetric("overrun.cpu", "<= 0.25"), "of 2.6 that they would use in the hour beyond what they ask for")
		Expect(report).To(HaveScaledUp(ScaleUps{"workers": 1}))
	}, SpecTimeout(2*time.Minute))
})
