package metrics

import (
	"fmt"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report/lives"
)

// measured is a report with what several metrics need of it.
type measured struct {
	r *scalehist.ReplayReport
	// length is T. zero says why there is none.
	length time.Duration
	zero   string
	// targets, short are Nodes and Unschedulable.
	targets, short Curve
	// held are the pods that wait for a scheduling gate.
	held  Curve
	nodes []life
	// demand counts the pods that want a node over time, those that have one included; noDemand says why that is not known.
	demand   Curve
	pods     []life
	noDemand string
}

func measure(r *scalehist.ReplayReport) *measured {
	m := &measured{r: r, length: r.EndTime.Sub(r.StartTime), targets: Nodes(r), short: Unschedulable(r), held: heldCurve(r)}
	switch {
	case r.Playback.SingleMoments():
		m.zero = fmt.Sprintf("a %s playback decides single moments: there is no time in which they add up", r.Playback)
		return m
	case m.length <= 0:
		m.zero = "the replay has no length"
		return m
	}
	m.nodes = nodeLives(r)
	m.pods, m.noDemand = podLives(r)
	var steps []step
	for _, p := range m.pods {
		steps = append(steps, step{p.from, 1}, step{p.to, -1})
	}
	m.demand = curveOf(steps)
	return m
}

// life is a node or a pod from an offset to another; to is the end of the replay for those that are there then.
type life struct {
	name, group string
	from, to    time.Duration
}

func nodeLives(r *scalehist.ReplayReport) []life {
	var out []life
	for _, n := range lives.Nodes(r) {
		out = append(out, life{name: n.Name, group: n.Group, from: n.From, to: n.To})
	}
	return out
}

// podLives are the workload pods that want a node, from the step that fed them in to the one that took them. When
// the pods at the end are not those that should be left, the reason is returned.
func podLives(r *scalehist.ReplayReport) ([]life, string) {
	pods, unbrought := lives.Pods(r)
	end := r.EndTime.Sub(r.StartTime)
	var out []life
	ended := 0
	for _, p := range pods {
		l := life{name: p.Name, from: p.From, to: p.To}
		if p.End == lives.Recorded || p.End == lives.Unknown {
			l.to = end
			ended++
		}
		out = append(out, l)
	}
	switch {
	case ended > 0:
		return out, fmt.Sprintf("%s ended without being deleted (finished, or lost without an owner), and the report does not say when", plural.Of(ended, "pod"))
	case unbrought > 0:
		return out, fmt.Sprintf("no step brought %s that the end has", plural.Of(unbrought, "pod"))
	}
	return out, ""
}

// heldBack says why the pods without a node at the end are not those the last step counted: some wait for a gate.
func (m *measured) heldBack() string {
	waiting := 0
	for _, p := range m.r.End.UnscheduledPods {
		if !lives.FollowsNode(p) {
			waiting++
		}
	}
	if last := m.short.at(m.length) + m.held.at(m.length); float64(waiting) != last {
		return fmt.Sprintf("%s without a node at the end, and the last step counts %.0f: some are held back, and the report does not say since when", plural.Of(waiting, "pod"), last)
	}
	return ""
}
