package html

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report/metrics"
)

// buildNodes lists the lives of all nodes, with when they were asked for and what they offer.
func (b *builder) buildNodes() {
	asked := map[string][]scalehist.ScaledNode{}
	for _, n := range b.r.ScaledUpNodes {
		asked[n.Name] = append(asked[n.Name], n)
	}
	b.run.Nodes = nodes{Name: []string{}, Group: []int{}, Asked: []int64{}, From: []int64{}, To: []int64{}, CPU: []int64{}, Memory: []int64{}}
	length := b.r.EndTime.Sub(b.r.StartTime)
	for _, l := range metrics.NodeLives(b.r) {
		group, known := b.groups[l.Group]
		if !known {
			group = -1
		}
		to := ms(l.To)
		if l.To >= length {
			to = -1
		}
		at := int64(-1)
		for _, n := range asked[l.Name] {
			if n.ReadyAt.Sub(b.r.StartTime) == l.From {
				at = b.at(n.RequestedAt)
			}
		}
		b.addNode(l.Name, group, at, ms(l.From), to)
	}
	b.sizes()
}

func (b *builder) addNode(name string, group int, asked, from, to int64) int {
	n := &b.run.Nodes
	row := len(n.Name)
	b.nodes[name] = append(b.nodes[name], row)
	n.Name, n.Group, n.Asked = append(n.Name, name), append(n.Group, group), append(n.Asked, asked)
	n.From, n.To = append(n.From, from), append(n.To, to)
	n.CPU, n.Memory = append(n.CPU, -1), append(n.Memory, -1)
	return row
}

// sizes fills in what nodes offer: a node's own allocatable where a snapshot has it, else that of another node of its group.
func (b *builder) sizes() {
	n := &b.run.Nodes
	byGroup := map[int][2]int64{}
	for _, s := range []scalehist.ClusterSnapshot{b.r.Start, b.r.End} {
		at := int64(0)
		if s.At.After(b.r.StartTime) {
			at = b.run.Length
		}
		for _, info := range s.Nodes {
			if len(b.nodes[info.Name]) == 0 {
				continue
			}
			row := b.node(info.Name, at)
			n.CPU[row], n.Memory[row] = milli(info.Allocatable, "cpu"), mebi(info.Allocatable)
			if _, known := byGroup[n.Group[row]]; !known && n.Group[row] >= 0 {
				byGroup[n.Group[row]] = [2]int64{n.CPU[row], n.Memory[row]}
			}
		}
	}
	for row := range n.Name {
		if size, known := byGroup[n.Group[row]]; known && n.CPU[row] < 0 {
			n.CPU[row], n.Memory[row] = size[0], size[1]
		}
	}
	// A group that no snapshot shows a node of: what its nodes had for workload pods when they joined, and for those of their own.
	for _, x := range b.r.ScaledUpNodes {
		if row := b.node(x.Name, b.at(x.ReadyAt)); n.CPU[row] < 0 && len(x.Offers) > 0 {
			n.CPU[row], n.Memory[row] = milli(x.Offers, "cpu"), mebi(x.Offers)
			for _, p := range b.ownPods(x) {
				n.CPU[row] += max(0, milli(p.Requests, "cpu"))
				n.Memory[row] += max(0, mebi(p.Requests))
			}
		}
	}
}

// life is one life of a pod: it wants a node from from to to, lost it at each of lost, and was put on a node at each of
// placed.
type life struct {
	pod      int
	from, to int64
	first    int // the node it stands on at the start, or waiting
	lost     []int64
	placed   []placed
	open     bool
}

type placed struct {
	at   int64
	node string
}

// buildPods lists the pods with what is known of them.
func (b *builder) buildPods() {
	b.run.Stays = stays{Pod: []int{}, Node: []int{}, From: []int64{}, To: []int64{}}
	b.run.Pods = pods{Name: []string{}, Owner: []int{}, CPU: []int64{}, Memory: []int64{}, Follows: []int{}}
	for _, s := range []scalehist.ClusterSnapshot{b.r.Start, b.r.End} {
		for _, list := range [][]scalehist.PodInfo{s.ScheduledPods, s.UnscheduledPods} {
			for _, p := range list {
				b.describe(p)
			}
		}
	}
	for _, batch := range b.r.Batches {
		for _, p := range batch.DeployedPods {
			row := b.pod(p.Namespace + "/" + p.Name)
			b.run.Pods.CPU[row], b.run.Pods.Memory[row] = max(0, milli(p.Requests, "cpu")), max(0, mebi(p.Requests))
		}
	}
}

// follow writes down where each pod was when, as far as the report tells.
func (b *builder) follow() {
	for _, l := range b.lives() {
		b.place(l)
	}
	if n := b.resized(); n > 0 {
		b.run.Notes = append(b.run.Notes, fmt.Sprintf("%s asked for something else after a resize in place: the page shows the size they came with; the metrics follow the resizes.", plural.Of(n, "pod")))
	}
	b.followers()
}

// resized counts the pods that were resized in place.
func (b *builder) resized() int {
	pods := map[string]bool{}
	for _, batch := range b.r.Batches {
		for _, p := range batch.Resized {
			pods[p.Pod] = true
		}
	}
	return len(pods)
}

// describe notes what a snapshot knows of a pod.
func (b *builder) describe(p scalehist.PodInfo) {
	row := b.pod(p.Namespace + "/" + p.Name)
	if p.Owner != "" {
		b.run.Pods.Owner[row] = b.text(p.Owner)
	}
	b.run.Pods.CPU[row], b.run.Pods.Memory[row] = max(0, milli(p.Requests, "cpu")), max(0, mebi(p.Requests))
	if metrics.FollowsNode(p) {
		b.run.Pods.Follows[row] = 1
	}
}

