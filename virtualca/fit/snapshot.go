package fit

import (
	"fmt"

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
	nodes []fwk.NodeInfo
	index map[string]int
	log   []change
	forks []fork
	// forkCount gives every fork an identity of its own.
	forkCount int
	// antiAt are the log lengths after each placed pod with required anti-affinity.
	antiAt []int
}

type fork struct {
	at int
	id int
}

type op uint8

const (
	opAddPod op = iota
	opRemovePod
	opAddNode
	opRemoveNode
	opReplaceNode
)

// change is one log entry; with before it can be undone, with pod and node replayed on a PreFilter state.
type change struct {
	op   op
	node *framework.NodeInfo
	pod  fwk.PodInfo
	// old is what a replaced node was.
	old *framework.NodeInfo
	// at is the position of the node, or of the removed pod on its node; affinity and anti its positions there.
	at, affinity, anti int
	generation         int64
}

func newSnapshot() *Snapshot { return &Snapshot{index: map[string]int{}} }

// Len counts the nodes.
func (s *Snapshot) Len() int { return len(s.nodes) }

// NodeInfo is the node at a position. Read only.
func (s *Snapshot) NodeInfo(at int) *framework.NodeInfo { return s.nodes[at].(*framework.NodeInfo) }

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
}

// Revert restores the state at the last Fork and drops that mark. Without a fork it restores the base.
func (s *Snapshot) Revert() {
	mark := 0
	if n := len(s.forks); n > 0 {
		mark = s.forks[n-1].at
		s.forks = s.forks[:n-1]
	}
	for len(s.log) > mark {
		s.undo(s.log[len(s.log)-1])
		s.log[len(s.log)-1] = change{}
		s.log = s.log[:len(s.log)-1]
	}
	for n := len(s.antiAt); n > 0 && s.antiAt[n-1] > mark; n-- {
		s.antiAt = s.antiAt[:n-1]
	}
}

// Commit keeps what was done since the last Fork and drops that mark.
func (s *Snapshot) Commit() {
	if n := len(s.forks); n > 0 {
		s.forks = s.forks[:n-1]
	}
}

// AddNode appends a node with its pods. The NodeInfo belongs to the snapshot from now on.
func (s *Snapshot) AddNode(n *framework.NodeInfo) error {
	name := n.Node().Name
	if _, ok := s.index[name]; ok {
		return fmt.Errorf("node %s is in the snapshot already", name)
	}
	s.index[name] = len(s.nodes)
	s.nodes = append(s.nodes, n)
	s.record(change{op: opAddNode, node: n, at: len(s.nodes) - 1})
	return nil
}

// RemoveNode takes a node and its pods out.
func (s *Snapshot) RemoveNode(name string) error {
	at, ok := s.index[name]
	if !ok {
		return fmt.Errorf("node %s is not in the snapshot", name)
	}
	n := s.NodeInfo(at)
	s.cut(at)
	s.record(change{op: opRemoveNode, node: n, at: at})
	return nil
}

// ReplaceNode puts a node with its pods in the place of the one at a position; the name must be the same. The NodeInfo
// belongs to the snapshot from now on.
func (s *Snapshot) ReplaceNode(at int, n *framework.NodeInfo) error {
	old := s.NodeInfo(at)
	if old.Node().Name != n.Node().Name {
		return fmt.Errorf("replace node %s: the new one is called %s", old.Node().Name, n.Node().Name)
	}
	s.nodes[at] = n
	s.record(change{op: opReplaceNode, node: n, old: old, at: at})
	return nil
}

// AddPod puts a pod on the node at a position, whether it fits or not.
func (s *Snapshot) AddPod(pod fwk.PodInfo, at int) {
	n := s.NodeInfo(at)
	c := change{op: opAddPod, node: n, pod: pod, generation: n.Generation}
	n.AddPodInfo(pod)
	s.record(c)
}

// RemovePod takes a pod off the node at a position.
func (s *Snapshot) RemovePod(pod *corev1.Pod, at int) error {
	n := s.NodeInfo(at)
	c := change{op: opRemovePod, node: n, generation: n.Generation, at: find(n.Pods, pod), affinity: find(n.PodsWithAffinity, pod), anti: find(n.PodsWithRequiredAntiAffinity, pod)}
	if c.at < 0 {
		return fmt.Errorf("pod %s/%s is not on node %s", pod.Namespace, pod.Name, n.Node().Name)
	}
	c.pod = n.Pods[c.at]
	if err := n.RemovePod(klog.Background(), pod); err != nil {
		return fmt.Errorf("take pod %s/%s off node %s: %w", pod.Namespace, pod.Name, n.Node().Name, err)
	}
	restorePorts(n, c.pod)
	s.record(c)
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

func (s *Snapshot) record(c change) {
	s.log = append(s.log, c)
	anti := c.pod != nil && len(c.pod.GetRequiredAntiAffinityTerms()) > 0 ||
		(c.op == opAddNode || c.op == opRemoveNode || c.op == opReplaceNode) && len(c.node.PodsWithRequiredAntiAffinity) > 0 ||
		c.op == opReplaceNode && len(c.old.PodsWithRequiredAntiAffinity) > 0
	if anti {
		s.antiAt = append(s.antiAt, len(s.log))
	}
}

// undo takes one change back. RemovePod of a NodeInfo moves the last pod into the gap, so a removed pod goes back by
// the reverse swap.
func (s *Snapshot) undo(c change) {
	switch c.op {
	case opAddPod:
		// The pod is the last one, so removing it keeps the order. It is there: the log is undone last in first out.
		if err := c.node.RemovePod(klog.Background(), c.pod.GetPod()); err != nil {
			panic(fmt.Sprintf("fit: undo log out of step: %v", err))
		}
		restorePorts(c.node, c.pod)
		c.node.Generation = c.generation
	case opRemovePod:
		c.node.AddPodInfo(c.pod)
		swapLast(c.node.Pods, c.at)
		swapLast(c.node.PodsWithAffinity, c.affinity)
		swapLast(c.node.PodsWithRequiredAntiAffinity, c.anti)
		c.node.Generation = c.generation
	case opAddNode:
		s.cut(c.at)
	case opReplaceNode:
		s.nodes[c.at] = c.old
	case opRemoveNode:
		s.nodes = append(s.nodes, nil)
		copy(s.nodes[c.at+1:], s.nodes[c.at:])
		s.nodes[c.at] = c.node
		s.reindex(c.at)
	}
}

func (s *Snapshot) cut(at int) {
	delete(s.index, s.nodes[at].Node().Name)
	copy(s.nodes[at:], s.nodes[at+1:])
	s.nodes[len(s.nodes)-1] = nil
	s.nodes = s.nodes[:len(s.nodes)-1]
	s.reindex(at)
}

func (s *Snapshot) reindex(from int) {
	for i := from; i < len(s.nodes); i++ {
		s.index[s.nodes[i].Node().Name] = i
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
