package report

import "github.com/jedib0t/go-pretty/v6/table"

// NewTable is a table in the look of all reports: kubectl's.
func NewTable() table.Writer { return newTable() }

// Some lists the first n of names and counts the rest: "a, b and 3 more".
func Some(names []string, n int) string { return some(names, n) }
