package scenarios

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
)

// queue is a worker of four replicas on one node, with room for more.
func queue() workload.Script {
	return newService("queue", 40*time.Minute, workload.Pods{Count: 4, CPU: "500m", Memory: "512Mi"}, workload.Group{
		Name: "workers", Machine: workload.Machine{Type: "m5.2xlarge", CPU: "8", Memory: "32Gi"},
		Zone: "z1", Min: 1, Max: 4, Nodes: 1, Delay: time.Minute,
	})
}

// outage is what goes wrong with the metrics of a ScaledObject, and how many replicas there are at some times.
type outage struct {
	// spec is a part of the ScaledObject's, triggers more of them beside the queue's ("backlog", ten for each replica).
	spec, triggers string
	// series are more lines of load; backlog its points.
	series, backlog string
	fault           string
	replicas        map[time.Duration]int
}

func (o outage) play(ctx SpecContext) *scalehist.ReplayReport {
	return played(ctx, Scripted(queue()), ClusterAutoscaler(), harness.WithController(engines.KEDA(hpa.Defaults())), Fault(o.fault),
		objectsOf(`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: web}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web},
		cooldownPeriod: 60, maxReplicaCount: 20, `+o.spec+` triggers: [{type: prometheus, metadata: {query: backlog, threshold: "10"}}`+o.triggers+`]}}`),
		loadOf("series:\n- {workload: ReplicaSet/default/web, metric: backlog, points: ["+o.backlog+"]}\n"+o.series))
}

// wantedReplicas are how many replicas of the service were wanted at an offset.
func wantedReplicas(r *scalehist.ReplayReport, at time.Duration) int {
	wanted := 0
	for _, s := range webOf(r).Replicas {
		if time.Duration(s.Offset) <= at {
			wanted = int(s.Wanted)
		}
	}
	return wanted
}

// Issues of https://github.com/kedacore/keda about what an outage of the metrics does, as the documentation of 2.21 says it should be.
var _ = DescribeTable("KEDA without its metrics", func(ctx SpecContext, o outage) {
	report := o.play(ctx)
	for at, want := range o.replicas {
		Expect(wantedReplicas(report, at)).To(Equal(want), "at %s, of %+v\n%s", at, webOf(report).Replicas, scaledBy(report))
	}
},
	Entry("#1850, #2244: does not scale to zero because nobody answers", SpecTimeout(2*time.Minute), outage{
		spec: "minReplicaCount: 0,", backlog: "{at: 0s, value: 40}", fault: "metrics-down@+10m..",
		replicas: map[time.Duration]int{9 * time.Minute: 4, 39 * time.Minute: 4},
	}),
	Entry("#7239: falls back from zero, with minReplicaCount 0 and the higher of two", SpecTimeout(2*time.Minute), outage{
		spec:    "minReplicaCount: 0, fallback: {failureThreshold: 1, replicas: 3, behavior: currentReplicasIfHigher},",
		backlog: "{at: 0s, value: 0}", fault: "metrics-down@+10m..+20m",
		replicas: map[time.Duration]int{9 * time.Minute: 0, 15 * time.Minute: 3, 35 * time.Minute: 0},
	}),
	Entry("#7411: falls back from idle, where no trigger was active", SpecTimeout(2*time.Minute), outage{
		spec:    "minReplicaCount: 2, idleReplicaCount: 0, fallback: {failureThreshold: 3, replicas: 6},",
		backlog: "{at: 0s, value: 0}", fault: "metrics-down@+10m..",
		replicas: map[time.Duration]int{9 * time.Minute: 0, 11 * time.Minute: 0, 15 * time.Minute: 6, 39 * time.Minute: 6},
	}),
	Entry("#6475: stays where it is while KEDA's own metrics server is away, which no fallback is for", SpecTimeout(2*time.Minute), outage{
		spec:    "minReplicaCount: 1, fallback: {failureThreshold: 1, replicas: 12},",
		backlog: "{at: 0s, value: 40}, {at: 12m, value: 80}", fault: "metrics-down:s0-prometheus@+10m..+30m",
		replicas: map[time.Duration]int{9 * time.Minute: 4, 29 * time.Minute: 4, 39 * time.Minute: 8},
	}),
	Entry("#6659: the fallback does not override what CPU asks for", SpecTimeout(2*time.Minute), outage{
		spec:     "minReplicaCount: 1, fallback: {failureThreshold: 1, replicas: 2},",
		triggers: `, {type: cpu, metadata: {value: "50"}}`,
		series:   "- {workload: ReplicaSet/default/web, metric: cpu, points: [{at: 0s, value: 2}]}\n",
		backlog:  "{at: 0s, value: 40}", fault: "metrics-down:backlog@+10m..",
		replicas: map[time.Duration]int{9 * time.Minute: 8, 39 * time.Minute: 8},
	}),
	Entry("#5666: stands at the fallback, and does not flap", SpecTimeout(2*time.Minute), outage{
		spec:    "minReplicaCount: 1, fallback: {failureThreshold: 3, replicas: 7},",
		backlog: "{at: 0s, value: 40}", fault: "metrics-down@+10m..+30m",
		replicas: map[time.Duration]int{9 * time.Minute: 4, 13 * time.Minute: 7, 17 * time.Minute: 7, 21 * time.Minute: 7, 25 * time.Minute: 7, 29 * time.Minute: 7, 39 * time.Minute: 4},
	}),
	Entry("fails empty: no series are 0, which after the cooldown is zero, unless ignoreNullValues is false", SpecTimeout(2*time.Minute), outage{
		spec: "minReplicaCount: 0,", backlog: "{at: 0s, value: 40}", fault: "metrics-empty@+10m..+20m",
		replicas: map[time.Duration]int{9 * time.Minute: 4, 19 * time.Minute: 0, 39 * time.Minute: 4},
	}),
)

// scaledBy lists the decisions that changed something, for messages.
func scaledBy(r *scalehist.ReplayReport) string {
	var out []string
	for _, d := range r.WorkloadDecisions {
		for _, s := range d.Scales {
			if s.From != s.To || strings.Contains(s.Reason, "fail") {
				out = append(out, time.Duration(d.At.Sub(r.StartTime)).String()+" "+s.By+" "+s.Reason)
			}
		}
	}
	return strings.Join(out, "\n")
}
