package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist/harness/report/metrics"
)

// addCostNotes puts beside the costs what they do not show.
func addCostNotes(sides []Side, sets []metrics.Set, all []Metric) {
	cost := &all[slices.IndexFunc(all, func(m Metric) bool { return m.Name == "cost" })]
	for i := 1; i < len(sides); i++ {
		note := CostNote(sides[0].Label, sides[i].Label, sets[0], sets[i])
		if note == "" {
			continue
		}
		cost.Notes = append(cost.Notes, note)
		cost.Values[i].Noted = true
		if cost.Values[i].Verdict == "better" {
			cost.Values[i].Verdict = "differs" // what it is, the note says
		}
	}
}

// CostNote says what a change of the cost does not show: pods that were left without a node, or that waited longer, cost
// nothing, and who is cheaper because of them has saved nothing. Empty when the work done is the same, or a cost is not known.
func CostNote(base, side string, a, b metrics.Set) string {
	from, to := a.Get("cost"), b.Get("cost")
	if from.Value == nil || to.Value == nil || from.Unit != to.Unit {
		return ""
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
	if len(differs) == 0 {
		return ""
	}
	how := "costs the same"
	switch {
	case change < 0:
		how = "is cheaper"
	case change > 0:
		how = "is dearer"
	}
	note := fmt.Sprintf("%s %s, and %s", side, how, strings.Join(differs, ", "))
	switch {
	case change < 0 && more:
		note += ": part of the difference is work not done, so no saving"
	case change > 0 && !more && (wait < waitBase || left < leftBase):
		note += fmt.Sprintf(": part of the difference is work that %s did not do", base)
	}
	return note + "; read cost.per-pod-hour beside it"
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
