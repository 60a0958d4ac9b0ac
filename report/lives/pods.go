package lives

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
)

// End says how a pod's life ended.
type End int

// The ways in which lives end.
const (
	// AtEnd: it is there at the end of the replay.
	AtEnd End = iota
	// InStep: a step took it.
	InStep
	// Recorded: no step took it, and its recorded deletion, which is To, says when it was gone at the latest.
	Recorded
	// Unknown: it is not there at the end, and nothing says since when.
	Unknown
)

// Pod is one life of a pod that wants a node of its own choice.
type Pod struct {
	// Name is "namespace/name".
	Name string
	// From and To are offsets from the start of the replay. To is its end if End is AtEnd or Unknown.
	From, To time.Duration
	End      End
	// Node is where it stood at the start of the replay, "" for one that had no node then, or came later.
	Node string
	// Lost are the instants at which it lost its node and was pending again, Placed those at which it got one.
	Lost   []time.Duration
	Placed []Placement
	// Deployed is what the report has about it where it was fed in, nil for one that was there at the start.
	Deployed *scalehist.DeployedPod
}

// Placement is a node that a pod got.
type Placement struct {
	At   time.Duration
	Node string
}

// Stay is a stretch of a pod's life on one node, or without one (Node is "").
type Stay struct {
	Node     string
	From, To time.Duration
	// Open: it lasts to the end of the pod's life, and that has no known end.
	Open bool
}

// FollowsNode says whether a pod belongs to its node (a DaemonSet's, or a static one) and is no workload of its own choice.
func FollowsNode(p scalehist.PodInfo) bool {
	return strings.HasPrefix(p.Owner, "DaemonSet/") || strings.HasPrefix(p.Owner, "Node/")
}

// Workload are the pods of a snapshot that want a node of their own choice: not those of DaemonSets and nodes.
func Workload(s scalehist.ClusterSnapshot) []scalehist.PodInfo {
	var out []scalehist.PodInfo
	for _, list := range [][]scalehist.PodInfo{s.ScheduledPods, s.UnscheduledPods} {
		for _, p := range list {
			if !FollowsNode(p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// Pods follows the workload pods of a report, in the order in which they came. unbrought counts pods of the end that no step brought.
func Pods(r *scalehist.ReplayReport) (pods []*Pod, unbrought int) {
	f := &follower{length: r.EndTime.Sub(r.StartTime), open: map[string]*Pod{}}
	for _, p := range Workload(r.Start) {
		f.begin(p.Namespace+"/"+p.Name, 0).Node = p.NodeName
	}
	atEnd := map[string]bool{}
	for _, p := range Workload(r.End) {
		atEnd[p.Namespace+"/"+p.Name] = true
	}
	for i := range r.Batches {
		f.step(r, &r.Batches[i], atEnd)
	}
	for _, p := range f.pods {
		slices.SortStableFunc(p.Placed, func(a, b Placement) int { return cmp.Compare(a.At, b.At) })
		switch {
		case f.open[p.Name] != p:
		case atEnd[p.Name]:
			p.End = AtEnd
			delete(atEnd, p.Name)
		case p.Deployed != nil && p.Deployed.DeletedAt != nil:
			p.End, p.To = Recorded, p.Deployed.DeletedAt.Sub(r.StartTime)
		default:
			p.End = Unknown
		}
	}
	return f.pods, len(atEnd)
}

// follower has the lives that steps have begun, and those of them that are open, by name.
type follower struct {
	length time.Duration
	pods   []*Pod
	open   map[string]*Pod
}

func (f *follower) begin(name string, at time.Duration) *Pod {
	p := &Pod{Name: name, From: at, To: f.length, End: InStep}
	f.open[name] = p
	f.pods = append(f.pods, p)
	return p
}

func (f *follower) end(name string, at time.Duration) {
	if p := f.open[name]; p != nil {
		p.To = at
		delete(f.open, name)
	}
}

// step goes through what a step did. A pod that it both took and brought is one that was there before and its replacement of that name,
// or one that came and was gone within the step.
func (f *follower) step(r *scalehist.ReplayReport, b *scalehist.Batch, atEnd map[string]bool) {
	at := b.At.Sub(r.StartTime)
	before := map[string]bool{}
	for _, name := range b.DeletedPods {
		if f.open[name] != nil {
			before[name] = true
			f.end(name, at)
		}
	}
	for i := range b.DeployedPods {
		d := &b.DeployedPods[i]
		name := d.Namespace + "/" + d.Name
		if f.open[name] != nil {
			continue
		}
		p := f.begin(name, at)
		p.Deployed = d
		if d.ScheduledAt != nil {
			p.Placed = append(p.Placed, Placement{d.ScheduledAt.Sub(r.StartTime), d.NodeName})
		}
	}
	for _, name := range b.DeletedPods {
		if !before[name] {
			f.end(name, at)
		}
	}
	for _, name := range b.Preempted {
		if !slices.Contains(b.Returned, name) {
			f.end(name, at)
		}
	}
	for _, name := range b.Returned {
		p := f.open[name]
		if p == nil {
			p = f.begin(name, at)
		}
		if p.From < at {
			p.Lost = append(p.Lost, at)
		}
	}
	for _, got := range b.Placed {
		if p := f.open[got.Pod]; p != nil {
			p.Placed = append(p.Placed, Placement{at, got.Node})
		}
	}
	for _, name := range b.Ended {
		f.end(name, at)
	}
}

// Stays are where a pod was, in order. gone says when the node that has a name at an offset is gone: a pod does not outlive its node.
func (p *Pod) Stays(gone func(node string, at time.Duration) (time.Duration, bool)) []Stay {
	var out []Stay
	stay := func(node string, from, to time.Duration) {
		if to > from {
			out = append(out, Stay{Node: node, From: from, To: to, Open: to == p.To && p.lasts()})
		}
	}
	from, node := p.From, p.Node
	for _, until := range append(slices.Clone(p.Lost), p.To) {
		if node == "" {
			got, ok := p.placement(from, until)
			if !ok {
				stay("", from, until)
				from = until
				continue
			}
			stay("", from, got.At)
			from, node = got.At, got.Node
		}
		end := until
		if at, known := gone(node, from); known && at < end && at >= from {
			end = at
		}
		stay(node, from, end)
		from, node = until, ""
	}
	return out
}

// lasts: nothing says that it was gone before the end of the replay.
func (p *Pod) lasts() bool { return p.End == AtEnd || p.End == Unknown }

// placement is when and where a pod that waits from an offset on got a node before until.
func (p *Pod) placement(from, until time.Duration) (Placement, bool) {
	for _, got := range p.Placed {
		if got.Node != "" && got.At >= from && (got.At < until || until == p.To && p.lasts()) {
			return got, true
		}
	}
	return Placement{}, false
}
