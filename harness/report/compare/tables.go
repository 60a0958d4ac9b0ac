package compare

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/scalehist/scalehist/harness/report"
	"github.com/scalehist/scalehist/harness/report/metrics"
)

func header(c *Comparison, first ...string) table.Row {
	var row table.Row
	for _, f := range first {
		row = append(row, f)
	}
	for _, s := range c.Sides {
		row = append(row, s.Label)
	}
	return row
}

// rows shows sizes as "1 -> 3 (+2 -0)", and the difference of the net changes against the baseline.
func (c *Comparison) rows(what string, rows []Row, groups bool) table.Writer {
	t := report.NewTable()
	head := table.Row{what}
	if groups {
		head = append(head, "machine", "zone")
	}
	for i, s := range c.Sides {
		head = append(head, s.Label)
		if i > 0 {
			head = append(head, "delta")
		}
	}
	t.AppendHeader(head)
	for _, r := range rows {
		name := r.Name
		if name == "" {
			name = "(no zone)"
		}
		row := table.Row{name}
		if groups {
			row = append(row, r.MachineType, r.Zone)
		}
		for i, s := range r.Sizes {
			row = append(row, s.text())
			if i > 0 {
				row = append(row, s.delta(r.Sizes[0]))
			}
		}
		t.AppendRow(row)
	}
	return t
}

func (s Sizes) text() string {
	if s.Absent {
		return "absent"
	}
	return fmt.Sprintf("%d->%d (+%d -%d)", s.Initial, s.Final, s.ScaledUp, s.ScaledDown)
}

// delta is the difference of the net changes, in nodes.
func (s Sizes) delta(base Sizes) string {
	switch d := (s.ScaledUp - s.ScaledDown) - (base.ScaledUp - base.ScaledDown); {
	case s == base:
		return "="
	case s.Absent || base.Absent:
		return "absent"
	case d == 0:
		return "= net"
	default:
		return fmt.Sprintf("%+d", d)
	}
}

func (c *Comparison) metricTable() table.Writer {
	t := report.NewTable()
	head := table.Row{"metric"}
	for i, s := range c.Sides {
		head = append(head, s.Label)
		if i > 0 {
			head = append(head, "change", "")
		}
	}
	t.AppendHeader(head)
	for _, m := range c.Metrics {
		if !m.known() {
			continue
		}
		row := table.Row{m.Name}
		for i, v := range m.Values {
			row = append(row, v.text(m.Unit))
			if i > 0 {
				row = append(row, v.change(m.Unit), verdictMark(v))
			}
		}
		t.AppendRow(row)
	}
	return t
}

// known says whether any side has a number.
func (m Metric) known() bool {
	for _, v := range m.Values {
		if v.Value != nil {
			return true
		}
	}
	return false
}

func (v Value) text(unit string) string {
	if v.Value == nil {
		return "-"
	}
	return metrics.Text(*v.Value, unit)
}

// change prints "+12s (+40 %)".
func (v Value) change(unit string) string {
	if v.Change == nil {
		return ""
	}
	if *v.Change == 0 {
		return "="
	}
	text := metrics.Signed(*v.Change, unit)
	if unit == metrics.Percent {
		text = strings.TrimSuffix(text, " %") + " points"
	}
	if v.Relative != nil {
		text += fmt.Sprintf(" (%s)", metrics.Signed(*v.Relative, metrics.Percent))
	}
	return text
}

func verdictMark(v Value) string {
	mark := v.Verdict
	if v.Verdict == "same" || v.Verdict == "differs" {
		mark = ""
	}
	if v.Noted {
		mark = strings.TrimPrefix(mark+", see below", ", ")
	}
	return mark
}
