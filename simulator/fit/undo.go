package fit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

func (s *Snapshot) record(c change) {
	s.log = append(s.log, c)
	s.layered()
	s.changed(&c)
	if c.op != opAddPod {
		s.epoch++
	}
	if c.anti() {
		s.antiCount++
		s.anti = append(s.anti, antiChange{len(s.log), s.antiCount})
	}
}

// anti says whether a change is one of pods with required anti-affinity.
func (c *change) anti() bool {
	if c.op == opAddPod || c.op == opRemovePod {
		return len(c.pod.GetRequiredAntiAffinityTerms()) > 0
	}
	return len(c.slot.info.PodsWithRequiredAntiAffinity) > 0 || c.old != nil && len(c.old.info.PodsWithRequiredAntiAffinity) > 0
}

// undo takes one change back. RemovePod of a NodeInfo moves the last pod into the gap, so a removed pod goes back by
// the reverse swap.
func (s *Snapshot) undo(c *change) {
	s.changed(c)
	switch c.op {
	case opAddPod:
		n := c.slot.info
		// The pod is the last one: swapped to the front it is found at once, and the one moved into the gap is the
		// first again. It is there: the log is undone last in first out.
		for _, list := range [][]fwk.PodInfo{n.Pods, n.PodsWithAffinity, n.PodsWithRequiredAntiAffinity} {
			if len(list) > 0 && list[len(list)-1] == c.pod {
				swapLast(list, 0)
			}
		}
		if err := n.RemovePod(klog.Background(), c.pod.GetPod()); err != nil {
			panic(fmt.Sprintf("fit: undo log out of step: %v", err))
		}
		restorePorts(n, c.pod)
		c.slot.grown = c.slot.grown[:len(c.slot.grown)-1]
		n.Generation = c.slot.grown[len(c.slot.grown)-1]
		s.rooms[c.at] = roomOf(n)
	case opRemovePod:
		n := c.slot.info
		n.AddPodInfo(c.pod)
		swapLast(n.Pods, c.was.at)
		swapLast(n.PodsWithAffinity, c.was.affinity)
		swapLast(n.PodsWithRequiredAntiAffinity, c.was.anti)
		c.slot.grown = c.was.grown
		n.Generation = c.slot.grown[len(c.slot.grown)-1]
		s.rooms[c.at] = roomOf(n)
	case opAddNode:
		s.cut(c.at)
	case opReplaceNode:
		s.set(c.at, c.old)
	case opRemoveNode:
		s.put(c.at, c.slot)
		s.shift(c.at, 1)
	}
}

// set makes a node the one at a position.
func (s *Snapshot) set(at int, sl *slot) {
	s.nodes[at], s.slots[at], s.rooms[at] = sl.info, sl, roomOf(sl.info)
}

// put inserts a node at a position.
func (s *Snapshot) put(at int, sl *slot) {
	s.nodes = slices.Insert(s.nodes, at, fwk.NodeInfo(sl.info))
	s.slots = slices.Insert(s.slots, at, sl)
	s.rooms = slices.Insert(s.rooms, at, roomOf(sl.info))
	s.reindex(at)
}

func (s *Snapshot) cut(at int) {
	delete(s.index, s.slots[at].info.Node().Name)
	s.nodes = slices.Delete(s.nodes, at, at+1)
	s.slots = slices.Delete(s.slots, at, at+1)
	s.rooms = slices.Delete(s.rooms, at, at+1)
	s.reindex(at)
}

func (s *Snapshot) reindex(from int) {
	for i := from; i < len(s.slots); i++ {
		s.index[s.slots[i].info.Node().Name] = i
	}
}

func find(pods []fwk.PodInfo, pod *corev1.Pod) int {
	for i, p := range pods {
		if p.GetPod().UID == pod.UID {
			return i
		}
	}
	return -1
}

func swapLast(pods []fwk.PodInfo, at int) {
	if at >= 0 {
		last := len(pods) - 1
		pods[at], pods[last] = pods[last], pods[at]
	}
}
