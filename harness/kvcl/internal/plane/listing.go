package plane

import (
	"cmp"
	"slices"

	"github.com/scalehist/scalehist"
)

// listing is what Cluster shows, in creation order. A step changes a few of thousands of pods, so a list is the one before
// with these few in their places: a copy of pointers in long runs, without looking at the objects.
type listing struct {
	objects *scalehist.Objects
	// ordinals are those of the objects, by kind, and touched the items that may have changed since.
	ordinals [][]int64
	touched  [][]*item
	// spare is memory for ordinals, by kind: nobody else has them.
	spare [][]int64
}

func newListing() listing {
	l := listing{objects: &scalehist.Objects{}, ordinals: make([][]int64, len(Kinds)), touched: make([][]*item, len(Kinds)), spare: make([][]int64, len(Kinds))}
	for _, k := range Kinds {
		k.patch(l.objects, l.objects, nil, nil, nil) // lists of nothing
	}
	return l
}

// join makes an item one of those that are shown.
func (l *listing) join(it *item) {
	it.listed = true
	l.touch(it)
}

// leave is for an item whose object is gone.
func (l *listing) leave(it *item) {
	it.listed = false
	l.touch(it)
}

// touch is for an item that has another object.
func (l *listing) touch(it *item) {
	l.touched[it.kind.Order] = append(l.touched[it.kind.Order], it)
}

// list returns the objects for Cluster. What it returned before stays as it was.
func (l *listing) list() *scalehist.Objects {
	next := *l.objects
	for _, k := range Kinds {
		if edits := l.edits(k.Order); len(edits) > 0 {
			before := l.ordinals[k.Order]
			now, fresh := k.patch(&next, l.objects, before, l.spare[k.Order], edits)
			if l.ordinals[k.Order] = now; fresh {
				l.spare[k.Order] = before
			}
		}
	}
	*l.objects = next
	return &next
}

// edit is what is to be at an ordinal: nothing where obj is nil.
type edit struct {
	ordinal int64
	obj     scalehist.Object
}

// edits are those of the items that were touched, each once, in creation order.
func (l *listing) edits(kind int) []edit {
	touched := l.touched[kind]
	if len(touched) == 0 {
		return nil
	}
	slices.SortFunc(touched, func(a, b *item) int { return cmp.Compare(a.ordinal, b.ordinal) })
	touched = slices.Compact(touched)
	edits := make([]edit, len(touched))
	for i, it := range touched {
		edits[i].ordinal = it.ordinal
		if it.listed {
			edits[i].obj = it.obj
		}
	}
	clear(touched)
	l.touched[kind] = touched[:0]
	return edits
}

// patched is a list, and the ordinals of what is in it, with edits made. Neither the old list nor its ordinals change; other ordinals
// (fresh) are in the memory of spare, if there is room.
func patched[T scalehist.Object](old []T, ordinals, spare []int64, edits []edit) (list []T, now []int64, fresh bool) {
	if list, ok := replaced(old, ordinals, edits); ok {
		return list, ordinals, false
	}
	list, now = make([]T, 0, len(old)+len(edits)), slices.Grow(spare[:0], len(old)+len(edits))
	from := 0
	for _, e := range edits {
		to, there := slices.BinarySearch(ordinals[from:], e.ordinal)
		to += from
		list, now = append(list, old[from:to]...), append(now, ordinals[from:to]...)
		if e.obj != nil {
			list, now = append(list, e.obj.(T)), append(now, e.ordinal)
		}
		if from = to; there {
			from++
		}
	}
	return append(list, old[from:]...), append(now, ordinals[from:]...), true
}

// replaced is patched where nothing comes or goes, as is usual; false where something does.
func replaced[T scalehist.Object](old []T, ordinals []int64, edits []edit) ([]T, bool) {
	places := make([]int, len(edits))
	for i, e := range edits {
		there := e.obj != nil
		if there {
			places[i], there = slices.BinarySearch(ordinals, e.ordinal)
		}
		if !there {
			return nil, false
		}
	}
	list := slices.Clone(old)
	if list == nil {
		list = []T{}
	}
	for i, e := range edits {
		list[places[i]] = e.obj.(T)
	}
	return list, true
}
