package metrics

import (
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report/lives"
)

// room is what nodes had to offer to workload pods over time (supply), and what the pods asked for (demand), of one
// resource, in cores or GiB; both follow what changed in between. It is not known when the report
// does not say what a node offers.
func (m *measured) room(name corev1.ResourceName) (supply, demand Curve, missing string) {
	if m.zero != "" {
		return nil, nil, m.zero
	}
	if m.noDemand != "" {
		return nil, nil, m.noDemand
	}
	offers := offers(m.r, name)
	changed := m.offerChanges(name)
	var steps []step
	for _, l := range m.nodes {
		v, ok := offers[l.name]
		of := changed[l.name]
		if len(of) > 0 && of[0].at == l.from { // it came on its own
			v, ok = of[0].to, true
		}
		if !ok {
			return nil, nil, fmt.Sprintf("node %s came and went, and the report does not say how large it was", l.name)
		}
		steps = append(steps, l.follow(v, of)...)
	}
	supply = curveOf(steps)
	asked, resized := m.asked(name), m.resizes(name)
	steps = nil
	for _, l := range m.pods {
		steps = append(steps, l.follow(asked[podAt{l.name, l.from}], resized[l.name])...)
	}
	return supply, curveOf(steps), ""
}

// podAt is a pod by name from an offset on: names are used again.
type podAt struct {
	name string
	from time.Duration
}

// asked is what the lives of pods ask for: as they were fed in, else as the start shows them. A pod that comes back asks for
// what it did, as it was resized.
func (m *measured) asked(name corev1.ResourceName) map[podAt]float64 {
	fed, stood := map[podAt]float64{}, map[string]float64{}
	for _, p := range lives.Workload(m.r.Start) {
		stood[p.Namespace+"/"+p.Name] = amount(p.Requests, name)
	}
	for _, b := range m.r.Batches {
		for _, p := range b.DeployedPods {
			fed[podAt{p.Namespace + "/" + p.Name, b.At.Sub(m.r.StartTime)}] = amount(p.Requests, name)
		}
	}
	out := map[podAt]float64{}
	last := map[string]float64{}
	resized := m.resizes(name)
	for _, l := range m.pods {
		v, ok := fed[podAt{l.name, l.from}]
		if !ok {
			v, ok = last[l.name]
		}
		if !ok {
			v = stood[l.name]
		}
		out[podAt{l.name, l.from}], last[l.name] = v, l.last(v, resized[l.name])
	}
	return out
}

// offers is what each node has for workload pods as it stood at the start or joined, its DaemonSet and static pods taken off.
func offers(r *scalehist.ReplayReport, name corev1.ResourceName) map[string]float64 {
	out, taken := map[string]float64{}, map[string]float64{}
	for _, p := range r.Start.ScheduledPods {
		if lives.FollowsNode(p) {
			taken[p.NodeName] += amount(p.Requests, name)
		}
	}
	for _, n := range r.Start.Nodes {
		out[n.Name] = max(0, amount(n.Allocatable, name)-taken[n.Name])
	}
	for _, n := range r.ScaledUpNodes {
		out[n.Name] = amount(n.Offers, name)
	}
	return out
}

// amount is a quantity in cores, or in GiB for memory; one that is not there is 0.
func amount(list map[string]string, name corev1.ResourceName) float64 {
	q, err := resource.ParseQuantity(list[string(name)])
	if err != nil {
		return 0
	}
	v := float64(q.MilliValue()) / 1000
	if name == corev1.ResourceMemory {
		v = float64(q.Value()) / (1 << 30)
	}
	return v
}

// utilization is what pods asked for of what nodes offered, in percent.
func utilization(name corev1.ResourceName) func(*measured) (float64, string) {
	return func(m *measured) (float64, string) {
		supply, demand, missing := m.room(name)
		if missing != "" {
			return 0, missing
		}
		offered := supply.integral(m.length, same)
		if offered == 0 {
			return 0, "there were no nodes"
		}
		asked := 0.0
		join(supply, demand, m.length, func(d duration, s, want float64) { asked += min(s, want) * d.Hours() })
		return 100 * asked / offered, ""
	}
}

// slack is the room nobody asked for, in core-hours or GiB-hours.
func slack(name corev1.ResourceName) func(*measured) (float64, string) {
	return func(m *measured) (float64, string) {
		supply, demand, missing := m.room(name)
		if missing != "" {
			return 0, missing
		}
		sum := 0.0
		join(supply, demand, m.length, func(d duration, s, want float64) { sum += max(0, s-want) * d.Hours() })
		return sum, ""
	}
}

// relativeSlack is the room nobody asked for as a share of what there was, averaged over time, in percent.
func relativeSlack(name corev1.ResourceName) func(*measured) (float64, string) {
	return func(m *measured) (float64, string) {
		supply, demand, missing := m.room(name)
		if missing != "" {
			return 0, missing
		}
		sum := 0.0
		join(supply, demand, m.length, func(d duration, s, want float64) {
			if s > 1e-9 {
				sum += max(0, s-want) / s * d.Hours()
			}
		})
		return 100 * sum / m.length.Hours(), ""
	}
}

// overProvisioning is the accuracy of the SPEC RG: the surplus as a share of the demand, over time, in percent.
func overProvisioning(name corev1.ResourceName) func(*measured) (float64, string) {
	return func(m *measured) (float64, string) {
		supply, demand, missing := m.room(name)
		if missing != "" {
			return 0, missing
		}
		sum, undefined := 0.0, duration(0)
		join(supply, demand, m.length, func(d duration, s, want float64) {
			switch surplus := max(0, s-want); {
			case surplus < 1e-9:
			case want < 1e-9:
				undefined += d
			default:
				sum += surplus / want * d.Hours()
			}
		})
		if undefined > 0 {
			return 0, fmt.Sprintf("for %s there were nodes and no pods: a share of no demand is not defined; slack.relative is", undefined)
		}
		return 100 * sum / math.Max(m.length.Hours(), 1e-12), ""
	}
}
