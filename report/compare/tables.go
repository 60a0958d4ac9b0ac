package compare

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/scalehist/scalehist/report/metrics"
)

// sheet is an empty one with a column a side.
func (c *Comparison) sheet(each []string, head ...string) sheet {
	s := sheet{head: head, each: each}
	for _, side := range c.Sides {
		s.sides = append(s.sides, side.Label)
	}
	return s
}

// rows shows sizes as "1 -> 3 (+2 -0)", and the difference of the net changes against the baseline.
func (c *Comparison) rows(what string, rows []Row, groups bool) sheet {
	t := c.sheet([]string{"delta"}, what)
	if groups {
		t.head = append(t.head, "machine", "zone")
	}
	for _, r := range rows {
		row := sheetRow{own: []string{cmp.Or(r.Name, "(no zone)")}}
		if groups {
			row.own = append(row.own, r.MachineType, r.Zone)
		}
		for i, s := range r.Sizes {
			cells := []string{s.text()}
			if i > 0 {
				cells = append(cells, s.delta(r.Sizes[0]))
			}
			row.sides = append(row.sides, cells)
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (s Sizes) text() string {
	if s.Absent {
		return "absent"
	}
	text := fmt.Sprintf("%d->%d (+%d -%d)", s.Initial, s.Final, s.ScaledUp, s.ScaledDown)
	if s.Peak > 0 {
		text += fmt.Sprintf(", peak %d", s.Peak)
	}
	return text
}

// delta is the difference of the net changes, in nodes or replicas.
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

func (c *Comparison) metricTable() sheet {
	t := c.sheet([]string{"change", ""}, "metric")
	for _, m := range c.Metrics {
		if !m.known() {
			continue
		}
		row := sheetRow{own: []string{m.Name}}
		texts := m.texts()
		for i, v := range m.Values {
			cells := []string{texts[i]}
			if i > 0 {
				cells = append(cells, v.change(m.Unit), verdictMark(v))
			}
			row.sides = append(row.sides, cells)
		}
		t.rows = append(t.rows, row)
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

// texts are the values of all sides, with enough digits to tell them apart, and "-" where there is none.
func (m Metric) texts() []string {
	var numbers []float64
	for _, v := range m.Values {
		if v.Value != nil {
			numbers = append(numbers, *v.Value)
		}
	}
	known := metrics.Texts(numbers, m.Unit)
	var out []string
	for _, v := range m.Values {
		if v.Value == nil {
			out = append(out, "-")
			continue
		}
		out, known = append(out, known[0]), known[1:]
	}
	return out
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
