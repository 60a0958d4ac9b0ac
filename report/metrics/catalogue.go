package metrics

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

type duration = time.Duration

// The sources of definitions.
const (
	specRG   = "SPEC RG elasticity metrics (Herbst et al., ACM TOMPECS 2018)"
	practice = "practice"
	trace    = "scheduler traces: scheduled minus created, per pod"
)

// catalogue are all metrics, in the order of tables.
var catalogue = []Metric{
	{Name: "nodes.scaled-up", Title: "nodes scaled up", Unit: "nodes", Whole: true, Better: Neither, Total: Sum,
		Definition: "Nodes by which target sizes grew, all granted steps together.", Formula: "sum over groups and steps of max(0, to - from)", Source: practice,
		of: func(m *measured) (float64, string) { return float64(sum(m.r.ScaledUpNodeGroups)), "" }},
	{Name: "nodes.scaled-down", Title: "nodes scaled down", Unit: "nodes", Whole: true, Better: Neither, Total: Sum,
		Definition: "Nodes by which target sizes shrank, all granted steps together.", Formula: "sum over groups and steps of max(0, from - to)", Source: practice,
		of: func(m *measured) (float64, string) { return float64(sum(m.r.ScaledDownNodeGroups)), "" }},
	{Name: "nodes.final", Title: "nodes at the end", Unit: "nodes", Whole: true, Better: Neither, Total: Sum,
		Definition: "Sum of the target sizes at the end.", Formula: "sum over groups of size(T)", Source: practice,
		of: timed(func(m *measured) (float64, string) { return m.targets.at(m.length), "" })},
	{Name: "nodes.peak", Title: "most nodes at once", Unit: "nodes", Whole: true, Better: Less, Total: Largest,
		Definition: "The largest sum of the target sizes at any instant.", Formula: "max over t of sum over groups of size(t)", Source: practice,
		of: timed(func(m *measured) (float64, string) { return m.targets.Max(), "" })},
	{Name: "nodes.mean", Title: "nodes on average", Unit: "nodes", Better: Less, Total: NoTotal,
		Definition: "Sum of the target sizes, averaged over time.", Formula: "1/T * integral of sum over groups of size(t) dt", Source: practice,
		of: timed(func(m *measured) (float64, string) {
			return m.targets.integral(m.length, same) / m.length.Hours(), ""
		})},
	{Name: "node-hours", Title: "node hours", Unit: "node-hours", Better: Less, Total: Sum,
		Definition: "Time of all nodes from joining Ready to being gone, those outside every group included.", Formula: "sum over nodes of (gone - ready), within the replay", Source: practice,
		of: timed(func(m *measured) (float64, string) { return hours(m.nodes), "" })},
	{Name: "pod-hours", Title: "scheduled pod hours", Unit: "pod-hours", Better: More, Total: Sum,
		Definition: "Time that workload pods had a node: what the nodes were for. DaemonSet and static pods are left out.", Formula: "integral of (pods(t) - unschedulable(t) - held back(t)) dt", Source: practice,
		of: timed(podHours)},
	{Name: "pending.pods", Title: "pods that waited", Unit: "pods", Whole: true, Better: Less, Total: Sum,
		Definition: "Pods that did not get a node in the step that fed them in.", Formula: "count of pods with wait > 0, or without a node at the end", Source: trace,
		of: timed(func(m *measured) (float64, string) { return float64(m.r.Pending.Pods), "" })},
	{Name: "pending.pod-seconds", Title: "pod seconds pending", Unit: Seconds, Better: Less, Total: Sum,
		Definition: "All waits for a node together, to the end of the replay for pods that got none.", Formula: "sum over pods of wait", Source: trace,
		of: timed(func(m *measured) (float64, string) { return m.r.Pending.PodSeconds, "" })},
	{Name: "pending.p50", Title: "wait of a pod, median", Unit: Seconds, Better: Less, Total: NoTotal,
		Definition: "Half of the pods that were fed in, or lost their node, waited this long or less. A pod that still waits counts with its wait so far.", Formula: "nearest-rank 50th percentile of wait", Source: trace,
		of: timed(func(m *measured) (float64, string) { return m.r.Pending.P50, "" })},
	{Name: "pending.p95", Title: "wait of a pod, 95th percentile", Unit: Seconds, Better: Less, Total: NoTotal,
		Definition: "95 in 100 pods waited this long or less.", Formula: "nearest-rank 95th percentile of wait", Source: trace,
		of: timed(func(m *measured) (float64, string) { return m.r.Pending.P95, "" })},
	{Name: "pending.p99", Title: "wait of a pod, 99th percentile", Unit: Seconds, Better: Less, Total: NoTotal,
		Definition: "99 in 100 pods waited this long or less.", Formula: "nearest-rank 99th percentile of wait", Source: trace,
		of: timed(func(m *measured) (float64, string) {
			if m.r.Pending.P99 == nil {
				return 0, "the report does not have it"
			}
			return *m.r.Pending.P99, ""
		})},
	{Name: "pending.max", Title: "longest wait of a pod", Unit: Seconds, Better: Less, Total: Largest,
		Definition: "Time from the step that fed a pod in, or took its node, to its binding or the end; that of the pod that waited longest.", Formula: "max over pods of wait", Source: trace,
		of: timed(func(m *measured) (float64, string) { return m.r.Pending.Max, "" })},
	{Name: "pending.at-end", Title: "pods still waiting at the end", Unit: "pods", Whole: true, Better: Less, Total: Sum,
		Definition: "Pods fed in, or that lost their node, without a node when the replay ends.", Formula: "count of pods without a node at T", Source: trace,
		of: timed(func(m *measured) (float64, string) { return float64(m.r.Pending.StillWaiting), "" })},
	{Name: "unschedulable", Title: "unschedulable at the end", Unit: "pods", Whole: true, Better: Less, Total: Sum,
		Definition: "Pods that the scheduler finds no node for when the replay ends.", Formula: "count of unschedulable pods at T", Source: practice,
		of: timed(func(m *measured) (float64, string) { return float64(len(m.r.UnschedulableAtEnd)), "" })},
	{Name: "under.accuracy", Title: "under-provisioning accuracy", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "Share of the pods that had no node, averaged over time. Demand is counted in workload pods, supply in those that have a node.", Formula: "100/T * integral of unschedulable(t) / pods(t) dt; 0 where there are no pods", Source: specRG + ", with pods as the unit",
		of: timed(underAccuracy)},
	{Name: "under.timeshare", Title: "under-provisioning timeshare", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "Share of the time in which at least one pod had no node.", Formula: "100/T * integral of (1 if unschedulable(t) > 0) dt", Source: specRG + ", with pods as the unit",
		of: timed(func(m *measured) (float64, string) {
			return 100 * m.short.integral(m.length, func(v float64) float64 { return min(1, v) }) / m.length.Hours(), ""
		})},
	{Name: "over.accuracy.cpu", Title: "over-provisioning accuracy, CPU", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "CPU of nodes beyond what pods ask for, as a share of what they ask for, averaged over time.", Formula: "100/T * integral of max(s - d, 0) / d dt; s: allocatable of Ready nodes without DaemonSet and static pods, d: requests of workload pods", Source: specRG + ", with cores as the unit",
		of: overProvisioning(corev1.ResourceCPU)},
	{Name: "over.accuracy.memory", Title: "over-provisioning accuracy, memory", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "Memory of nodes beyond what pods ask for, as a share of what they ask for, averaged over time.", Formula: "as over.accuracy.cpu", Source: specRG + ", with GiB as the unit",
		of: overProvisioning(corev1.ResourceMemory)},
	{Name: "slack.cpu", Title: "CPU nobody asked for", Unit: "core-hours", Better: Less, Total: Sum,
		Definition: "CPU of nodes beyond what pods ask for, summed over time.", Formula: "integral of max(s - d, 0) dt", Source: "absolute slack (Autopilot, EuroSys 2020), of nodes",
		of: slack(corev1.ResourceCPU)},
	{Name: "slack.memory", Title: "memory nobody asked for", Unit: "GiB-hours", Better: Less, Total: Sum,
		Definition: "Memory of nodes beyond what pods ask for, summed over time.", Formula: "as slack.cpu", Source: "absolute slack (Autopilot, EuroSys 2020), of nodes",
		of: slack(corev1.ResourceMemory)},
	{Name: "slack.relative.cpu", Title: "share of CPU nobody asked for", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "CPU of nodes beyond what pods ask for, as a share of what nodes have for them, averaged over time. Defined where there is no demand, unlike over.accuracy.", Formula: "100/T * integral of max(s - d, 0) / s dt; 0 where there are no nodes", Source: "relative slack (Autopilot, EuroSys 2020), of nodes",
		of: relativeSlack(corev1.ResourceCPU)},
	{Name: "slack.relative.memory", Title: "share of memory nobody asked for", Unit: Percent, Better: Less, Total: NoTotal,
		Definition: "Memory of nodes beyond what pods ask for, as a share of what nodes have for them, averaged over time. Defined where there is no demand, unlike over.accuracy.", Formula: "as slack.relative.cpu", Source: "relative slack (Autopilot, EuroSys 2020), of nodes",
		of: relativeSlack(corev1.ResourceMemory)},
	{Name: "utilization.cpu", Title: "CPU utilisation", Unit: Percent, Better: More, Total: NoTotal,
		Definition: "CPU that workload pods ask for, of what nodes have for them, over the whole time. Requests, not usage.", Formula: "100 * integral of min(s, d) dt / integral of s dt", Source: practice,
		of: utilization(corev1.ResourceCPU)},
	{Name: "utilization.memory", Title: "memory utilisation", Unit: Percent, Better: More, Total: NoTotal,
		Definition: "Memory that workload pods ask for, of what nodes have for them, over the whole time. Requests, not usage.", Formula: "as utilization.cpu", Source: practice,
		of: utilization(corev1.ResourceMemory)},
	{Name: "churn.steps", Title: "sum of size changes", Unit: "nodes", Whole: true, Better: Less, Total: Sum,
		Definition: "Nodes by which target sizes changed, up and down together.", Formula: "sum over groups and steps of |to - from|", Source: practice,
		of: timed(func(m *measured) (float64, string) { return churn(m.r), "" })},
	{Name: "churn.reversals", Title: "changes of direction", Unit: "swings", Whole: true, Better: Less, Total: Sum,
		Definition: "How often a node group shrank after it had grown, or grew after it had shrunk.", Formula: "sum over groups of sign changes between successive steps", Source: "instability as a count of reversals (Herbst et al.)",
		of: timed(func(m *measured) (float64, string) { return reversals(m.r), "" })},
	{Name: "churn.node-starts", Title: "node starts per hour", Unit: "1/h", Better: Less, Total: NoTotal,
		Definition: "Nodes that joined because of a scale-up, per hour of the replay.", Formula: "nodes joined / T", Source: practice,
		of: timed(func(m *measured) (float64, string) {
			return float64(len(m.r.ScaledUpNodes)) / m.length.Hours(), ""
		})},
	{Name: "churn.moved-pods", Title: "pods that lost their node", Unit: "pods", Whole: true, Better: Less, Total: Sum,
		Definition: "How often a pod was evicted, preempted or lost its node, and came back to wait for another.", Formula: "sum over steps of returned pods", Source: practice,
		of: timed(func(m *measured) (float64, string) {
			n := 0
			for _, b := range m.r.Batches {
				n += len(b.Returned)
			}
			return float64(n), ""
		})},
	{Name: "scale-ups.failed", Title: "scale-ups refused", Unit: "requests", Whole: true, Better: Less, Total: Sum,
		Definition: "Growths that were asked for and that the cloud provider refused or did not deliver.", Formula: "count of failed scale-ups in decisions", Source: practice,
		of: func(m *measured) (float64, string) {
			n := 0
			for _, d := range m.r.Decisions {
				n += len(d.Failed)
			}
			return float64(n), ""
		}},
	{Name: "cost", Title: "cost", Unit: Currency, Better: Less, Total: Sum,
		Definition: "Price of all node time, from Ready to gone. Pods that are left pending make it smaller: read it beside them, and beside cost.per-pod-hour.", Formula: "sum over nodes of price * (gone - ready)", Source: practice,
		of: cost},
	{Name: "cost.per-pod-hour", Title: "cost per scheduled pod hour", Unit: Currency, Better: Less, Total: NoTotal,
		Definition: "What an hour of a pod with a node cost. It does not fall because pods are left out.", Formula: "cost / pod-hours", Source: practice,
		of: timed(costPerPodHour)},
	{Name: "recorded.groups-differing", Title: "node groups not as recorded", Unit: "groups", Whole: true, Better: Less, Total: Sum,
		Definition: "Node groups that grew or shrank by another number of nodes than was recorded, all granted steps together.", Formula: "count of groups with (scaled up, scaled down) != recorded (scaled up, scaled down)", Source: "the report's verdict",
		of: func(m *measured) (float64, string) {
			if m.r.Agreement == nil {
				return 0, "nothing was recorded to agree with"
			}
			return float64(groupsDiffering(m.r.Agreement)), ""
		}},
	{Name: "recorded.questions-differing", Title: "questions answered otherwise", Unit: "questions", Whole: true, Better: Less, Total: Sum,
		Definition: "Questions of the verdict in which the replay differs from the recording: scaled-up, scaled-down, unschedulable, peak-size, steps and waits.", Formula: "count of questions answered \"differs\"", Source: "the report's verdict",
		of: func(m *measured) (float64, string) {
			if m.r.Agreement == nil {
				return 0, "nothing was recorded to agree with"
			}
			return float64(len(m.r.Agreement.Differing())), ""
		}},
	{Name: "truth.differing", Title: "not as the real autoscaler was seen", Unit: "", Whole: true, Better: Less, Total: Sum,
		Definition: "1 when the replay is none of what a real autoscaler was seen to do with the same load, else 0.", Formula: "0 if the truth file's verdict agrees, else 1", Source: "the report's verdict against a truth file",
		of: func(m *measured) (float64, string) {
			switch {
			case m.r.Truth == nil:
				return 0, "replayed without --truth"
			case m.r.Truth.Agreed:
				return 0, ""
			}
			return 1, ""
		}},
	optimalDistance,
	{Name: "events.differing", Title: "scale-ups decided otherwise", Unit: "events", Whole: true, Better: Less, Total: Sum,
		Definition: "Recorded scale-ups, or decisions of a report, that a playback of single moments decides otherwise.", Formula: "count of events that do not agree", Source: "the report's events",
		of: func(m *measured) (float64, string) {
			if !m.r.Playback.SingleMoments() {
				return 0, "not a playback of single moments"
			}
			n := 0
			for _, e := range m.r.Events {
				if !e.Agreed {
					n++
				}
			}
			return float64(n), ""
		}},
}

