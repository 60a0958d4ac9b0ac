package html

import (
	"fmt"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report/lives"
)

// buildNodes lists the lives of all nodes, with when they were asked for and what they offer.
func (b *builder) buildNodes() {
	b.run.Nodes = nodes{Name: []string{}, Group: []int{}, Asked: []int64{}, From: []int64{}, To: []int64{}, CPU: []int64{}, Memory: []int64{}}
	length := b.r.EndTime.Sub(b.r.StartTime)
	for _, l := range lives.Nodes(b.r) {
		group, known := b.groups[l.Group]
		if !known {
			group = -1
		}
		to, asked := ms(l.To), int64(-1)
		if l.To >= length {
			to = -1
		}
		if l.Asked != nil {
			asked = ms(*l.Asked)
		}
		b.addNode(l.Name, group, asked, ms(l.From), to)
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

// buildPods lists the pods with what is known of them.
func (b *builder) buildPods() {
	b.run.Stays = stays{Pod: []int{}, Node: []int{}, From: []int64{}, To: []int64{}}
	b.run.Pods = pods{Name: []string{}, Owner: []int{}, CPU: []int64{}, Memory: []int64{}, Follows: []int{}}
	for _, s := range []scalehist.ClusterSnapshot{b.r.End, b.r.Start} { // what a pod of both asked for first counts
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
	b.resizes()
}

// resizes lists what pods ask for that were resized at some time, or that a webhook changed on their way in: all they asked for, step by step.
func (b *builder) resizes() {
	resized := map[string]bool{}
	for _, batch := range b.r.Batches {
		for _, p := range batch.Resized {
			resized[p.Pod] = true
		}
	}
	if len(resized) == 0 {
		return
	}
	out := &resizes{}
	add := func(at time.Time, pod string, requests map[string]string) {
		if !resized[pod] {
			return
		}
		out.Pod, out.At = append(out.Pod, b.pod(pod)), append(out.At, b.at(at))
		out.CPU, out.Memory = append(out.CPU, max(0, milli(requests, "cpu"))), append(out.Memory, max(0, mebi(requests)))
	}
	for _, batch := range b.r.Batches {
		for _, p := range batch.DeployedPods {
			add(batch.At, p.Namespace+"/"+p.Name, p.Requests)
		}
		for _, p := range batch.Resized {
			add(batch.At, p.Pod, p.Requests)
		}
	}
	b.run.Resizes = out
}

// follow writes down where each pod was when, as far as the report shows.
func (b *builder) follow() {
	length := b.r.EndTime.Sub(b.r.StartTime)
	nodes := map[string][]lives.Node{}
	for _, n := range lives.Nodes(b.r) {
		nodes[n.Name] = append(nodes[n.Name], n)
	}
	gone := func(name string, at time.Duration) (to time.Duration, known bool) {
		for i, n := range nodes[name] {
			if i == 0 || n.From <= at {
				to, known = n.To, n.To < length
			}
		}
		return to, known
	}
	pods, _ := lives.Pods(b.r)
	unknown := 0
	for _, p := range pods {
		if p.End == lives.Unknown {
			unknown++
		}
		for _, s := range p.Stays(gone) {
			node, to := waiting, ms(s.To)
			if s.Node != "" {
				node = b.node(s.Node, ms(s.From))
			}
			if s.Open {
				to = -1
			}
			b.stay(b.pod(p.Name), node, ms(s.From), to)
		}
	}
	if unknown > 0 {
		b.run.Notes = append(b.run.Notes, fmt.Sprintf("%s ended without being deleted, and the report does not say when: the page shows them until their node goes.", plural.Of(unknown, "pod")))
	}
	b.followers()
}

// describe notes what a snapshot knows of a pod.
func (b *builder) describe(p scalehist.PodInfo) {
	row := b.pod(p.Namespace + "/" + p.Name)
	if p.Owner != "" {
		b.run.Pods.Owner[row] = b.text(p.Owner)
	}
	b.run.Pods.CPU[row], b.run.Pods.Memory[row] = max(0, milli(p.Requests, "cpu")), max(0, mebi(p.Requests))
	if lives.FollowsNode(p) {
		b.run.Pods.Follows[row] = 1
	}
}

func (b *builder) stay(pod, node int, from, to int64) {
	if to >= 0 && to <= from {
		return
	}
	s := &b.run.Stays
	s.Pod, s.Node, s.From, s.To = append(s.Pod, pod), append(s.Node, node), append(s.From, from), append(s.To, to)
}