// lives goes through the steps of the replay. Pods that belong to their node are left out.
func (b *builder) lives() []*life {
	var out []*life
	open := map[string]*life{}
	begin := func(name string, at int64, first int) *life {
		l := &life{pod: b.pod(name), from: at, to: -1, first: first, open: true}
		open[name] = l
		out = append(out, l)
		return l
	}
	end := func(name string, at int64) {
		if l := open[name]; l != nil {
			l.to, l.open = at, false
			delete(open, name)
		}
	}
	for _, p := range b.r.Start.ScheduledPods {
		if !metrics.FollowsNode(p) {
			begin(p.Namespace+"/"+p.Name, 0, b.node(p.NodeName, 0))
		}
	}
	for _, p := range b.r.Start.UnscheduledPods {
		if !metrics.FollowsNode(p) {
			begin(p.Namespace+"/"+p.Name, 0, waiting)
		}
	}
	deleted := map[*life]time.Time{}
	for i := range b.r.Batches {
		batch := &b.r.Batches[i]
		at := b.at(batch.At)
		fresh := map[string]bool{}
		for _, p := range batch.DeployedPods {
			fresh[p.Namespace+"/"+p.Name] = true
		}
		for _, name := range batch.DeletedPods {
			if l := open[name]; l != nil && (!fresh[name] || l.from < at) {
				end(name, at)
			}
		}
		for _, p := range batch.DeployedPods {
			l := begin(p.Namespace+"/"+p.Name, at, waiting)
			if p.ScheduledAt != nil {
				l.placed = append(l.placed, placed{b.at(*p.ScheduledAt), p.NodeName})
			}
			if p.DeletedAt != nil {
				deleted[l] = *p.DeletedAt
			}
		}
		for _, name := range batch.DeletedPods {
			if l := open[name]; l != nil && fresh[name] && l.from == at && !l.survives(b, name) {
				end(name, at)
			}
		}
		for _, name := range batch.Preempted {
			if !slices.Contains(batch.Returned, name) {
				end(name, at)
			}
		}
		for _, name := range batch.Returned {
			l := open[name]
			if l == nil {
				l = begin(name, at, waiting)
			}
			if l.from < at {
				l.lost = append(l.lost, at)
			}
		}
		for _, p := range batch.Placed {
			if l := open[p.Pod]; l != nil {
				l.placed = append(l.placed, placed{at, p.Node})
			}
		}
		for _, name := range batch.Ended {
			end(name, at)
		}
	}
	for _, l := range out {
		slices.SortStableFunc(l.placed, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	}
	b.ended(out, open, deleted)
	return out
}

// survives says whether a pod that a step both brought and took was there afterwards.
func (l *life) survives(b *builder, name string) bool {
	return slices.ContainsFunc(b.r.End.ScheduledPods, func(p scalehist.PodInfo) bool { return p.Namespace+"/"+p.Name == name })
}

// ended closes the lives of pods that are not there at the end although no step took them: they finished on their own. Those
// whose deletion was recorded end there, the others stay to the end, and a note says so.
func (b *builder) ended(list []*life, open map[string]*life, deleted map[*life]time.Time) {
	atEnd := map[string]bool{}
	for _, list := range [][]scalehist.PodInfo{b.r.End.ScheduledPods, b.r.End.UnscheduledPods} {
		for _, p := range list {
			atEnd[p.Namespace+"/"+p.Name] = true
		}
	}
	untoldEnds := 0
	for _, l := range list {
		if !l.open {
			continue
		}
		name := b.run.Pods.Name[l.pod]
		switch at, known := deleted[l]; {
		case atEnd[name] && open[name] == l:
		case known:
			l.to = b.at(at)
		default:
			untoldEnds++
		}
	}
	if untoldEnds > 0 {
		b.run.Notes = append(b.run.Notes, fmt.Sprintf("%s ended without being deleted, and the report does not say when: the page shows them until their node goes.", plural.Of(untoldEnds, "pod")))
	}
}

// place turns a life into stays.
func (b *builder) place(l *life) {
	from, node := l.from, l.first
	for _, until := range append(slices.Clone(l.lost), l.to) {
		if node == waiting {
			at, name := l.placement(from, until)
			switch {
			case at < 0:
				b.stay(l.pod, waiting, from, until)
				from, node = until, waiting
				continue
			case at > from:
				b.stay(l.pod, waiting, from, at)
			}
			from, node = at, b.node(name, at)
		}
		// A pod goes with its node.
		end := until
		if node >= 0 {
			if gone := b.run.Nodes.To[node]; gone >= 0 && (end < 0 || gone < end) && gone >= from {
				end = gone
			}
		}
		b.stay(l.pod, node, from, end)
		from, node = until, waiting
	}
}

// placement is when and where a pod that waits from an offset on got a node before until; -1 when it did not.
func (l *life) placement(from, until int64) (int64, string) {
	for _, p := range l.placed {
		if p.node != "" && p.at >= from && (until < 0 || p.at < until) {
			return p.at, p.node
		}
	}
	return -1, ""
}

func (b *builder) stay(pod, node int, from, to int64) {
	if to >= 0 && to <= from {
		return
	}
	s := &b.run.Stays
	s.Pod, s.Node, s.From, s.To = append(s.Pod, pod), append(s.Node, node), append(s.From, from), append(s.To, to)
}
