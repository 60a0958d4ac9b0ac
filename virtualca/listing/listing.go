package listing

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Class is what a pod means to a loop.
type Class uint8

// The classes.
const (
	Nowhere Class = iota // ended, expendable, or the scheduler's concern still
	Bound                // takes room on a node
	Pending              // asks for room
)

// Pods is how the pods of the last loop were sorted. Objects are shared and never changed in place, so the same pod
// belongs where it belonged, and of a day's thousands of pods a loop looks at the few that are new.
type Pods struct {
	classed
	// spare is memory for the next call, but for pods.
	spare  classed
	names  []string
	number map[string]int32

	all    []*corev1.Pod
	byNode [][]*corev1.Pod
	// Bound are the pods that take room, by node name; Pending are those that ask for it.
	Bound   map[string][]*corev1.Pod
	Pending []*corev1.Pod
}

// classed are pods with what they mean.
type classed struct {
	pods    []*corev1.Pod
	classes []Class
	// nodes are numbers of the nodes of bound pods: places in names.
	nodes []int32
}

// of is s with room for what is to be known of pods.
func (s classed) of(pods []*corev1.Pod) classed {
	n := len(pods)
	return classed{pods, slices.Grow(s.classes[:0], n)[:n], slices.Grow(s.nodes[:0], n)[:n]}
}

// lookAhead is how many pods in a row may have gone for those behind them to be recognised.
const lookAhead = 64

// Update sorts pods, in the order given, of which the list must stay as it is. Lists of bound pods hold until the next call.
func (g *Pods) Update(pods []*corev1.Pod, classify func(*corev1.Pod) (Class, string)) {
	if g.Bound != nil && slices.Equal(g.pods, pods) {
		return
	}
	if g.number == nil || len(g.names) > 4*len(g.Bound)+1000 { // nodes that are gone
		*g = Pods{number: map[string]int32{}}
	}
	next := g.spare.of(pods)
	classes, nodes := next.classes, next.nodes
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
			nodes[i] = 0
			if classes[i], node = classify(p); classes[i] == Bound {
				nodes[i] = g.node(node)
			}
			if old < len(g.pods) && g.pods[old].UID == p.UID {
				old++ // a new version in the old place
			}
		}
		switch classes[i] {
		case Bound:
			for int(nodes[i]) >= len(counts) {
				counts = append(counts, 0)
			}
			counts[nodes[i]]++
		case Pending:
			pending++
		}
	}
	g.classed, g.spare = next, g.classed
	g.spare.pods = nil
	g.sort(counts, pending)
}

// sort makes the lists again from the classes: one array for all nodes, cut by their counts.
func (g *Pods) sort(counts []int32, pending int) {
	total, filled := int32(0), 0
	for _, n := range counts {
		total += n
		if n > 0 {
			filled++
		}
	}
	clear(g.all[min(int(total), len(g.all)):]) // the rest is filled below
	g.all, g.byNode = slices.Grow(g.all[:0], int(total))[:total], slices.Grow(g.byNode[:0], len(counts))[:len(counts)]
	all, byNode := g.all, g.byNode
	for i, from := 0, int32(0); i < len(counts); i++ {
		byNode[i] = all[from : from : from+counts[i]]
		from += counts[i]
	}
	g.Pending = make([]*corev1.Pod, 0, pending)
	for i, p := range g.pods {
		switch g.classes[i] {
		case Bound:
			byNode[g.nodes[i]] = append(byNode[g.nodes[i]], p)
		case Pending:
			g.Pending = append(g.Pending, p)
		}
	}
	if g.Bound == nil {
		g.Bound = make(map[string][]*corev1.Pod, filled)
	}
	clear(g.Bound)
	for i, list := range byNode {
		if len(list) > 0 {
			g.Bound[g.names[i]] = list
		}
	}
}

// node is the number of a node.
func (g *Pods) node(name string) int32 {
	n, ok := g.number[name]
	if !ok {
		n = int32(len(g.names))
		g.number[name], g.names = n, append(g.names, name)
	}
	return n
}
