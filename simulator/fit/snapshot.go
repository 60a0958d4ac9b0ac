package fit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// Snapshot is a cluster as the filter plugins see it: nodes in a stable order with the pods on them. Changes are
// logged, so that Revert restores exactly what was there at the matching Fork, order and generations included.
// It is not safe for concurrent use.
type Snapshot struct {
	// nodes, slots and rooms are parallel.
	nodes []fwk.NodeInfo
	slots []*slot
	rooms []room
	index map[string]int
	log   []change
	forks []fork
	// forkCount gives every fork an identity of its own; root is the identity of what lies below all forks.
	forkCount, root int
	// committed says into which mark each committed fork went.
	committed map[int]place
	// anti are the changes of pods with required anti-affinity, which concern pods of any shape.
	anti []antiChange
	// antiCount gives every such change an identity.
	antiCount int
	// epoch is another number after every change that may make room: any but an added pod.
	epoch int64
	// affine and antiAffine list the nodes with such pods, while they are good.
	affine, antiAffine nodeList
	// turns are the layers of nodes, those of the base first, one more for each fork; chance and salt say how they are walked.
	turns  []turn
	chance bool
	salt   int64
}

type fork struct {
	at int
	id int
}

// place is a mark in the log: how many forks deep, and the identity of the deepest.
type place struct{ level, id int }

type antiChange struct{ at, id int }

type op uint8

const (
	opAddPod op = iota
	opRemovePod
	opAddNode
	opRemoveNode
	opReplaceNode
)

// slot is a node in the snapshot.
type slot struct {
	info *framework.NodeInfo
	// born is the length of the log when the node came; 0 for those of the base.
	born int
	// grown are the generations the node had since it last lost anything, ascending, the present one last. What did
	// not fit at one of them for reasons of the node alone does not fit now.
	grown []int64
}

func newSlot(n *framework.NodeInfo, born int) *slot {
	return &slot{info: n, born: born, grown: []int64{n.Generation}}
}

// grewFrom says whether the node only gained pods since a generation.
func (s *slot) grewFrom(generation int64) bool {
	if generation == s.info.Generation {
		return true
	}
	_, ok := slices.BinarySearch(s.grown, generation)
	return ok
}

// change is one log entry; it can be undone, and replayed on a PreFilter state.
type change struct {
	op op
	// at is the position of the node.
	at   int
	slot *slot
	pod  fwk.PodInfo
	// old is the node that was replaced.
	old *slot
	// was is where a removed pod was.
	was *removed
}

// removed are the positions of a pod in the lists of its node (-1: not in it), and the generations of the node before.
type removed struct {
	at, affinity, anti int
	grown              []int64
}

func newSnapshot() *Snapshot {
	return &Snapshot{index: map[string]int{}, committed: map[int]place{}, turns: make([]turn, 1)}
}

// Len counts the nodes.
func (s *Snapshot) Len() int { return len(s.nodes) }

// NodeInfo is the node at a position. Read only.
func (s *Snapshot) NodeInfo(at int) *framework.NodeInfo { return s.slots[at].info }

// Index is the position of a node.
func (s *Snapshot) Index(name string) (int, bool) {
	at, ok := s.index[name]
	return at, ok
}

// Changed says whether anything was changed since the base and not taken back.
func (s *Snapshot) Changed() bool { return len(s.log) > 0 }

// Fork marks the present state.
func (s *Snapshot) Fork() {
	s.forkCount++
	s.forks = append(s.forks, fork{at: len(s.log), id: s.forkCount})
	s.turns = append(s.turns, turn{from: len(s.nodes), mark: len(s.log)})
}

// Revert restores the state at the last Fork and drops that mark. Without a fork it restores the base.
func (s *Snapshot) Revert() {
	mark := 0
	if n := len(s.forks); n > 0 {
		mark = s.forks[n-1].at
		s.forks, s.turns = s.forks[:n-1], s.turns[:n]
	} else if len(s.log) > 0 {
		s.forkCount++
		s.root = s.forkCount
	}
	if len(s.log) > mark {
		s.epoch++
	}
	for i := len(s.log) - 1; i >= mark; i-- {
		c := &s.log[i]
		// A node that came since the mark goes as a whole.
		if pods := c.op == opAddPod || c.op == opRemovePod; !pods || c.slot.born <= mark {
			s.undo(c)
		}
		*c = change{}
	}
	s.log = s.log[:mark]
	for n := len(s.anti); n > 0 && s.anti[n-1].at > mark; n-- {
		s.anti = s.anti[:n-1]
	}
}

