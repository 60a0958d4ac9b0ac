package backtest

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report"
)

// Level says how far a table goes into detail.
type Level string

// The levels of tables.
const (
	LevelCluster   Level = "cluster"
	LevelWorkload  Level = "workload"
	LevelContainer Level = "container"
)

// Levels lists them, the default first.
var Levels = []Level{LevelCluster, LevelWorkload, LevelContainer}

// Text is the report as a page for a terminal.
func (r *Report) Text(level Level) string {
	r = plaintext.Values(r)
	var b strings.Builder
	workloads := len(r.Candidates[0].Workloads)
	fmt.Fprintf(&b, "backtest of %s: %s, %s judged, %s\n\n", r.History, plural.Of(workloads, "workload"), r.To.Sub(r.JudgedFrom), plural.Of(len(r.Candidates), "candidate"))
	t := report.NewTable()
	head := table.Row{"", "candidate"}
	if level != LevelCluster {
		head = append(head, "workload")
	}
	if level == LevelContainer {
		head = append(head, "container")
	}
	t.AppendHeader(append(head, "CPU requested", "slack", "overrun", "throttled", "memory requested", "slack", "overrun", "OOMs", "evicted", "resized"))
	row := func(c *Result, names []any, m *Measures) {
		mark := ""
		if c.Front {
			mark = "*"
		}
		cells := append(table.Row{mark, c.Label}, names...)
		t.AppendRow(append(cells, number(m.CPU.Requested)+" core-h", percent(m.CPU.RelativeSlack), percent(by(m.CPU.Overrun, m.CPU.Used)), throttled(m),
			number(m.Memory.Requested)+" GiB-h", percent(m.Memory.RelativeSlack), percent(by(m.Memory.Overrun, m.Memory.Used)), fmt.Sprint(m.OOMs), fmt.Sprint(m.Evictions), fmt.Sprint(m.Resizes)))
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		switch level {
		case LevelWorkload:
			for k := range c.Workloads {
				row(c, []any{c.Workloads[k].Workload}, &c.Workloads[k].Measures)
			}
		case LevelContainer:
			for k := range c.Workloads {
				for n := range c.Workloads[k].Containers {
					p := &c.Workloads[k].Containers[n]
					row(c, []any{c.Workloads[k].Workload, p.Container}, &p.Measures)
				}
			}
		default:
			row(c, nil, &c.Cluster)
		}
	}
	b.WriteString(report.Trimmed(t.Render()))
	b.WriteString("\n" + r.quality())
	fmt.Fprintf(&b, "\n* no other candidate is as good in %s and %s, and better in one of them\n", r.Front[0], r.Front[1])
	if len(r.Notes) > 0 {
		b.WriteString("\nnotes\n")
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "  %s\n", n)
		}
	}
	return b.String()
}

// quality is the table of Autopilot's and upstream's measures of the cluster.
func (r *Report) quality() string {
	t := report.NewTable()
	t.AppendHeader(table.Row{"candidate", "Autopilot slack: CPU", "memory", "OOM days", "severe", "usage to recommendation: CPU", "memory", "missing", "changes", "mean change: CPU", "memory"})
	for i := range r.Candidates {
		c := &r.Candidates[i]
		m := &c.Cluster
		cells := table.Row{c.Label, percent(m.CPU.Autopilot), percent(m.Memory.Autopilot), fmt.Sprintf("%d of %d", m.OOMDays, m.Days), fmt.Sprint(m.SevereOOMDays)}
		if m.CPU.Quality.OverSamples+m.CPU.Quality.LowerSamples+m.CPU.Quality.Missing == 0 {
			cells = append(cells, "-", "-", "-", "-", "-", "-")
		} else {
			cells = append(cells, signed(m.CPU.Quality.RelativeDiff), signed(m.Memory.Quality.RelativeDiff), fmt.Sprint(m.CPU.Quality.Missing+m.Memory.Quality.Missing),
				fmt.Sprint(m.CPU.Quality.Changes+m.Memory.Quality.Changes), percent(m.CPU.Quality.Change), percent(m.Memory.Quality.Change))
		}
		t.AppendRow(cells)
	}
	return report.Trimmed(t.Render())
}

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

func signed(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }

func throttled(m *Measures) string {
	if m.Limited == 0 {
		return "-"
	}
	return percent(m.Throttled)
}

func number(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
