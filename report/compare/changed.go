package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report/metrics"
)

// Changed measures how far b decides otherwise than a: a value for each of metrics.Pairs.
func Changed(a, b *scalehist.ReplayReport) metrics.Set {
	values := map[string]float64{"decisions.changed": float64(decisionsChanged(a, b)), "node-groups.changed": float64(len(GroupsChanged(a, b)))}
	out := metrics.Set{}
	for _, m := range metrics.Pairs() {
		v := values[m.Name]
		out = append(out, metrics.Value{Name: m.Name, Unit: m.Unit, Value: &v})
	}
	return out
}

// Unchanged has the values that Changed gives of a report and itself.
func Unchanged() metrics.Set {
	out := metrics.Set{}
	for _, m := range metrics.Pairs() {
		out = append(out, metrics.Value{Name: m.Name, Unit: m.Unit, Value: new(float64)})
	}
	return out
}

// decisionsChanged counts the decisions that only one side took; those of one instant that say the same are one each.
func decisionsChanged(a, b *scalehist.ReplayReport) int {
	base, side := sideOf(a), sideOf(b)
	count := map[string]int{}
	for _, i := range base.acts {
		count[base.did(i)]++
	}
	onlyB := 0
	for _, i := range side.acts {
		if what := side.did(i); count[what] > 0 {
			count[what]--
		} else {
			onlyB++
		}
	}
	onlyA := 0
	for _, n := range count {
		onlyA += n
	}
	return max(onlyA, onlyB)
}

// GroupsChanged names the node groups that scale otherwise, in name order, with both sides: "za +3 -0 instead of +1 -0".
func GroupsChanged(a, b *scalehist.ReplayReport) []string {
	type moved struct{ up, down int }
	moves := func(r *scalehist.ReplayReport) map[string]moved {
		out := map[string]moved{}
		for _, g := range r.NodeGroups {
			out[g.Name] = moved{g.ScaledUp, g.ScaledDown}
		}
		return out
	}
	was, is := moves(a), moves(b)
	var out []string
	for name, m := range is {
		switch before, known := was[name]; {
		case !known:
			out = append(out, name+" is new")
		case before != m:
			out = append(out, fmt.Sprintf("%s +%d -%d instead of +%d -%d", name, m.up, m.down, before.up, before.down))
		}
	}
	for name := range was {
		if _, known := is[name]; !known {
			out = append(out, name+" is gone")
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
