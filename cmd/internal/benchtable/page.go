package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// page writes everything as Markdown.
func page(out io.Writer, r *results, refs []reference) error {
	var b strings.Builder
	b.WriteString("# Measured\n\n")
	for _, n := range r.notes {
		fmt.Fprintf(&b, "- %s: %s\n", n.key, n.value)
	}
	b.WriteString("\nSeconds are wall time, the median of the runs and their range. `load1` is the load average when a benchmark ended: on a machine that\nis busy with other things, read `cpu s`.\n")
	planesTable(&b, r)
	splitTable(&b, r)
	heapTable(&b, r)
	budgetTable(&b, r, refs)
	publishedTable(&b, r, refs)
	othersTable(&b, r)
	_, err := io.WriteString(out, b.String())
	return err
}

// table writes one, unless it is empty.
func table(b *strings.Builder, title string, head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
	}
}

// planesTable compares wall time across planes: how many times the first one takes what each other takes.
func planesTable(b *strings.Builder, r *results) {
	planes := r.planes()
	head := append([]string{"benchmark"}, planes...)
	for _, p := range planes[min(1, len(planes)):] {
		head = append(head, planes[0]+" / "+p)
	}
	var rows [][]string
	for _, base := range r.bases(true) {
		row := []string{base}
		first, known := r.seconds(name{base, planes[0]})
		var ratios []string
		for i, p := range planes {
			s, ok := r.seconds(name{base, p})
			row = append(row, show(s, ok))
			if i > 0 {
				ratios = append(ratios, ratio(first.median, s.median, known && ok))
			}
		}
		rows = append(rows, append(row, ratios...))
	}
	table(b, "Control planes, seconds", head, rows)
}

// splits are the columns of where time and memory go.
var splits = []struct{ head, unit string }{
	{"apply s", "apply-s/op"}, {"schedule s", "schedule-s/op"}, {"decide s", "decide-s/op"}, {"cpu s", "cpu-s/op"}, {"pods/s", "pods/s"},
	{"peak MB, all processes", "peak-MB/op"}, {"report MB", "report-MB/op"}, {"nodes at most", "nodes-peak"}, {"load1", "load1"},
}

func splitTable(b *strings.Builder, r *results) {
	var used []struct{ head, unit string }
	for _, s := range splits {
		if slices.ContainsFunc(r.names, func(n name) bool { _, ok := r.sample(n, s.unit); return n.plane != "" && ok }) {
			used = append(used, s)
		}
	}
	head := []string{"benchmark", "plane", "runs", "seconds"}
	for _, s := range used {
		head = append(head, s.head)
	}
	var rows [][]string
	for _, base := range r.bases(true) {
		for _, p := range r.planes() {
			n := name{base, p}
			s, ok := r.seconds(n)
			if !ok {
				continue
			}
			row := []string{base, p, fmt.Sprint(s.n), digits(s.median)}
			for _, u := range used {
				v, ok := r.sample(n, u.unit)
				row = append(row, value(v.median, ok))
			}
			rows = append(rows, row)
		}
	}
	table(b, "Where time and memory go", head, rows)
}

func heapTable(b *strings.Builder, r *results) {
	days := 0
	for _, n := range r.names {
		days = max(days, len(r.heapDays(n)))
	}
	if days < 2 {
		return
	}
	head := []string{"benchmark", "plane"}
	for d := range days {
		head = append(head, fmt.Sprintf("day %d", d+1))
	}
	head = append(head, "growth", "report, in proportion")
	var rows [][]string
	for _, n := range r.names {
		units := r.heapDays(n)
		if len(units) < 2 {
			continue
		}
		row := []string{n.base, n.plane}
		for d := range days {
			v, ok := sample{}, false
			if d < len(units) {
				v, ok = r.sample(n, units[d])
			}
			row = append(row, value(v.median, ok))
		}
		first, _ := r.sample(n, units[0])
		last, _ := r.sample(n, units[len(units)-1])
		report, ok := r.sample(n, "report-MB/op")
		share := report.median * float64(len(units)-1) / float64(len(units)) // what came after the first day
		rows = append(rows, append(row, digits(last.median-first.median), value(share, ok)))
	}
	table(b, "Live heap after each virtual day, MB", head, rows)
}

func budgetTable(b *strings.Builder, r *results, refs []reference) {
	var rows [][]string
	for _, ref := range refs {
		for _, want := range ref.Budgets {
			n := name{ref.Benchmark, want.Plane}
			s, ok := r.seconds(n)
			if !ok {
				continue
			}
			if want.Seconds > 0 {
				rows = append(rows, []string{ref.Benchmark, want.Plane, ref.What, digits(want.Seconds) + " s", digits(s.median) + " s", kept(s.median <= want.Seconds)})
			}
			if m, ok := r.sample(n, "peak-MB/op"); ok && want.PeakMB > 0 {
				rows = append(rows, []string{ref.Benchmark, want.Plane, ref.What, digits(want.PeakMB) + " MB", digits(m.median) + " MB", kept(m.median <= want.PeakMB)})
			}
		}
	}
	table(b, "Budgets", []string{"benchmark", "plane", "what", "budget", "measured", ""}, rows)
}

func kept(ok bool) string {
	if ok {
		return "kept"
	}
	return "**missed**"
}

func publishedTable(b *strings.Builder, r *results, refs []reference) {
	var rows [][]string
	for _, ref := range refs {
		for _, theirs := range ref.Published {
			for _, n := range r.names {
				if s, ok := r.seconds(n); ok && n.base == ref.Benchmark {
					rows = append(rows, []string{n.base, n.plane, digits(s.median), theirs.Who, digits(theirs.Seconds), ratio(theirs.Seconds, s.median, true), theirs.Source})
				}
			}
		}
	}
	table(b, "Beside others, seconds", []string{"benchmark", "plane", "ours", "who", "theirs", "theirs / ours", "source"}, rows)
}

func othersTable(b *strings.Builder, r *results) {
	var rows [][]string
	for _, base := range r.bases(false) {
		n := name{base: base}
		s, ok := r.seconds(n)
		var more []string
		for unit := range r.runs[n][0] {
			if unit == "ns/op" || unit == "load1" {
				continue
			}
			v, _ := r.sample(n, unit)
			more = append(more, digits(v.median)+" "+unit)
		}
		slices.Sort(more)
		rows = append(rows, []string{r.in[n] + "." + base, show(s, ok), fmt.Sprint(s.n), strings.Join(more, ", ")})
	}
	table(b, "The rest, seconds", []string{"benchmark", "seconds", "runs", "metrics"}, rows)
}

// show writes a median and, of several runs, the range.
func show(s sample, ok bool) string {
	switch {
	case !ok:
		return ""
	case s.n == 1:
		return digits(s.median)
	}
	return fmt.Sprintf("%s (%s-%s)", digits(s.median), digits(s.low), digits(s.high))
}

func value(v float64, ok bool) string {
	if !ok {
		return ""
	}
	return digits(v)
}

func ratio(a, b float64, ok bool) string {
	if !ok || b == 0 {
		return ""
	}
	return digits(a/b) + "x"
}

// digits shows about three of them.
func digits(v float64) string {
	switch a := max(v, -v); {
	case a == 0:
		return "0"
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	case a >= 0.01:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