// groupsDiffering counts the groups that scaled otherwise than recorded.
func groupsDiffering(a *scalehist.Agreement) int {
	names := map[string]bool{}
	for _, q := range []scalehist.Question{scalehist.QuestionScaledUp, scalehist.QuestionScaledDown} {
		x, _ := a.Answer(q)
		for _, g := range x.Groups {
			names[g.NodeGroup] = true
		}
	}
	return len(names)
}

// timed is for metrics that mean nothing where no time passes.
func timed(f func(*measured) (float64, string)) func(*measured) (float64, string) {
	return func(m *measured) (float64, string) {
		if m.zero != "" {
			return 0, m.zero
		}
		return f(m)
	}
}

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

func hours(lives []life) float64 {
	h := duration(0)
	for _, l := range lives {
		h += l.to - l.from
	}
	return h.Hours()
}

func podHours(m *measured) (float64, string) {
	if m.noDemand != "" {
		return 0, m.noDemand
	}
	if why := m.heldBack(); why != "" {
		return 0, why
	}
	return m.demand.integral(m.length, same) - m.short.integral(m.length, same) - m.held.integral(m.length, same), ""
}

func underAccuracy(m *measured) (float64, string) {
	if _, missing := podHours(m); missing != "" {
		return 0, missing
	}
	sum := 0.0
	join(m.short, m.demand, m.length, func(d duration, short, pods float64) {
		if pods > 0 {
			sum += short / pods * d.Hours()
		}
	})
	return 100 * sum / m.length.Hours(), ""
}

