package virtualca

import (
	"fmt"
	"hash/fnv"
	"sort"
)

// listingOrder sorts objects into the order in which the autoscaler sees them.
//
// Upstream lists pods and nodes from an informer's cache, a map: in no order at all. Pods in creation order would be a
// possible order, but one that practically never comes up: all pods of an owner stand together then, and first fit
// packs such blocks differently from a mix. So the order is a fixed shuffle: by a hash of the name, the same on every
// run and machine, and as mixed as upstream's. Another seed is another of upstream's orders; 0 adds nothing to the name.
// Ties (none in practice) keep creation order.
func listingOrder[T any](in []T, seed int64, name func(T) string) []T {
	type keyed struct {
		hash uint64
		v    T
	}
	all := make([]keyed, len(in))
	for i, v := range in {
		all[i] = keyed{shuffleKey(seed, name(v)), v}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].hash < all[j].hash })
	out := make([]T, len(in))
	for i := range all {
		out[i] = all[i].v
	}
	return out
}

// shuffleKey is FNV-1a with a finalizer: names that differ in their last digit only must not stay neighbours.
func shuffleKey(seed int64, name string) uint64 {
	h := fnv.New64a()
	if seed != 0 {
		fmt.Fprintf(h, "%d/", seed)
	}
	h.Write([]byte(name))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
