package recall

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// node is what we know of a node of the scheduler's snapshot.
type node struct {
	info *framework.NodeInfo
	name string
	// slot is the place of the node in all memories. Slots of nodes that left are given to others.
	slot int
	// generation is that of the fields below.
	generation int64
	// zone numbers the value of the zone label; a node without the label is of the zone "".
	zone             int
	hasZone, hasHost bool
	hasImages        bool
	pods             []*corev1.Pod
	// steps are the last changes of pods, oldest first: who counted at the generation before one can go on from there.
	steps []step
}

// step is what changed about the pods of a node since a generation.
type step struct {
	since      int64
	gone, came []*corev1.Pod
}

// maxSteps is how many changes of a node are kept.
const maxSteps = 64

// nodes are the nodes of the scheduler's snapshot.
type nodes struct {
	// list is the snapshot's own: it makes another when a node joins or leaves.
	list   []fwk.NodeInfo
	listed []*node // as in list
	byName []*node // sorted
	slots  int
	free   []int
	zones  map[string]int
	// withImages is how many nodes have images.
	withImages int
}

// sync takes over the snapshot's list.
func (n *nodes) sync(list []fwk.NodeInfo) bool {
	if len(n.list) == len(list) && len(list) > 0 && &n.list[0] == &list[0] {
		return true
	}
	old := make(map[string]*node, len(n.byName))
	for _, x := range n.byName {
		old[x.name] = x
	}
	n.list, n.listed = list, make([]*node, 0, len(list))
	var joined []*node
	for _, i := range list {
		info, ok := i.(*framework.NodeInfo)
		if !ok {
			n.list = nil
			return false
		}
		name := info.Node().Name
		x := old[name]
		if x == nil {
			x = &node{name: name}
			joined = append(joined, x)
		}
		delete(old, name)
		x.info = info
		n.listed = append(n.listed, x)
	}
	for _, gone := range old {
		if gone.hasImages {
			n.withImages--
		}
		n.free = append(n.free, gone.slot)
	}
	for _, x := range joined {
		if last := len(n.free) - 1; last >= 0 {
			x.slot, n.free = n.free[last], n.free[:last]
		} else {
			x.slot = n.slots
			n.slots++
		}
	}
	n.byName = slices.Clone(n.listed)
	slices.SortFunc(n.byName, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	return true
}

// look notes what a node that changed is like now.
func (n *nodes) look(x *node) {
	labels := x.info.Node().Labels
	zone, hasZone := labels[corev1.LabelTopologyZone]
	_, x.hasHost = labels[corev1.LabelHostname]
	x.hasZone = hasZone
	number, ok := n.zones[zone]
	if !ok {
		if n.zones == nil {
			n.zones = map[string]int{}
		}
		number = len(n.zones)
		n.zones[zone] = number
	}
	x.zone = number
	if has := len(x.info.ImageStates) > 0; has != x.hasImages {
		x.hasImages = has
		if has {
			n.withImages++
		} else {
			n.withImages--
		}
	}
	x.lookAtPods()
	x.generation = x.info.Generation
}

// lookAtPods notes which pods are on a node, and what changed since it was looked at last. A pod in another place of the
// list has gone and come, which adds up to nothing.
func (x *node) lookAtPods() {
	var s step
	for i, info := range x.info.Pods {
		p := info.GetPod()
		switch {
		case i == len(x.pods):
			x.pods = append(x.pods, p)
		case x.pods[i] == p:
			continue
		default:
			s.gone = append(s.gone, x.pods[i])
			x.pods[i] = p
		}
		s.came = append(s.came, p)
	}
	left := len(x.info.Pods)
	s.gone = append(s.gone, x.pods[left:]...)
	clear(x.pods[left:])
	x.pods = x.pods[:left]
	if len(x.steps) == maxSteps {
		x.steps = slices.Delete(x.steps, 0, 1)
	}
	s.since = x.generation
	x.steps = append(x.steps, s)
}

// since are the changes of pods since a generation; false when it is too long ago.
func (x *node) since(generation int64) ([]step, bool) {
	i, ok := slices.BinarySearchFunc(x.steps, generation, func(s step, g int64) int { return cmp.Compare(s.since, g) })
	return x.steps[i:], ok
}
