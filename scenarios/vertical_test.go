package scenarios

import (
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// std4 is a group of machines of four cores.
func std4(nodes, most int) workload.Group {
	return workload.Group{
		Name: "workers", Machine: workload.Machine{Type: "m5.xlarge", CPU: "4", Memory: "16Gi"}, Zone: "z1", Min: 1, Max: most, Nodes: nodes, Delay: 2 * time.Minute,
	}
}

// sized runs the Vertical Pod Autoscaler, with its flags, on the ReplicaSet web with a load (YAML), in a mode.
func sized(name, mode, more, series string, flags ...string) []harness.Option {
	f, err := vpa.ParseFlags(flags)
	Expect(err).NotTo(HaveOccurred())
	return []harness.Option{
		ClusterAutoscaler(),
		harness.With(func(s *harness.Settings) { s.Name = name }),
		harness.WithController(engines.VPA(f)),
		objectsOf(fmt.Sprintf(`{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: web}, spec: {
			targetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, updatePolicy: {updateMode: %s}%s}}`, mode, more)),
		loadOf("series: [" + series + "]"),
	}
}

// resizesOf are what was decided about requests.
func resizesOf(r *scalehist.ReplayReport, action scalehist.ResizeAction) []scalehist.WorkloadResize {
	var out []scalehist.WorkloadResize
	for _, d := range r.WorkloadDecisions {
		for _, s := range d.Resizes {
			if s.Action == action {
				out = append(out, s)
			}
		}
	}
	return out
}

var _ = Describe("The vertical pod autoscaler", func() {
	It("shrinks a service that asks for five times what it uses, and two nodes are removed", func(ctx SpecContext) {
		report := Replay(ctx, Recording("over-requested"), ClusterAutoscaler(), harness.WithController(engines.VPA(vpa.DefaultFlags())))

		every, none := Exactly(12), Exactly(0)
		Expect(report).To(HaveReplicas(map[string]Replicas{"web": {
			SizedBy: "vpa", Evicted: &every, OOMKills: &none,
			Requests:     Requests{"c": {corev1.ResourceCPU: amount("<= 300m"), corev1.ResourceMemory: amount("400Mi..600Mi")}},
			PeakRequests: Requests{"c": {corev1.ResourceCPU: amount("1"), corev1.ResourceMemory: amount("1Gi")}},
		}}), "every replica is evicted once, and asks for what it uses and a margin")
		Expect(report).To(KeepMetric("recommendation.quality.cpu", ">= 90%"))
		Expect(report.ScaledDownNodeGroups["workers"]).To(BeNumerically(">=", 2))
		Expect(slices.ContainsFunc(resizesOf(report, scalehist.Evicted), func(r scalehist.WorkloadResize) bool { return r.Error != "" })).To(BeFalse())
		Expect(report).To(MatchGolden(golden("over-requested")))
	}, SpecTimeout(2*time.Minute))

	It("lets a leak run out of memory until what it asks for has caught up", func(ctx SpecContext) {
		limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")}
		leak := newService("leak", 4*time.Hour, workload.Pods{Count: 2, CPU: "100m", Memory: "256Mi", Limits: limits}, std4(1, 3))
		report := Replay(ctx, Scripted(leak), sized("leak", "Recreate", "", `
			{workload: ReplicaSet/default/web, metric: cpu, points: [{at: 0s, value: 100m}]},
			{workload: ReplicaSet/default/web, metric: memory, sharing: aged, points: [{at: 0s, value: 200Mi}, {at: 20s, value: 900Mi, over: 90s}]}`)...)

		web := webOf(report)
		Expect(len(web.OOMKills)).To(BeNumerically(">=", 2), "512 MiB are reached within a minute")
		Expect(web.OOMKills[0].Limit).To(BeEquivalentTo(512 << 20))
		Expect(time.Duration(last(web.OOMKills).Offset)).To(BeNumerically("<", 2*time.Hour), "the last kill")
		Expect(last(web.Requests).Memory).To(BeNumerically(">=", 2*500<<20), "two replicas whose limit is twice the request have 1000 MiB")
		Expect(resizesOf(report, scalehist.Evicted)).To(ContainElement(HaveField("Reason", string(vpa.QuickOOM))), "no eviction was for a quick end")
		Expect(report).To(MatchGolden("testdata/leak.txt"))
	}, SpecTimeout(2*time.Minute))

	It("evicts no faster than a budget allows while nodes are drained", func(ctx SpecContext) {
		report := Replay(ctx, Recording("guarded-requests"), ClusterAutoscaler(), harness.WithController(engines.VPA(vpa.DefaultFlags())))

		evicted, refused := evictionsOf(report)
		Expect(webOf(report).Evicted).To(BeEquivalentTo(9))
		Expect(evicted).To(HaveEach(1), "the budget lets one pod go at a time, and it is back within the minute")
		Expect(refused).To(BeNumerically(">", 0), "the updater would have evicted four at once")
		Expect(report.ScaledDownNodeGroups["workers"]).To(BeNumerically(">=", 1))
		Expect(report).To(MatchGolden(golden("guarded-requests")))
	}, SpecTimeout(2*time.Minute))

	It("and the horizontal one work on one workload by different metrics", func(ctx SpecContext) {
		queue := newService("queue", 14*time.Hour, workload.Pods{Count: 4, CPU: "1", Memory: "2Gi"}, std4(3, 8))
		report := Replay(ctx, Scripted(queue), append(sized("queue", "Recreate", "", `
			{workload: ReplicaSet/default/web, metric: cpu, points: [{at: 0s, value: 800m}]},
			{workload: ReplicaSet/default/web, metric: memory, points: [{at: 0s, value: 300Mi}]},
			{workload: ReplicaSet/default/web, metric: messages, sharing: external, points: [{at: 0s, value: 120}, {at: 9h, value: 300}, {at: 12h, value: 60}]}`),
			harness.WithController(engines.HPA(hpa.Defaults())), objectsOf(`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {
			scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, minReplicas: 2, maxReplicas: 30,
			metrics: [{type: External, external: {metric: {name: messages}, target: {type: AverageValue, averageValue: "30"}}}]}}`))...)

		web := webOf(report)
		Expect(web.Peak).To(BeEquivalentTo(10), "300 messages at 30 each")
		Expect(web.Final).To(BeEquivalentTo(2), "60 messages at 30 each")
		Expect(last(web.Requests).CPU).To(BeNumerically("<", 1), "two replicas of what they use")
		Expect(report.Warnings).NotTo(ContainElement(ContainSubstring("undoes what the other does")))
		Expect(report).To(MatchGolden("testdata/queue-vpa-hpa.txt"))
	}, SpecTimeout(2*time.Minute))
})

// evictionsOf counts the pods that were evicted, by when, and the evictions that were refused.
func evictionsOf(r *scalehist.ReplayReport) (evicted map[scalehist.Duration]int, refused int) {
	evicted = map[scalehist.Duration]int{}
	for _, d := range r.WorkloadDecisions {
		for _, s := range d.Resizes {
			switch {
			case s.Action != scalehist.Evicted:
			case s.Error != "":
				refused++
			default:
				evicted[scalehist.Duration(d.At.Sub(r.StartTime))]++
			}
		}
	}
	return evicted, refused
}
