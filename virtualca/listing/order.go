package listing

import (
	"cmp"
	"slices"
	"strconv"
)

// Circle sorts objects into the order in which a loop of the autoscaler sees them.
//
// Upstream lists pods from an informer's cache, a map, and Go walks a map that did not change in the same circle each time, from
// a random entry on (seen in the logs of upstream 1.36.1, docs/truth.md). So objects are put on a circle by a hash of name and
// seed, as mixed as upstream's and the same in all loops, and each loop begins at another point of it.
func Circle[T any](in []T, seed int64, loop int, name func(T) string) []T {
	circle := hashed(in, seed, name)
	begin := shuffleKey(seed, "loop "+strconv.Itoa(loop))
	if i := slices.IndexFunc(circle, func(k keyed[T]) bool { return k.hash >= begin }); i > 0 {
		circle = slices.Concat(circle[i:], circle[:i])
	}
	return values(circle)
}

// Shuffle shuffles objects by a hash of the name and a salt, the same on every run and machine. Ties (none in practice) keep
// the order given. Without a name the place in the list is hashed: config.Settings.NamelessTies.
func Shuffle[T any](in []T, salt int64, name func(T) string) []T {
	return values(hashed(in, salt, name))
}

// keyed is an object with its hash.
type keyed[T any] struct {
	hash  uint64
	value T
}

// hashed sorts objects by their hashes. Salt 0 adds nothing to the name.
func hashed[T any](in []T, salt int64, name func(T) string) []keyed[T] {
	all := make([]keyed[T], len(in))
	for i, v := range in {
		self := strconv.Itoa(i)
		if name != nil {
			self = name(v)
		}
		all[i] = keyed[T]{shuffleKey(salt, self), v}
	}
	slices.SortStableFunc(all, func(a, b keyed[T]) int { return cmp.Compare(a.hash, b.hash) })
	return all
}

func values[T any](in []keyed[T]) []T {
	out := make([]T, len(in))
	for i := range in {
		out[i] = in[i].value
	}
	return out
}

// Name is name, or nil where ties must not depend on it.
func Name[T any](nameless bool, name func(T) string) func(T) string {
	if nameless {
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