// Commit keeps what was done since the last Fork and drops that mark.
func (s *Snapshot) Commit() {
	if n := len(s.forks); n > 0 {
		id := s.forks[n-1].id
		s.forks, s.turns = s.forks[:n-1], s.turns[:n]
		s.layered()
		s.committed[id] = s.place()
	}
}

// place is the mark everything done now comes after.
func (s *Snapshot) place() place {
	if n := len(s.forks); n > 0 {
		return place{n, s.forks[n-1].id}
	}
	return place{0, s.root}
}

// survivor is the mark at which what was made after a mark is still there; false when it was reverted.
func (s *Snapshot) survivor(p place) (place, bool) {
	for {
		switch {
		case p.level == 0:
			return p, p.id == s.root
		case p.level <= len(s.forks) && s.forks[p.level-1].id == p.id:
			return p, true
		}
		next, ok := s.committed[p.id]
		if !ok {
			return p, false
		}
		p = next
	}
}

// AddNode appends a node with its pods. The NodeInfo belongs to the snapshot from now on.
func (s *Snapshot) AddNode(n *framework.NodeInfo) error {
	name := n.Node().Name
	if _, ok := s.index[name]; ok {
		return fmt.Errorf("node %s is in the snapshot already", name)
	}
	at := len(s.nodes)
	sl := newSlot(n, len(s.log)+1)
	s.put(at, sl)
	s.record(change{op: opAddNode, slot: sl, at: at})
	return nil
}

// RemoveNode takes a node and its pods out.
func (s *Snapshot) RemoveNode(name string) error {
	at, ok := s.index[name]
	if !ok {
		return fmt.Errorf("node %s is not in the snapshot", name)
	}
	sl := s.slots[at]
	s.cut(at)
	s.shift(at, -1)
	s.record(change{op: opRemoveNode, slot: sl, at: at})
	return nil
}

// ReplaceNode puts a node with its pods in the place of the one at a position; the name must be the same. The NodeInfo
// belongs to the snapshot from now on.
func (s *Snapshot) ReplaceNode(at int, n *framework.NodeInfo) error {
	old := s.slots[at]
	if old.info.Node().Name != n.Node().Name {
		return fmt.Errorf("replace node %s: the new one is called %s", old.info.Node().Name, n.Node().Name)
	}
	sl := newSlot(n, len(s.log)+1)
	s.set(at, sl)
	s.record(change{op: opReplaceNode, slot: sl, old: old, at: at})
	return nil
}

// AddPod puts a pod on the node at a position, whether it fits or not.
func (s *Snapshot) AddPod(pod fwk.PodInfo, at int) {
	sl := s.slots[at]
	sl.info.AddPodInfo(pod)
	sl.grown = append(sl.grown, sl.info.Generation)
	s.rooms[at] = roomOf(sl.info)
	s.record(change{op: opAddPod, slot: sl, pod: pod, at: at})
}

// RemovePod takes a pod off the node at a position.
func (s *Snapshot) RemovePod(pod *corev1.Pod, at int) error {
	sl := s.slots[at]
	n := sl.info
	was := &removed{at: find(n.Pods, pod), affinity: find(n.PodsWithAffinity, pod), anti: find(n.PodsWithRequiredAntiAffinity, pod), grown: sl.grown}
	if was.at < 0 {
		return fmt.Errorf("pod %s/%s is not on node %s", pod.Namespace, pod.Name, n.Node().Name)
	}
	info := n.Pods[was.at]
	if err := n.RemovePod(klog.Background(), pod); err != nil {
		return fmt.Errorf("take pod %s/%s off node %s: %w", pod.Namespace, pod.Name, n.Node().Name, err)
	}
	restorePorts(n, info)
	sl.grown = []int64{n.Generation}
	s.rooms[at] = roomOf(n)
	s.record(change{op: opRemovePod, slot: sl, pod: info, at: at, was: was})
	return nil
}

// restorePorts puts back the host ports of the other pods on the node: a NodeInfo counts a port once however many pods
// hold it, so taking one of them off frees it.
func restorePorts(n *framework.NodeInfo, removed fwk.PodInfo) {
	if len(n.Pods) == 0 || len(schedutil.GetHostPorts(removed.GetPod())) == 0 {
		return
	}
	for _, p := range n.Pods {
		for _, port := range schedutil.GetHostPorts(p.GetPod()) {
			n.UsedPorts.Add(port.HostIP, string(port.Protocol), port.HostPort)
		}
	}
}
