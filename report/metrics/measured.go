package metrics

import (
	"fmt"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
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
	lives []life
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
	m.lives = nodeLives(r)
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

// nodeLives follows the nodes from Ready to gone: those that stood at the start, those a scale-up brought, and those
// outside every group that came on their own.
func nodeLives(r *scalehist.ReplayReport) []life {
	end := r.EndTime.Sub(r.StartTime)
	var out []life
	open := map[string]int{}
	for _, n := range r.Start.Nodes {
		open[n.Name] = len(out)
		out = append(out, life{name: n.Name, group: n.NodeGroup, to: end})
	}
	scaled := map[string]bool{}
	for _, n := range r.ScaledUpNodes {
		scaled[n.Name] = true
		l := life{name: n.Name, group: n.NodeGroup, from: n.ReadyAt.Sub(r.StartTime), to: end}
		if n.RemovedAt != nil {
			l.to = n.RemovedAt.Sub(r.StartTime)
		}
		out = append(out, l)
	}
	for _, b := range r.Batches {
		at := b.At.Sub(r.StartTime)
		for _, name := range b.NodesGone {
			if i, ok := open[name]; ok {
				out[i].to = at
				delete(open, name)
			}
		}
		for _, name := range b.NodesJoined {
			if !scaled[name] {
				open[name] = len(out)
				out = append(out, life{name: name, from: at, to: end})
			}
		}
	}
	return out
}

// podLives follows the workload pods that want a node, from the step that fed them in to the one that took them. When
// the pods at the end are not those that should be left, the reason is returned.
func podLives(r *scalehist.ReplayReport) ([]life, string) {
	end := r.EndTime.Sub(r.StartTime)
	var out []life
	open := map[string]int{}
	begin := func(name string, at time.Duration) {
		if _, there := open[name]; !there {
			open[name] = len(out)
			out = append(out, life{name: name, from: at, to: end})
		}
	}
	finish := func(name string, at time.Duration) {
		if i, there := open[name]; there {
			out[i].to = at
			delete(open, name)
		}
	}
	for _, p := range workload(r.Start) {
		begin(p.Namespace+"/"+p.Name, 0)
	}
	for _, b := range r.Batches {
		at := b.At.Sub(r.StartTime)
		returned, before := map[string]bool{}, map[string]bool{}
		for _, name := range b.Returned {
			returned[name] = true
		}
		for _, name := range b.DeletedPods {
			if _, there := open[name]; there {
				before[name] = true
				finish(name, at)
			}
		}
		for _, p := range b.DeployedPods {
			begin(p.Namespace+"/"+p.Name, at)
		}
		for _, name := range b.DeletedPods {
			if !before[name] { // it came and went within the step
				finish(name, at)
			}
		}
		for _, name := range b.Preempted {
			if !returned[name] {
				finish(name, at)
			}
		}
		for _, name := range b.Returned {
			begin(name, at)
		}
		for _, name := range b.Ended {
			finish(name, at)
		}
	}
	left := map[string]bool{}
	for _, p := range workload(r.End) {
		left[p.Namespace+"/"+p.Name] = true
	}
	ended := 0
	for name := range open {
		if !left[name] {
			ended++
		}
		delete(left, name)
	}
	switch {
	case ended > 0:
		return out, fmt.Sprintf("%s ended without being deleted (finished, or lost without an owner), and the report does not say when", plural.Of(ended, "pod"))
	case len(left) > 0:
		return out, fmt.Sprintf("no step brought %s that the end has", plural.Of(len(left), "pod"))
	}
	return out, ""
}

// workload are the pods of a snapshot that want a node of their own choice: not those of DaemonSets and nodes.
func workload(s scalehist.ClusterSnapshot) []scalehist.PodInfo {
	var out []scalehist.PodInfo
	for _, list := range [][]scalehist.PodInfo{s.ScheduledPods, s.UnscheduledPods} {
		for _, p := range list {
			if !followsNode(p) {
				out = append(out, p)
			}
		}
	}
	return out
}

func followsNode(p scalehist.PodInfo) bool {
	return strings.HasPrefix(p.Owner, "DaemonSet/") || strings.HasPrefix(p.Owner, "Node/")
}

// heldBack says why the pods without a node at the end are not those the last step counted: some wait for a gate.
func (m *measured) heldBack() string {
	waiting := 0
	for _, p := range m.r.End.UnscheduledPods {
		if !followsNode(p) {
			waiting++
		}
	}
	if last := m.short.at(m.length) + m.held.at(m.length); float64(waiting) != last {
		return fmt.Sprintf("%s without a node at the end, and the last step counts %.0f: some are held back, and the report does not say since when", plural.Of(waiting, "pod"), last)
	}
	return ""
}
