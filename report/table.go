package report

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// NewTable is a table in the look of all reports: kubectl's.
func NewTable() table.Writer { return newTable() }

// Trimmed is a rendered table without the blanks that end its lines, each with a newline.
func Trimmed(table string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(table, "\n") {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Width is how many columns of a terminal a text takes; wide characters take two.
func Width(page string) int {
	w := 0
	for line := range strings.SplitSeq(page, "\n") {
		w = max(w, text.StringWidth(line))
	}
	return w
}

// Some lists the first n of names and counts the rest: "a, b and 3 more".
func Some(names []string, n int) string { return some(names, n) }
