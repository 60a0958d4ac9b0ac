package scenarios

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// tightFit is a node of four cores with half of them free, and a service of one core that comes after ten seconds and takes half a minute to be
// Ready. The autoscaler has its defaults: what was unneeded for ten minutes is removed. There is room for one node more: with room for two it
// asks for two each time, because it counts the node that is being deleted as one that is there.
func tightFit(web workload.Pods, flags ...string) workload.Script {
	web.Workload, web.Count, web.CPU, web.Memory, web.StartUp = "web", 1, "1", "1Gi", 30*time.Second
	return workload.Script{
		Name: "startup-boost", Duration: 2 * time.Hour, Groups: []workload.Group{std4(1, 2)},
		Flags:    flags,
		Standing: []workload.Standing{{Node: "workers-0", Pods: workload.Pods{Workload: "db", Count: 2, CPU: "1", Memory: "2Gi"}}},
		Steps:    []workload.Step{{At: 10 * time.Second, Add: web}},
	}
}

// boosted gives the service three times its CPU at its start, until it has been Ready for a minute, and changes nothing of it otherwise.
func boosted(flags ...string) []harness.Option {
	f, err := vpa.ParseFlags(append([]string{"feature-gates=CPUStartupBoost=true"}, flags...))
	Expect(err).NotTo(HaveOccurred())
	return []harness.Option{
		ClusterAutoscaler(), harness.WithController(engines.VPA(f)),
		objectsOf(`{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: web}, spec: {
			targetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, updatePolicy: {updateMode: "Off"},
			startupBoost: {cpu: {type: Factor, factor: 3, durationSeconds: 60}}}}`),
		loadOf("series: [{workload: ReplicaSet/default/web, metric: cpu, points: [{at: 0s, value: 600m}]}]"),
	}
}

// boostsOf are the start-up boosts that ended.
func boostsOf(r *scalehist.ReplayReport) []scalehist.WorkloadResize {
	var out []scalehist.WorkloadResize
	for _, s := range resizesOf(r, scalehist.Resized) {
		if s.Reason == string(vpa.BoostEnds) {
			out = append(out, s)
		}
	}
	return out
}

// The loop of Karpenter's design of in-place resizes (kubernetes-sigs/karpenter#3037): who removes nodes simulates the pod with the request that it has now,
// and it comes back with the one that it starts with.
var _ = Describe("A start-up boost that needs a node of its own", func() {
	It("never settles: the node is removed when the boost has ended, and brought again by the pod that was on it", func(ctx SpecContext) {
		report := Replay(ctx, Scripted(tightFit(workload.Pods{})), boosted()...)

		rounds := int(report.ScaledDownNodeGroups["workers"])
		Expect(rounds).To(Equal(8), "every 14 minutes: a node comes, the pod starts, its boost ends, the node was unneeded for ten")
		Expect(report.ScaledUpNodeGroups["workers"]).To(BeEquivalentTo(rounds+1), "each removal brings a node")
		Expect(boostsOf(report)).To(HaveLen(rounds+1), "and each pod that comes back is boosted")
		Expect(report).To(MatchGolden("testdata/startup-boost.txt"))
	}, SpecTimeout(2*time.Minute))

	DescribeTable("settles", func(ctx SpecContext, web workload.Pods, autoscaler, vertical []string, nodes int) {
		report := Replay(ctx, Scripted(tightFit(web, autoscaler...)), boosted(vertical...)...)

		Expect(boostsOf(report)).To(HaveLen(1), "the first pod is the last")
		Expect(report).To(HaveScaledUp(ScaleUps{"workers": nodes - 1}))
		Expect(report).To(HaveScaledDown(ScaleDowns{}))
		Expect(report).To(LeaveUnschedulable())
	},
		// Boosted to 1.9 of the 1.92 cores that are free: the pod starts where it is to stay, and there is no node to remove. The only one of the three
		// that costs nothing but a slower start. Clouds do the same on their own where a boost does not fit (GKE limits it to the node).
		Entry("with a boost within the room of the node that is there", workload.Pods{}, nil, []string{"max-allowed-cpu-boost=1900m"}, 1, SpecTimeout(2*time.Minute)),
		// A core of 3.92 is 26 %, and no longer less than what makes a node a candidate. The second node stays for good.
		Entry("with a threshold below what the pod uses of its node", workload.Pods{}, []string{"--scale-down-utilization-threshold=0.2"}, nil, 2, SpecTimeout(2*time.Minute)),
		// The node is a candidate still, and may not be drained. The second node stays for good, too, but other nodes are removed as before.
		Entry("with pods that are not to be moved", workload.Pods{SafeToEvict: "false"}, nil, nil, 2, SpecTimeout(2*time.Minute)),
	)
})
