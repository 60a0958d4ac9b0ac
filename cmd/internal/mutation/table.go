package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shown is how many names a cell holds.
const shown = 3

const head = `# What notices a wrong rule

Written by ` + "`make mutation`" + `, which breaks one rule of the virtual autoscaler at a time (` + "`cmd/internal/mutation/mutations.yaml`" + `) and runs the
recorded decisions of the upstream autoscaler on it. A case counts when it agrees without the change and disagrees with it. Where no recorded
case reaches a rule, the unit tests are asked, and the table says so. Seed 0.

`

// page is the table as Markdown, in the order of the list. It is the same in every run.
func page(all []verdict, cases int) string {
	var b strings.Builder
	b.WriteString(head)
	byCases, byTests := 0, 0
	for _, v := range all {
		switch {
		case len(v.cases) > 0 || v.crashed:
			byCases++
		case len(v.tests) > 0:
			byTests++
		}
	}
	fmt.Fprintf(&b, "%d mutations, %d cases: %d are caught by cases, %d by unit tests alone, %d survive.\n\n", len(all), cases, byCases, byTests, len(all)-byCases-byTests)
	b.WriteString("| mutation | the rule it breaks | in | cases | categories | caught by |\n|---|---|---|---|---|---|\n")
	for _, v := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s |\n", v.Name, v.Rule, v.File, len(v.cases), v.categories(), v.by())
	}
	return b.String()
}

// categories are those of the cases that noticed, with how many of each.
func (v verdict) categories() string {
	count := map[string]int{}
	for _, d := range v.cases {
		count[d.Category]++
	}
	names := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	parts := make([]string, 0, len(names))
	for _, n := range names {
		parts = append(parts, fmt.Sprintf("%s %d", n, count[n]))
	}
	return strings.Join(parts, ", ")
}

// by names the first that noticed.
func (v verdict) by() string {
	names := make([]string, 0, len(v.cases))
	for _, d := range v.cases {
		names = append(names, d.Name)
	}
	kind := ""
	switch {
	case v.crashed:
		return "the run of the cases does not end well"
	case len(names) == 0 && len(v.tests) > 0:
		names, kind = v.tests, "unit tests only: "
	case len(names) == 0:
		return "**nothing**"
	}
	more := ""
	if len(names) > shown {
		more = ", ..."
	}
	return kind + strings.Join(names[:min(shown, len(names))], ", ") + more
}
