package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report/metrics"
)

// addCostNotes puts beside the costs what they do not show.
func addCostNotes(sides []Side, sets []metrics.Set, all []Metric) {
	cost := &all[slices.IndexFunc(all, func(m Metric) bool { return m.Name == "cost" })]
	for i := 1; i < len(sides); i++ {
		note, otherWork := costNote(sides[0].Label, sides[i].Label, sets[0], sets[i])
		if note == "" {
			continue
		}
		cost.Notes = append(cost.Notes, note)
		cost.Values[i].Noted = true
		if otherWork && cost.Values[i].Verdict == "better" {
			cost.Values[i].Verdict = "differs" // what it is, the note says
		}
	}
}

// CostNote says what a change of the cost does not show: why nodes ran longer, and that pods that were left without a node, or that
// waited longer, cost nothing: who is cheaper because of them has saved nothing. Empty when neither is to be said, or a cost is not
// known.
func CostNote(base, side string, a, b metrics.Set) string {
	note, _ := costNote(base, side, a, b)
	return note
}

// costNote is CostNote, and whether the sides did other work: then a lower cost is not simply better.
func costNote(base, side string, a, b metrics.Set) (note string, otherWork bool) {
	from, to := a.Get("cost"), b.Get("cost")
	if from.Value == nil || to.Value == nil || from.Unit != to.Unit {
		return "", false
	}
	change := *to.Value - *from.Value
	leftBase, left := number(a, "unschedulable"), number(b, "unschedulable")
	waitBase, wait := number(a, "pending.pod-seconds"), number(b, "pending.pod-seconds")
	var differs []string
	more := false
	if a, b := leftBase, left; a != b {
		differs = append(differs, fmt.Sprintf("leaves %s without a node (%s: %s)", pods(b), base, pods(a)))
		more = b > a
	} else if a > 0 && change != 0 {
		differs = append(differs, fmt.Sprintf("leaves %s without a node, as %s does", pods(b), base))
	}
	if a, b := waitBase, wait; a != b {
		word := "more"
		if b < a {
			word = "less"
		}
		differs = append(differs, fmt.Sprintf("its pods waited %s %s in all", metrics.Text(max(b-a, a-b), metrics.Seconds), word))
		more = more || b > a && left >= leftBase
	}
	why := nodesWhy(base, change, a, b)
	if len(differs) == 0 && why == "" {
		return "", false
	}
	how := "costs the same"
	switch {
	case change < 0:
		how = "is cheaper"
	case change > 0:
		how = "is dearer"
	}
	note = side + " " + how
	if len(differs) > 0 {
		note += ", and " + strings.Join(differs, ", ")
	}
	counts := left != leftBase || workCounts(a, b)
	switch {
	case change < 0 && more && counts:
		note += ": part of the difference is work not done, so no saving"
	case change > 0 && !more && counts && (wait < waitBase || left < leftBase):
		note += fmt.Sprintf(": part of the difference is work that %s did not do", base)
	}
	if why != "" {
		note += "; " + why
	}
	return note + "; read cost.per-pod-hour beside it", len(differs) > 0
}

// workShare is the least part of a change of the cost, relative to it, by which the pods' hours on nodes must change for work to be
// called a part of it: with a tenth, ten percent more cost want one percent more work.
const workShare = 0.1

// workCounts says whether the hours of pods on nodes changed enough to matter for the change of the cost. Where they are not known
// they may have.
func workCounts(a, b metrics.Set) bool {
	work, known := relative(a, b, "pod-hours")
	cost, _ := relative(a, b, "cost")
	return !known || math.Abs(work) >= workShare*math.Abs(cost)
}

// nodesWhy says what nodes have to do with a change of the cost: that fewer were removed or more were added, where that is so, and how
// much longer they ran. Empty when neither number of nodes goes with the change.
func nodesWhy(base string, change float64, a, b metrics.Set) string {
	removed, added := number(b, "nodes.scaled-down")-number(a, "nodes.scaled-down"), number(b, "nodes.scaled-up")-number(a, "nodes.scaled-up")
	why := ""
	switch {
	case change > 0 && removed < 0, change < 0 && removed > 0:
		why = fmt.Sprintf("it removes %s, %s %.0f", nodes(b, "nodes.scaled-down"), base, number(a, "nodes.scaled-down"))
	case change > 0 && added > 0, change < 0 && added < 0:
		why = fmt.Sprintf("it adds %s, %s %.0f", nodes(b, "nodes.scaled-up"), base, number(a, "nodes.scaled-up"))
	default:
		return ""
	}
	if hours, known := relative(a, b, "node-hours"); known && hours != 0 {
		word := "more"
		if hours < 0 {
			word = "fewer"
		}
		why += fmt.Sprintf(", which makes %s %s node-hours", metrics.Text(100*math.Abs(hours), metrics.Percent), word)
	}
	return why
}

func nodes(s metrics.Set, name string) string { return plural.Of(int(number(s, name)), "node") }

// relative is the change of a metric as a share of its first value; unknown where a value is not known or the first is 0.
func relative(a, b metrics.Set, name string) (share float64, known bool) {
	from, to := a.Get(name), b.Get(name)
	if from.Value == nil || to.Value == nil || *from.Value == 0 {
		return 0, false
	}
	return (*to.Value - *from.Value) / *from.Value, true
}

// number is a metric's value, 0 when there is none.
func number(s metrics.Set, name string) float64 {
	v := s.Get(name)
	if v.Value == nil {
		return 0
	}
	return *v.Value
}

func pods(n float64) string {
	switch n {
	case 0:
		return "no pod"
	case 1:
		return "1 pod"
	}
	return fmt.Sprintf("%.0f pods", n)
}
