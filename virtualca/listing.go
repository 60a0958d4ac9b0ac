package virtualca

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// podClass is what a pod means to a loop.
type podClass uint8

const (
	podNowhere podClass = iota // ended, expendable, or the scheduler's concern still
	podBound                   // takes room on a node
	podPending                 // asks for room
)

// listing is how the pods of the last loop were sorted. Objects are shared and never changed in place, so the same pod
// belongs where it belonged, and of a day's thousands of pods a loop looks at the few that are new.
type listing struct {
	pods    []*corev1.Pod
	classes []podClass
	// nodes are numbers of the nodes of bound pods: places in names.
	nodes  []int32
	names  []string
	number map[string]int32

	bound   map[string][]*corev1.Pod
	pending []*corev1.Pod
}

// lookAhead is how many pods in a row may have gone for those behind them to be recognised.
const lookAhead = 64

// update sorts pods, in the order given. What earlier calls returned stays as it was.
func (g *listing) update(pods []*corev1.Pod, classify func(*corev1.Pod) (podClass, string)) {
	if g.bound != nil && slices.Equal(g.pods, pods) {
		return
	}
	if g.number == nil || len(g.names) > 4*len(g.bound)+1000 { // nodes that have gone
		*g = listing{number: map[string]int32{}}
	}
	classes, nodes := make([]podClass, len(pods)), make([]int32, len(pods))
	counts := make([]int32, len(g.names), len(g.names)+16)
	pending, old := 0, 0
	for i, p := range pods {
		for ahead := old; ahead < min(old+lookAhead, len(g.pods)); ahead++ {
			if g.pods[ahead] == p {
				old = ahead
				break
			}
		}
		switch {
		case old < len(g.pods) && g.pods[old] == p:
			classes[i], nodes[i] = g.classes[old], g.nodes[old]
			old++
		default:
			var node string
			if classes[i], node = classify(p); classes[i] == podBound {
				nodes[i] = g.node(node)
			}
			if old < len(g.pods) && g.pods[old].UID == p.UID {
				old++ // a new version in the old place
			}
		}
		switch classes[i] {
		case podBound:
			for int(nodes[i]) >= len(counts) {
				counts = append(counts, 0)
			}
			counts[nodes[i]]++
		case podPending:
			pending++
		}
	}
	g.pods, g.classes, g.nodes = slices.Clone(pods), classes, nodes
	g.sort(counts, pending)
}

// sort makes the lists anew from the classes: one array for all nodes, cut by their counts.
func (g *listing) sort(counts []int32, pending int) {
	total, filled := int32(0), 0
	for _, n := range counts {
		total += n
		if n > 0 {
			filled++
		}
	}
	all, byNode := make([]*corev1.Pod, total), make([][]*corev1.Pod, len(counts))
	for i, from := 0, int32(0); i < len(counts); i++ {
		byNode[i] = all[from : from : from+counts[i]]
		from += counts[i]
	}
	g.pending = make([]*corev1.Pod, 0, pending)
	for i, p := range g.pods {
		switch g.classes[i] {
		case podBound:
			byNode[g.nodes[i]] = append(byNode[g.nodes[i]], p)
		case podPending:
			g.pending = append(g.pending, p)
		}
	}
	g.bound = make(map[string][]*corev1.Pod, filled)
	for i, list := range byNode {
		if len(list) > 0 {
			g.bound[g.names[i]] = list
		}
	}
}

// node is the number of a node.
func (g *listing) node(name string) int32 {
	n, ok := g.number[name]
	if !ok {
		n = int32(len(g.names))
		g.number[name], g.names = n, append(g.names, name)
	}
	return n
}
