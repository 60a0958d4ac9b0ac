package virtualca

import (
	"cmp"
	"slices"

	"github.com/scalehist/scalehist"
)

// balance spreads n new nodes over groups so that their sizes level up: always one more for the smallest that is below
// its max size. Groups come out in ascending order of their size before, ties in input order, and only those that
// change (processors/nodegroupset/balancing_processor.go).
func balance(groups []scalehist.NodeGroup, n int) []scalehist.ScaleUp {
	var plan []scalehist.ScaleUp
	free := 0
	for _, g := range groups {
		if g.TargetSize >= g.MaxSize {
			continue
		}
		plan = append(plan, scalehist.ScaleUp{NodeGroup: g.Name, From: g.TargetSize, To: g.TargetSize, Max: g.MaxSize})
		free += g.MaxSize - g.TargetSize
	}
	slices.SortStableFunc(plan, func(a, b scalehist.ScaleUp) int { return cmp.Compare(a.From, b.From) })
	for n = min(n, free); n > 0; n-- {
		smallest := -1
		for i := range plan {
			if plan[i].To < plan[i].Max && (smallest < 0 || plan[i].To < plan[smallest].To) {
				smallest = i
			}
		}
		plan[smallest].To++
	}
	out := plan[:0]
	for _, p := range plan {
		if p.To != p.From {
			out = append(out, p)
		}
	}
	return out
}
