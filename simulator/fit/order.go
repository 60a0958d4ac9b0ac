package fit

// The order in which a search walks the nodes.
//
// Upstream starts one after the last match, but counts positions in a list that it makes again after every change, and the nodes
// that were added in one layer of its snapshot (the base, or a fork) come into that list as Go walks a map: from a random entry on,
// in a circle (core: simulator/clustersnapshot/store, plugin_runner). So a search begins at a random node wherever the last one
// placed a pod in the same layer: among the existing and upcoming nodes when pods are filtered out as schedulable, among the
// new nodes of an estimate. While a removal is tried in a fork, the nodes below it keep their order, and the search takes turns.
// docs/truth.md has what this was measured by.

// turn is how a layer is in the list: the nodes from a position on, up to the next layer's, begin at another node after each
// change of the layer. mark is the length of the log at the last one.
type turn struct{ from, mark int }

// mapSlots is up to how many entries Go keeps a map in one group of slots, filled in the order of insertion. It begins a walk at a
// random slot; one behind the last entry stands for the first.
const mapSlots = 8

// Chance fixes what upstream leaves to chance in the order of nodes; each salt is another of its possible orders. Without it
// searches take turns in the order of the list. It holds until the next Reset.
func (c *Checker) Chance(salt int64) { c.snapshot.chance, c.snapshot.salt = true, salt }

// at is the node at a position of the list.
func (s *Snapshot) at(position int) int {
	if !s.chance {
		return position
	}
	i := len(s.turns) - 1
	for s.turns[i].from > position {
		i--
	}
	t := s.turns[i]
	end := len(s.nodes)
	if i+1 < len(s.turns) {
		end = s.turns[i+1].from
	}
	n := end - t.from
	return t.from + (position-t.from+first(s.salt, i, t.mark, n))%n
}

// first is the entry at which the walk of a layer of n nodes begins.
func first(salt int64, layer, mark, n int) int {
	x := mix(mix(uint64(salt)) ^ mix(uint64(layer)<<32|uint64(mark)))
	if n > mapSlots {
		return int(x % uint64(n))
	}
	if slot := int(x % mapSlots); slot < n {
		return slot
	}
	return 0
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// layered notes a change of the top layer.
func (s *Snapshot) layered() { s.turns[len(s.turns)-1].mark = len(s.log) }

// shift keeps the layers above a position with their nodes when one comes there (1) or is taken out (-1).
func (s *Snapshot) shift(position, by int) {
	for i := range s.turns {
		if s.turns[i].from > position {
			s.turns[i].from += by
		}
	}
}
