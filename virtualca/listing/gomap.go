package listing

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// How Go walks a map (since 1.24, internal/runtime/maps): slot by slot in a circle, from a random slot on. Up to eight entries are in one
// group of slots, in the order in which they came, and one that is removed leaves its slot to the next that comes. So a walk of a small map
// mostly begins with its first entry: with three entries five of eight slots are behind the last, and six of eight beginnings come to the first.
// A larger map has its entries where their hashes fall, and never becomes small again. Upstream's order of nodes and of pods is such a walk.
const (
	groupSlots = 8
	// maxLoad of the slots of a group are filled before a map grows.
	maxLoad = 7
)

// goMap is the keys of a map in their slots; "" is a free one.
type goMap struct {
	slots []string
	at    map[string]int
	hash  func(key string) uint64
}

func newGoMap(hash func(key string) uint64) *goMap {
	return &goMap{slots: make([]string, groupSlots), at: map[string]int{}, hash: hash}
}

// put adds a key that is not there.
func (m *goMap) put(key string) {
	if len(m.slots) == groupSlots {
		if at := slices.Index(m.slots, ""); at >= 0 {
			m.slots[at], m.at[key] = key, at
			return
		}
	}
	if len(m.at) >= len(m.slots)/groupSlots*maxLoad {
		old := m.slots
		m.slots = make([]string, 2*len(old))
		for _, k := range old {
			if k != "" {
				m.place(k)
			}
		}
	}
	m.place(key)
}

// place puts a key into the first group with room from the one of its hash on, in triangular steps.
func (m *goMap) place(key string) {
	groups := uint64(len(m.slots) / groupSlots)
	g := m.hash(key) % groups
	for step := uint64(1); ; step++ {
		group := m.slots[g*groupSlots : (g+1)*groupSlots]
		if i := slices.Index(group, ""); i >= 0 {
			group[i], m.at[key] = key, int(g)*groupSlots+i //nolint:gosec // a place in a slice
			return
		}
		g = (g + step) % groups
	}
}

// remove takes a key out, if it is there.
func (m *goMap) remove(key string) {
	if at, ok := m.at[key]; ok {
		m.slots[at] = ""
		delete(m.at, key)
	}
}

// walk lists the keys, from a slot on that chance picks.
func (m *goMap) walk(chance uint64) []string {
	begin := int(chance % uint64(len(m.slots))) //nolint:gosec // a place in a slice
	out := make([]string, 0, len(m.at))
	for _, part := range [][]string{m.slots[begin:], m.slots[:begin]} {
		for _, k := range part {
			if k != "" {
				out = append(out, k)
			}
		}
	}
	return out
}

// Nodes is the informer's cache of nodes, from which a loop lists them.
type Nodes struct{ *goMap }

// List is the order in which a loop sees nodes. What the first loop sees came by name, as the API server lists it, later nodes as they joined.
func (s *Nodes) List(nodes []*corev1.Node, seed int64, loop int) []*corev1.Node {
	byName := make(map[string]*corev1.Node, len(nodes))
	for _, n := range nodes {
		byName[n.Name] = n
	}
	fresh := nodes
	if s.goMap == nil {
		s.goMap = newGoMap(func(name string) uint64 { return shuffleKey(seed, name) })
		fresh = slices.SortedFunc(slices.Values(nodes), func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, name := range s.slots {
		if byName[name] == nil {
			s.remove(name)
		}
	}
	for _, n := range fresh {
		if _, known := s.at[n.Name]; !known {
			s.put(n.Name)
		}
	}
	out := make([]*corev1.Node, 0, len(nodes))
	for _, name := range s.walk(shuffleKey(seed, "nodes of loop "+strconv.Itoa(loop))) {
		out = append(out, byName[name])
	}
	return out
}

// FreshWalk is a walk of a map that was just made, with entries put in their order.
func FreshWalk(keys []string, seed int64, loop int) []string {
	salt := "map of loop " + strconv.Itoa(loop)
	m := newGoMap(func(key string) uint64 { return shuffleKey(seed, salt+"/"+key) })
	for _, k := range keys {
		m.put(k)
	}
	return m.walk(shuffleKey(seed, salt))
}
