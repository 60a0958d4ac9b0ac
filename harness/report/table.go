package report

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/scalehist/scalehist"
)

// NewTable is a table in the look of all reports: kubectl's.
func NewTable() table.Writer { return newTable() }

// Some lists the first n of names and counts the rest: "a, b and 3 more".
func Some(names []string, n int) string { return some(names, n) }

// Indent puts by before each line, and takes blanks off their ends.
func Indent(s, by string) string { return indent(s, by) }

// SizesLine says in a line what scaled: "batch 0->3, std 1->2".
func SizesLine(r *scalehist.ReplayReport) string {
	var parts []string
	for _, g := range r.NodeGroups {
		if g.ScaledUp+g.ScaledDown > 0 {
			parts = append(parts, fmt.Sprintf("%s %d->%d", g.Name, g.Initial, g.Final))
		}
	}
	if len(parts) == 0 {
		return "nothing scaled"
	}
	return strings.Join(parts, ", ")
}
