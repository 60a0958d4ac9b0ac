package view

import (
	"fmt"
	"slices"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	reports "github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/lives"
)

// count is a number from an instant on.
type countAt struct {
	at time.Time
	n  int
}

// moments answers how the cluster stood at an instant, in a logarithm of the length of the report.
type moments struct {
	r       *scalehist.ReplayReport
	ready   map[string][]countAt
	pending []countAt
}

func newMoments(r *scalehist.ReplayReport) *moments {
	m := &moments{r: r, ready: map[string][]countAt{}}
	changes := map[string][]countAt{}
	for _, n := range lives.Nodes(r) {
		changes[n.Group] = append(changes[n.Group], countAt{r.StartTime.Add(n.From), 1})
		if to := r.StartTime.Add(n.To); to.Before(r.EndTime) {
			changes[n.Group] = append(changes[n.Group], countAt{to, -1})
		}
	}
	for _, b := range r.Batches {
		m.pending = append(m.pending, countAt{b.At, b.Unschedulable})
	}
	for group, list := range changes {
		slices.SortStableFunc(list, func(a, b countAt) int { return a.at.Compare(b.at) })
		sum := 0
		for i := range list {
			sum += list[i].n
			list[i].n = sum
		}
		m.ready[group] = list
	}
	return m
}

// at is the number of the last entry that is not after t, 0 before the first.
func at(list []countAt, t time.Time) int {
	i, _ := slices.BinarySearchFunc(list, t, func(c countAt, t time.Time) int {
		if c.at.After(t) {
			return 1
		}
		return -1
	})
	if i == 0 {
		return 0
	}
	return list[i-1].n
}

// target is a group's target size at t.
func (m *moments) target(g *scalehist.NodeGroupResult, t time.Time) int {
	off := scalehist.Duration(t.Sub(m.r.StartTime))
	i, _ := slices.BinarySearchFunc(g.Sizes, off, func(s scalehist.SizeAt, off scalehist.Duration) int {
		if s.Offset > off {
			return 1
		}
		return -1
	})
	if i == 0 {
		return g.Initial
	}
	return g.Sizes[i-1].Size
}

// strip writes how the cluster stood at t in at most lines lines of width columns: pods that waited, and each group with the
// nodes it had, those on their way (+) or going (-), and its max size; then each workload that is scaled.
func (m *moments) strip(t time.Time, width, lines int) []string {
	cells := []string{fmt.Sprintf("pending %d", at(m.pending, t))}
	for i := range m.r.NodeGroups {
		g := &m.r.NodeGroups[i]
		ready, target := at(m.ready[g.Name], t), m.target(g, t)
		cell := fmt.Sprintf("%s %d", g.Name, ready)
		if target != ready {
			cell += fmt.Sprintf("%+d", target-ready)
		}
		cells = append(cells, fmt.Sprintf("%s/%s", cell, g.Bounds().MaxText()))
	}
	for i := range m.r.Workloads {
		if w := &m.r.Workloads[i]; reports.Shown(*w) {
			cells = append(cells, replicasCell(w, t.Sub(m.r.StartTime)))
		}
	}
	const between = "  "
	var out []string
	line := ""
	for i, cell := range cells {
		next := cell
		if line != "" {
			next = line + between + cell
		}
		rest := ""
		if left := len(cells) - i - 1; left > 0 && len(out) == lines-1 {
			rest = fmt.Sprintf("%s%d more", between, left+1)
		}
		switch {
		case line == "" || ansi.StringWidth(next)+len(rest) <= width:
			line = next
		case len(out) == lines-1:
			return append(out, clip(line+fmt.Sprintf("%s%d more", between, len(cells)-i), width))
		default:
			out = append(out, clip(line, width))
			line = cell
		}
	}
	return append(out, clip(line, width))
}

// replicasCell is "shop/web 19+3": the replicas that were ready, and those more that were wanted (fewer: -).
func replicasCell(w *scalehist.WorkloadResult, at time.Duration) string {
	now := reports.ReplicasAt(w, at)
	cell := fmt.Sprintf("%s/%s %d", w.Namespace, w.Name, now.Ready)
	if now.Wanted != now.Ready {
		cell += fmt.Sprintf("%+d", now.Wanted-now.Ready)
	}
	return cell
}

// clip cuts a line to width columns, with a sign that it goes on. No control character of a name reaches the terminal.
func clip(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(clean(s), width, "…")
}

// clean escapes what would move the cursor.
func clean(s string) string { return plaintext.Escape(s) }
