package recorder

import (
	"slices"
	"strconv"

	"github.com/scalehist/scalehist/recorder/history"
)

// byVersion puts the changes of one batch that say their place (order, "" for those that do not) into the order in
// which the API server made them, whatever watch was faster; the observed times stay where they are, so that they still
// ascend. A change is moved within its batch only: by less than BatchInterval while the writer keeps up.
func byVersion(batch []history.Entry, order []string) {
	type versioned struct {
		entry   history.Entry
		version uint64
	}
	var list []versioned
	var places []int
	sorted := true
	for i, v := range order {
		n, err := strconv.ParseUint(v, 10, 64)
		if err != nil {
			continue
		}
		if len(list) > 0 && n < list[len(list)-1].version {
			sorted = false
		}
		list = append(list, versioned{batch[i], n})
		places = append(places, i)
	}
	if sorted {
		return
	}
	slices.SortStableFunc(list, func(a, b versioned) int {
		if a.version < b.version {
			return -1
		}
		if a.version > b.version {
			return 1
		}
		return 0
	})
	for i, at := range places {
		seen := batch[at].ObservedAt
		batch[at] = list[i].entry
		batch[at].ObservedAt = seen
	}
}
