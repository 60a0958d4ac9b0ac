package recommender

import (
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/scalehist/scalehist/simulator/drain"
)

func podsOf(infos []fwk.PodInfo) []*corev1.Pod {
	out := make([]*corev1.Pod, 0, len(infos))
	for _, i := range infos {
		out = append(out, i.GetPod())
	}
	return out
}

// utilization is the larger share of cpu and memory of the node at a position that pods ask for. DaemonSet pods, where
// they are ignored, leave both sides, as upstream has it. A node without cpu or memory is fully used.
func (p *planner) utilization(at int, ignoreDaemonSets bool) float64 {
	n := p.workers[0].c.Snapshot().NodeInfo(at)
	have, used := p.table.of(n.Allocatable, 0), p.table.of(n.Requested, 0)
	if ignoreDaemonSets {
		for _, i := range n.Pods {
			if drain.IsDaemonSet(i.GetPod()) {
				d := p.table.demand(i.GetPod())
				have.add(d, -1)
				used.add(d, -1)
			}
		}
	}
	most := 0.0
	for _, slot := range []int{cpuSlot, memorySlot} {
		if have[slot] <= 0 {
			return 1
		}
		most = max(most, float64(used[slot])/float64(have[slot]))
	}
	return most
}
