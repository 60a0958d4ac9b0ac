package virtualca

import (
	"cmp"
	"slices"
	"strconv"
)

// listingOrder sorts objects into the order in which the autoscaler sees them.
//
// Upstream lists pods from an informer's cache, a map: in another order every loop. Pods in creation order would be a
// possible order, but one that practically never comes up: all pods of an owner stand together then, and first fit
// packs such blocks differently from a mix. One order for all loops would hide that upstream, looking again at once
// after a scale-up, packs the same pods anew and often asks for a node more. So the order is a shuffle by a hash of the
// name and a salt, made of the seed and the loop: the same on every run and machine, and as mixed as upstream's.
// Salt 0 adds nothing to the name. Ties (none in practice) keep creation order. Without a name the place in the list is
// hashed: Settings.NamelessTies.
func listingOrder[T any](in []T, salt int64, name func(T) string) []T {
	type keyed struct {
		hash uint64
		v    T
	}
	all := make([]keyed, len(in))
	for i, v := range in {
		self := strconv.Itoa(i)
		if name != nil {
			self = name(v)
		}
		all[i] = keyed{shuffleKey(salt, self), v}
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return cmp.Compare(a.hash, b.hash) })
	out := make([]T, len(in))
	for i := range all {
		out[i] = all[i].v
	}
	return out
}

// tieName is name, or nil where ties must not depend on it.
func tieName[T any](s *Settings, name func(T) string) func(T) string {
	if s.NamelessTies {
		return nil
	}
	return name
}

const fnvPrime = 1099511628211

// shuffleKey is FNV-1a with a finalizer: names that differ in their last digit only must not stay neighbours.
func shuffleKey(salt int64, name string) uint64 {
	x := uint64(14695981039346656037)
	if salt != 0 {
		var buf [24]byte
		for _, b := range append(strconv.AppendInt(buf[:0], salt, 10), '/') {
			x = (x ^ uint64(b)) * fnvPrime
		}
	}
	for i := range len(name) {
		x = (x ^ uint64(name[i])) * fnvPrime
	}
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
