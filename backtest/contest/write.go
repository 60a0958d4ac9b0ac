package contest

import (
	"fmt"
	"strings"
)

// Markdown is two tables: the penalty of each recommender on each load, the least in bold, and what it is made of, as means over loads.
func Markdown(entries []Entry) string {
	var b strings.Builder
	b.WriteString("| penalty |")
	for _, l := range Loads {
		fmt.Fprintf(&b, " %s |", l.Name)
	}
	b.WriteString(" mean |\n|---|" + strings.Repeat("---|", len(Loads)+1) + "\n")
	n := len(entries) / len(Loads) // entries of a load
	least := make([]float64, len(Loads))
	for l := range Loads {
		least[l] = entries[l*n].Penalty.Mean
		for i := range n {
			least[l] = min(least[l], entries[l*n+i].Penalty.Mean)
		}
	}
	for i := range n {
		fmt.Fprintf(&b, "| %s |", entries[i].Recommender)
		mean := 0.0
		for l := range Loads {
			e := &entries[l*n+i]
			cell := fmt.Sprintf("%.3f ± %.3f", e.Penalty.Mean, e.Penalty.Half)
			if e.Penalty.Mean == least[l] {
				cell = "**" + cell + "**"
			}
			switch {
			case e.AgainstVPA.Mean+e.AgainstVPA.Half < 0:
				cell += " ▼"
			case e.AgainstVPA.Mean-e.AgainstVPA.Half > 0:
				cell += " ▲"
			}
			fmt.Fprintf(&b, " %s |", cell)
			mean += e.Penalty.Mean / float64(len(Loads))
		}
		fmt.Fprintf(&b, " %.3f |\n", mean)
	}
	b.WriteString("\n| mean over loads | slack | time throttled | time down | evictions per container and day |\n|---|---|---|---|---|\n")
	for i := range n {
		var sum [4]float64
		for l := range Loads {
			e := &entries[l*n+i]
			for k, m := range []Measured{e.Slack, e.Throttled, e.Down, e.Evictions} {
				sum[k] += m.Mean / float64(len(Loads))
			}
		}
		fmt.Fprintf(&b, "| %s | %.1f %% | %.2f %% | %.2f %% | %.2f |\n", entries[i].Recommender, 100*sum[0], 100*sum[1], 100*sum[2], sum[3])
	}
	return b.String()
}

// CSV has a row for each entry, with all measures and half their confidence intervals.
func CSV(entries []Entry) string {
	var b strings.Builder
	b.WriteString("load,recommender,penalty,penalty_half,slack,slack_half,throttled,throttled_half,down,down_half,evictions_per_day,evictions_per_day_half,penalty_less_vpa,penalty_less_vpa_half\n")
	for _, e := range entries {
		fmt.Fprintf(&b, "%s,%q", e.Load, e.Recommender)
		for _, m := range []Measured{e.Penalty, e.Slack, e.Throttled, e.Down, e.Evictions, e.AgainstVPA} {
			fmt.Fprintf(&b, ",%.6g,%.6g", m.Mean, m.Half)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
