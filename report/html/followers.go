package html

import (
	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report/lives"
)

// ownPods are the pods that came with a node when it joined: of DaemonSets, and static ones.
func (b *builder) ownPods(node scalehist.ScaledNode) []scalehist.NodePod {
	var out []scalehist.NodePod
	for _, batch := range b.r.Batches {
		if !batch.At.Equal(node.ReadyAt) {
			continue
		}
		for _, p := range batch.NodePods {
			if p.NodeName == node.Name {
				out = append(out, p)
			}
		}
	}
	return out
}

// followers places the pods that belong to their node: those of the start and those that the steps brought. Each is there until its node is removed, or earlier where a step says so.
func (b *builder) followers() {
	type stayed struct {
		pod, node int
		from      int64
	}
	var list []stayed
	ended := map[int]int64{} // index into list
	open := map[int]int{}    // pod -> index into list
	begin := func(pod, node int, from int64) {
		open[pod] = len(list)
		list = append(list, stayed{pod, node, from})
	}
	for _, p := range b.r.Start.ScheduledPods {
		if lives.FollowsNode(p) && p.NodeName != "" {
			node := b.node(p.NodeName, 0)
			begin(b.pod(p.Namespace+"/"+p.Name), node, b.run.Nodes.From[node])
		}
	}
	for i := range b.r.Batches {
		batch := &b.r.Batches[i]
		at := b.at(batch.At)
		for _, name := range batch.NodePodsGone {
			if i, ok := open[b.pod(name)]; ok {
				ended[i] = at
			}
		}
		for _, p := range batch.NodePods {
			node := b.node(p.NodeName, at)
			begin(b.describeNodePod(p), node, max(at, b.run.Nodes.From[node]))
		}
	}
	for i, s := range list {
		to := b.run.Nodes.To[s.node]
		if at, ok := ended[i]; ok && (to < 0 || at < to) {
			to = at
		}
		b.stay(s.pod, s.node, s.from, to)
	}
}

// describeNodePod notes what a step says of a pod that belongs to its node.
func (b *builder) describeNodePod(p scalehist.NodePod) int {
	row := b.pod(p.Namespace + "/" + p.Name)
	b.run.Pods.Owner[row] = b.text(p.Owner)
	b.run.Pods.CPU[row], b.run.Pods.Memory[row] = max(0, milli(p.Requests, "cpu")), max(0, mebi(p.Requests))
	b.run.Pods.Follows[row] = 1
	return row
}
