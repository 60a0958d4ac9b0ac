package compare

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/scalehist/scalehist/report"
)

// sheet is a table with columns of its own and columns a side. Where it is wider than the page, each row becomes a line
// with its own columns and a line a side.
type sheet struct {
	head  []string // of its own columns
	sides []string
	// each are the heads of a side's columns after the value, which the baseline does not have.
	each []string
	rows []sheetRow
}

// sheetRow has its own cells, and cells a side: the baseline has one, the others 1 + len(each).
type sheetRow struct {
	own   []string
	sides [][]string
}

// render is the sheet as a table, or as lines when the table is wider than the width; 0 is no limit.
func (s sheet) render(width int) string {
	wide := report.Trimmed(s.table().Render())
	if width <= 0 || report.Width(wide) <= width {
		return wide
	}
	return report.Trimmed(s.stacked())
}

func (s sheet) table() table.Writer {
	t := report.NewTable()
	head := cells(s.head...)
	for i, side := range s.sides {
		head = append(head, side)
		if i > 0 {
			head = append(head, cells(s.each...)...)
		}
	}
	t.AppendHeader(head)
	for _, r := range s.rows {
		row := cells(r.own...)
		for _, side := range r.sides {
			row = append(row, cells(side...)...)
		}
		t.AppendRow(row)
	}
	return t
}

// stacked has the lines of the sides aligned with each other over all rows.
func (s sheet) stacked() string {
	t := report.NewTable()
	for _, r := range s.rows {
		for i, side := range r.sides {
			t.AppendRow(append(cells("  ", s.sides[i]), cells(side...)...))
		}
	}
	lines := strings.Split(t.Render(), "\n")
	var b strings.Builder
	for i, r := range s.rows {
		b.WriteString(strings.Join(nonEmpty(r.own), ", ") + "\n")
		for n := range s.sides {
			b.WriteString(lines[i*len(s.sides)+n] + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func cells(texts ...string) table.Row {
	row := make(table.Row, 0, len(texts))
	for _, c := range texts {
		row = append(row, c)
	}
	return row
}

func nonEmpty(list []string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}