func churn(r *scalehist.ReplayReport) float64 {
	n := 0
	for _, g := range r.NodeGroups {
		for i := 1; i < len(g.Sizes); i++ {
			n += max(g.Sizes[i].Size-g.Sizes[i-1].Size, g.Sizes[i-1].Size-g.Sizes[i].Size)
		}
	}
	return float64(n)
}

func reversals(r *scalehist.ReplayReport) float64 {
	n := 0
	for _, g := range r.NodeGroups {
		up, moved := false, false
		for i := 1; i < len(g.Sizes); i++ {
			by := g.Sizes[i].Size - g.Sizes[i-1].Size
			if by == 0 {
				continue
			}
			if moved && up != (by > 0) {
				n++
			}
			up, moved = by > 0, true
		}
	}
	return float64(n)
}

func cost(m *measured) (float64, string) {
	if m.zero != "" {
		return 0, m.zero
	}
	if m.r.Cost == nil {
		for _, w := range m.r.Warnings {
			if len(w) > 9 && w[:9] == "no cost: " {
				return 0, w
			}
		}
		return 0, "replayed without prices (--prices)"
	}
	return m.r.Cost.Total, ""
}

func costPerPodHour(m *measured) (float64, string) {
	c, missing := cost(m)
	if missing != "" {
		return 0, missing
	}
	h, missing := podHours(m)
	if missing != "" {
		return 0, missing
	}
	if h == 0 {
		return 0, "no pod had a node"
	}
	return c / h, ""
}
